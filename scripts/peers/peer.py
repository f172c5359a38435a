"""A Python worker under stepgauge's contract: what a user would write today, measured by the same rules as the built-in worker.

    stepgauge run SUITE --worker ".venv/bin/python scripts/peers/peer.py"

Trains torchvision's ResNets and Hugging Face's Llama, eager or under torch.compile, with PyTorch's own DDP, autocast and fused
optimizers."""

import time

STARTED_NS = time.monotonic_ns()  # before any other import: phase `spawn` ends here

import math
import os
import sys
import traceback

import contract


def setup_runtime(rank: contract.Rank):
    """Imports and, on a GPU, its context. Returns (device, family of the cell)."""
    import torch

    import models

    models.check_supported(rank.cell)
    family = models.make_family(rank.cell)
    if rank.cell["device"] == "cpu":
        return torch.device("cpu"), family
    if not torch.cuda.is_available():
        raise contract.Unsupported("device cuda: this Torch sees no CUDA device")
    if rank.local_rank >= torch.cuda.device_count():
        raise contract.Unsupported(f"local rank {rank.local_rank} has no device, Torch sees {torch.cuda.device_count()}")
    device = torch.device("cuda", rank.local_rank)
    torch.cuda.set_device(device)
    torch.zeros(1, device=device)
    torch.cuda.synchronize()
    return device, family


def meet(rank: contract.Rank, device) -> None:
    """Store, process group and the first collective."""
    import torch
    import torch.distributed as dist

    import models

    if rank.world_size == 1:
        return
    for name, value in models.TRANSPORTS[rank.cell["ddp"]["transport"]].items():
        os.environ[name] = value
    store = dist.TCPStore(rank.master_addr, rank.master_port, rank.world_size, rank.rank == 0, master_listen_fd=rank.store_fd)
    dist.init_process_group(rank.cell["ddp"]["backend"], store=store, rank=rank.rank, world_size=rank.world_size)
    if any_rank(rank, device, [rank.rank == rank.world_size - 1]) != [True]:
        raise RuntimeError("the first all-reduce gave a wrong result")


def largest(rank: contract.Rank, device, values: list[float]) -> list[float]:
    """Each value's largest over the ranks."""
    import torch
    import torch.distributed as dist

    if rank.world_size == 1:
        return values
    shared = torch.tensor(values, device=device, dtype=torch.float64)
    dist.all_reduce(shared, op=dist.ReduceOp.MAX)
    return shared.tolist()


def any_rank(rank: contract.Rank, device, conditions: list[bool]) -> list[bool]:
    """Each condition: does it hold on any rank?"""
    return [flag > 0 for flag in largest(rank, device, [float(condition) for condition in conditions])]


def describe_device(device) -> dict:
    import torch

    if device.type == "cpu":
        return {"kind": "cpu", "threads": torch.get_num_threads()}
    properties = torch.cuda.get_device_properties(device)
    return {
        "kind": "cuda",
        "name": properties.name,
        "index": device.index,
        "uuid": str(properties.uuid),
        "compute_capability": f"{properties.major}.{properties.minor}",
        "memory_mib": properties.total_memory / 2**20,
    }


