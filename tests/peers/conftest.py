"""Launches the peer as the launcher would: its environment set by hand, one process a rank."""

import copy
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import time

import pytest

SOURCE = pathlib.Path(os.environ.get("STEPGAUGE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
CHECK = pathlib.Path(os.environ.get("STEPGAUGE_BIN_DIR", SOURCE / "build" / "bin")) / "peer_check"
PEER = SOURCE / "scripts" / "peers" / "peer.py"

CELL = {
    "schema": "stepgauge.cell", "version": 1, "id": "llama.tiny/eager/fp32/ddp1-00c0ffee", "hash": "00c0ffee", "suite": "peers",
    "worker": "peer", "device": "cpu", "batch": 2, "precision": "fp32", "compile": "eager", "checkpointing": "none",
    "memory_format": "contiguous", "input": "fixed", "env": {}, "seed": 1, "perturb": None,
    "workload": {"name": "llama.tiny", "family": "llama",
                 "sizes": {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 176, "vocab": 256, "sequence": 64}},
    "optimizer": {"name": "adamw", "lr": 0.001, "momentum": 0.9, "weight_decay": 0.0},
    "ddp": {"ranks": 1, "backend": "gloo", "transport": "auto", "bucket_cap_mb": 25, "first_bucket_mb": 1,
            "gradient_as_bucket_view": True, "find_unused": False, "static_graph": False},
    "measure": {"steps": 6, "warmup_block": 3, "warmup_max_steps": 12, "warmup_max_s": 20, "losses": 4},
}
RESNET = {
    "workload": {"name": "resnet18", "family": "resnet", "sizes": {"depth": 18, "width": 64, "classes": 10, "image": 32}},
    "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 0.0},
}


class Launch:
    def __init__(self, folder: pathlib.Path, cell: dict, returncodes: list[int], progress: list[str], stderr: list[str]):
        self.returncodes, self.progress, self.stderr = returncodes, progress, stderr
        self.paths = [folder / f"record.{rank}.json" for rank in range(len(returncodes))]
        self.records = [json.loads(path.read_text()) if path.exists() else None for path in self.paths]
        self.cell = cell


def merged(base: dict, changes: dict) -> dict:
    out = copy.deepcopy(base)
    for key, value in changes.items():
        out[key] = merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) and key != "workload" else value
    return out


@pytest.fixture
def launch(tmp_path):
    def start(changes: dict | None = None, environment: dict | None = None, address_space_gib: int | None = None) -> Launch:
        def limit() -> None:
            if address_space_gib is not None:
                resource.setrlimit(resource.RLIMIT_AS, (address_space_gib << 30, address_space_gib << 30))

        cell = merged(CELL, changes or {})
        ranks = cell["ddp"]["ranks"]
        (tmp_path / "cell.json").write_text(json.dumps(cell))
        store = socket.create_server(("127.0.0.1", 0)) if ranks > 1 else None
        processes, pipes = [], []
        for rank in range(ranks):
            reader, writer = os.pipe()
            variables = {
                **{name: os.environ[name] for name in os.environ if name in ("PATH", "HOME", "LD_LIBRARY_PATH") or name.startswith(("NCCL_", "NVSHMEM_", "TORCH_", "CUDA_"))},
                "STEPGAUGE_CELL": str(tmp_path / "cell.json"), "STEPGAUGE_RECORD": str(tmp_path / f"record.{rank}.json"),
                "STEPGAUGE_LAUNCH": "3", "STEPGAUGE_PROGRESS_FD": str(writer), "STEPGAUGE_SPAWN_NS": str(time.monotonic_ns()),
                "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
                "OMP_NUM_THREADS": "1", **(environment or {}),
            }
            passed = [writer]
            if store is not None:
                variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.getsockname()[1])}
                if rank == 0:
                    variables["STEPGAUGE_STORE_FD"] = str(store.fileno())
                    passed.append(store.fileno())
            processes.append(subprocess.Popen([sys.executable, PEER], env=variables, pass_fds=passed, text=True, preexec_fn=limit,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            os.close(writer)
            pipes.append(reader)
        if store is not None:
            store.close()
        try:
            outputs = [process.communicate(timeout=240) for process in processes]
        finally:
            for process in processes:
                process.kill()
        progress = []
        for reader in pipes:
            with os.fdopen(reader) as lines:
                progress.append(lines.read())
        return Launch(tmp_path, cell, [process.returncode for process in processes], progress, [err for _, err in outputs])

    return start


def read_as_launcher(path: pathlib.Path) -> dict:
    """The record through the C++ reader that the launcher uses."""
    done = subprocess.run([CHECK, "record", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
