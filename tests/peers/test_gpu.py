"""The peer on real GPUs: device events, allocator peaks, NCCL, out of memory. Label gpu."""

import pytest
from conftest import CELL, RESNET, read_as_launcher

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
CUDA = {"device": "cuda", "ddp": {"backend": "nccl"}}
MEASURE = {"steps": 20, "warmup_block": 5, "warmup_max_steps": 60, "warmup_max_s": 30, "losses": 4}


def check_ok(run, ranks: int):
    assert run.returncodes == [0] * ranks, run.stderr
    for record, path in zip(run.records, run.paths, strict=True):
        assert record["status"] == "ok"
        window = record["step_ms"][record["measured_from"] :]
        assert len(window) == 20 and sum(window) == pytest.approx(record["wall"]["measured_s"] * 1e3, rel=0.1)
        for peaks in (record["memory"]["first_step"], record["memory"]["steady"]):
            assert 0 < peaks["allocated_mib"] <= peaks["active_mib"] <= peaks["reserved_mib"]
        assert record["device"]["kind"] == "cuda" and record["software"]["nccl"] and record["software"]["cudnn"]
        read_as_launcher(path)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "bf16_pure", "fp16"])
def test_resnet(launch, precision):
    workload = {**RESNET["workload"], "name": "resnet50", "sizes": {"depth": 50, "width": 64, "classes": 1000, "image": 224}}
    run = launch({**CUDA, **RESNET, "workload": workload, "batch": 64, "precision": precision, "memory_format": "channels_last",
                  "measure": MEASURE})
    check_ok(run, 1)
    switches = run.records[0]["settings"]["used"]["switches"]
    assert switches["matmul_tf32"] == switches["convolution_tf32"] == (precision == "tf32")


def test_llama(launch):
    sizes = {"layers": 4, "hidden": 1024, "heads": 16, "kv_heads": 4, "ffn": 2816, "vocab": 32000, "sequence": 1024}
    check_ok(launch({**CUDA, "workload": {"name": "llama", "family": "llama", "sizes": sizes}, "batch": 4, "precision": "bf16_pure",
                     "measure": MEASURE}), 1)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("transport", ["auto", "socket"])
def test_two_ranks_over_nccl(launch, transport):
    run = launch({**RESNET, "device": "cuda", "batch": 16, "ddp": {"ranks": 2, "backend": "nccl", "transport": transport},
                  "measure": MEASURE})
    check_ok(run, 2)
    assert (run.records[0]["environment"].get("NCCL_P2P_DISABLE") == "1") == (transport == "socket")


def test_too_large_is_oom_with_the_allocators_numbers(launch):
    sizes = {**CELL["workload"]["sizes"], "hidden": 16384, "ffn": 65536, "heads": 128, "kv_heads": 128, "layers": 64}
    run = launch({**CUDA, "workload": {"name": "llama", "family": "llama", "sizes": sizes}})
    record = run.records[0]
    assert run.returncodes == [1] and record["status"] == "oom", run.stderr
    numbers = record["evidence"]["allocator"]
    assert numbers["reserved_mib"] > 0 and numbers["device_total_mib"] > numbers["device_free_mib"] and numbers["ooms"] >= 1
    read_as_launcher(run.paths[0])


def test_pools_of_captured_graphs_are_in_the_record(launch):
    workload = {**RESNET["workload"], "name": "resnet18", "sizes": {"depth": 18, "width": 64, "classes": 1000, "image": 64}}
    run = launch({**CUDA, **RESNET, "workload": workload, "batch": 16, "precision": "bf16", "compile": "compile.reduce-overhead",
                  "measure": MEASURE})
    check_ok(run, 1)
    assert run.records[0]["memory_inside"]["graph_pools_mib"] > 10