def describe_software(device, peer: dict) -> dict:
    import torch

    out = {"python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda, **peer}
    if device.type == "cuda":
        out["cudnn"] = torch.backends.cudnn.version()
        out["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    return out


def finish(record: dict, result, trainer) -> None:
    """Losses and settings are read back here, after all timing; decides the status."""
    import models

    losses = [float(loss) for loss in result.losses]
    last = float(result.last_loss)
    record["losses"] = [loss if math.isfinite(loss) else None for loss in losses]
    record["last_loss"] = last if math.isfinite(last) else None
    record["settings"] = trainer.settings()
    record["warmup"] = {"steps": result.measured_from - 1, "settled": result.settled}
    record["wall"]["measured_s"] = result.measured_s
    bad = next((index for index, loss in enumerate([*losses, last]) if not math.isfinite(loss)), None)
    complaint = models.ineffective(record["settings"], record["environment"])
    if bad is not None:
        which = f"loss of step {bad}" if bad < len(losses) else "last loss"
        record.update(status="incorrect", reason=f"the {which} is not finite")
    elif complaint:
        record.update(status="ineffective", reason=complaint)
    else:
        record.update(status="ok", reason="")


def keep_loop(record: dict, result, device) -> None:
    """What the loop has so far: the whole of it at the end, and for a failed launch the steps before the failure."""
    record["step_ms"] = result.step_ms
    record["measured_from"] = result.measured_from
    record["first_step_s"] = result.first_step_s if result.step_ms else None
    record["memory"] = {"first_step": result.first_step_peaks, "steady": result.steady_peaks, "outside_mib": None,
                        "method": device.memory_method()}
    if result.graph_pools_mib is not None:
        record["memory_inside"] = {"graph_pools_mib": result.graph_pools_mib}
    if result.trace_step_ms:
        record["trace"] = {"steps": len(result.trace_step_ms), "step_ms": result.trace_step_ms}


def run(rank: contract.Rank, record: dict, progress: contract.Progress) -> None:
    phases = contract.Phases(progress, rank.spawn_ns, STARTED_NS)
    record["phases_s"] = phases.seconds
    phases.begin("runtime")
    device, family = setup_runtime(rank)
    import caches
    import loop
    import models

    caches.check(rank.cell)
    record["device"] = describe_device(device)
    record["software"] = describe_software(device, family.software)
    record["work_per_step"] = family.work_per_step
    record["work_unit"] = family.work_unit
    phases.begin("rendezvous")
    meet(rank, device)
    record["environment"] = contract.recorded_variables()  # the transport's variables are among them now
    phases.begin("build")
    trainer = models.Trainer(rank.cell, family, device, rank.rank)
    room = loop.Device(device)
    room.synchronize()
    phases.begin("wrap")
    if rank.world_size > 1:
        trainer.wrap()
        room.synchronize()
    if rank.cell["compile"] in models.COMPILE_MODES:
        phases.begin("compile")
        trainer.compile()
    phases.end()
    measured = loop.Loop(trainer.step, rank.cell["measure"], room, progress, lambda conditions: any_rank(rank, device, conditions))
    try:
        result = measured.run(rank.trace_path)
    finally:
        keep_loop(record, measured.result, room)
    if rank.world_size > 1 and rank.cell["measure"].get("allreduce_sweep"):
        import sweep

        progress.phase("sweep")
        record["communication"] = sweep.sweep(room, lambda values: largest(rank, device, values))
    progress.phase("finish")
    finish(record, result, trainer)
    if record["status"] == "ok":
        caches.stamp(rank.cell)
    if rank.world_size > 1:
        import torch.distributed as dist

        dist.barrier()
        dist.destroy_process_group()


def out_of_memory(error: BaseException) -> bool:
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


def allocator_numbers() -> dict:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {}
    stats = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    numbers = {f"{kind}_mib": stats[f"{kind}_bytes.all.current"] for kind in ("allocated", "active", "reserved", "inactive_split")}
    numbers |= {f"peak_{kind}_mib": stats[f"{kind}_bytes.all.peak"] for kind in ("allocated", "active", "reserved")}
    numbers |= {"device_free_mib": free, "device_total_mib": total}
    return {name: value / 2**20 for name, value in numbers.items()} | {"retries": stats["num_alloc_retries"], "ooms": stats["num_ooms"]}


def fail(record: dict, error: BaseException, progress: contract.Progress) -> None:
    evidence = {"last_phase": progress.current, "last_step": progress.step_index, "error": f"{type(error).__name__}: {error}"}
    if isinstance(error, contract.Unsupported):
        record.update(status="unsupported", reason=str(error))
        return
    if isinstance(error, contract.Ineffective):
        record.update(status="ineffective", reason=str(error))
        return
    if out_of_memory(error):
        evidence["allocator"] = allocator_numbers()
        record.update(status="oom", reason=f"out of memory in {progress.current}: {str(error).splitlines()[0]}")
    else:
        evidence["traceback"] = traceback.format_exception(error)[-20:]
        record.update(status="crashed", reason=f"{type(error).__name__} in {progress.current}: {error}")
    record["evidence"] = evidence


def main() -> int:
    try:
        rank = contract.Rank()
        progress = contract.Progress()
    except (contract.ContractError, KeyError, TypeError) as error:
        print(f"peer.py: {error}", file=sys.stderr)
        return 2
    progress.phase("spawn")
    record = contract.new_record(rank)
    try:
        run(rank, record, progress)
    except Exception as error:
        fail(record, error, progress)
        if record["status"] not in ("unsupported", "ineffective"):
            traceback.print_exc()
        print(f"peer.py: {record['status']}: {record['reason']}", file=sys.stderr)
    record["wall"]["total_s"] = (time.monotonic_ns() - (rank.spawn_ns or STARTED_NS)) / 1e9
    contract.write_record(rank.record_path, record)
    return 0 if record["status"] == "ok" else 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    if code != 0:
        os._exit(code)  # a failed rank does not wait for its siblings in a destructor
    sys.exit(code)
