"""Real launches of the peer on the CPU: the record that the launcher gets, and the statuses it may say."""

import json
import math

import pytest
from conftest import CELL, RESNET, SOURCE, read_as_launcher


def check_ok(run, ranks: int, work: int, unit: str):
    assert run.returncodes == [0] * ranks, run.stderr
    for rank, (record, path) in enumerate(zip(run.records, run.paths, strict=True)):
        assert (record["status"], record["reason"]) == ("ok", "")
        assert record["cell"] == {"id": run.cell["id"], "hash": run.cell["hash"]}
        assert (record["launch"], record["rank"], record["world_size"]) == (3, rank, ranks)
        assert set(record["phases_s"]) == {"spawn", "runtime", "rendezvous", "build", "wrap"}
        assert 0 < record["phases_s"]["spawn"] < record["phases_s"]["runtime"]
        steps, measured_from = record["step_ms"], record["measured_from"]
        assert len(steps) - measured_from == run.cell["measure"]["steps"]
        assert measured_from == 1 + record["warmup"]["steps"] and record["warmup"]["steps"] % 3 == 0
        assert all(step > 0 for step in steps) and steps[0] == pytest.approx(record["first_step_s"] * 1e3)
        # The marks stand between the steps and leave nothing out.
        assert 0 <= record["wall"]["measured_s"] * 1e3 - sum(steps[measured_from:]) < 200
        assert (record["work_per_step"], record["work_unit"]) == (work, unit)
        assert len(record["losses"]) == run.cell["measure"]["losses"] and all(map(math.isfinite, record["losses"]))
        assert record["memory"]["method"] == "not measured" and record["memory"]["steady"]["allocated_mib"] is None
        assert record["software"]["torch"].startswith("2.") and record["environment"]["OMP_NUM_THREADS"] == "1"
        assert record["settings"]["used"]["fused_optimizer"] is True
        assert read_as_launcher(path)["step_ms"] == steps
        validate(record)


def validate(record):
    schema = json.loads((SOURCE / "harness/contract/schemas/record.schema.json").read_text())
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(schema).validate(record)


def test_llama_one_rank(launch):
    run = launch()
    check_ok(run, 1, 2 * 64, "tokens")
    record = run.records[0]
    assert "transformers" in record["software"]
    assert record["losses"][0] == pytest.approx(math.log(256), rel=0.05)  # random weights know nothing of 256 tokens
    assert record["last_loss"] < record["losses"][0]  # and the fixed batch is learnt
    words = [line.split()[1] for line in run.progress[0].splitlines() if line.startswith("phase ")]
    assert words == ["spawn", "runtime", "rendezvous", "build", "wrap", "first_step", "warmup", "measure", "finish"]
    assert "step " in run.progress[0]


def test_resnet_two_ranks(launch):
    run = launch({**RESNET, "memory_format": "channels_last", "input": "fresh",
                  "ddp": {"ranks": 2, "bucket_cap_mb": 10, "first_bucket_mb": 2}, "measure": {"allreduce_sweep": True}})
    check_ok(run, 2, 2, "samples")
    first, second = run.records
    points = first["communication"]["sweep"]
    assert [point["bytes"] for point in points][:3] == [1024, 4096, 16384] and first["communication"] == second["communication"]
    assert all(point["busbw_gbps"] == pytest.approx(point["bytes"] / point["time_us"] / 1e3) for point in points)  # two ranks
    assert first["losses"] != second["losses"]  # each rank has its own data
    used = first["settings"]["used"]
    assert used["memory_format"] == "channels_last"
    buckets = used["bucket_bytes"]
    assert len(buckets) > 2 and sum(buckets) == 4 * 11181642  # resnet18's parameters with ten classes
    assert buckets[0] < 10 * 2**20
    # Warm-up ends on the same step everywhere, or the ranks would wait for one another for ever.
    assert first["measured_from"] == second["measured_from"]


def test_llama_two_ranks(launch):
    check_ok(launch({"ddp": {"ranks": 2}}), 2, 2 * 64, "tokens")


def test_same_seed_same_losses(launch):
    assert launch().records[0]["losses"] == launch().records[0]["losses"]


@pytest.mark.parametrize("precision, parameters", [("bf16", "float32"), ("bf16_pure", "bfloat16")])
def test_precision_is_what_was_asked(launch, precision, parameters):
    run = launch({"precision": precision})
    check_ok(run, 1, 2 * 64, "tokens")
    settings = run.records[0]["settings"]
    assert settings["asked"]["precision"] == precision
    assert settings["set"]["autocast"] == ("bfloat16" if precision == "bf16" else None)
    assert settings["used"]["parameter_type"] == parameters


def test_fp16_scales_its_loss(launch):
    run = launch({"precision": "fp16"})
    check_ok(run, 1, 2 * 64, "tokens")
    assert run.records[0]["settings"]["used"]["loss_scale"] >= 1


@pytest.mark.parametrize("changes, word", [
    ({"precision": "tf32"}, "tf32"),
    ({"compile": "torchscript"}, "torchscript"),
    ({"compile": "compile.default", "compile_options": {"compile_optimizer": True}}, "compile_optimizer"),
    ({"compile": "compile.reduce-overhead"}, "need device cuda"),
    ({"perturb": {"step_percent": 20}}, "perturb"),
    ({"memory_format": "channels_last"}, "channels_last"),
    ({"device": "cuda", "ddp": {"backend": "nccl"}}, "cuda"),
    ({"workload": {"name": "x", "family": "x", "sizes": {}}}, "family x"),
    ({**RESNET, "workload": {**RESNET["workload"], "sizes": {**RESNET["workload"]["sizes"], "width": 8}}}, "64 channels"),
])
def test_what_it_does_not_do_is_unsupported(launch, changes, word):
    run = launch(changes, {"CUDA_VISIBLE_DEVICES": ""})
    assert run.returncodes == [1]
    assert run.records[0]["status"] == "unsupported" and word in run.records[0]["reason"]
    assert run.records[0]["step_ms"] == []
    read_as_launcher(run.paths[0])


def test_too_large_for_memory_is_oom(launch):
    sizes = {**CELL["workload"]["sizes"], "hidden": 65536, "ffn": 262144, "vocab": 1000000, "heads": 64, "kv_heads": 64, "layers": 512}
    run = launch({"workload": {"name": "llama", "family": "llama", "sizes": sizes}}, address_space_gib=64)
    record = run.records[0]
    assert run.returncodes == [1] and record["status"] == "oom", (record, run.stderr)
    assert record["evidence"]["last_phase"] == "build"
    read_as_launcher(run.paths[0])


def test_a_loss_that_blows_up_is_incorrect(launch):
    run = launch({**RESNET, "optimizer": {"name": "sgd", "lr": 1e30, "momentum": 0.9, "weight_decay": 0.0}})
    record = run.records[0]
    assert run.returncodes == [1] and record["status"] == "incorrect" and "not finite" in record["reason"]
    read_as_launcher(run.paths[0])


def test_an_exception_is_crashed_with_its_traceback(launch):
    run = launch({"workload": {**CELL["workload"], "sizes": {"layers": 2}}})
    record = run.records[0]
    assert run.returncodes == [1] and record["status"] == "crashed" and "KeyError" in record["reason"]
    assert record["evidence"]["last_phase"] == "runtime" and record["evidence"]["traceback"]


def test_run_by_hand_says_what_is_missing(launch):
    run = launch(environment={"STEPGAUGE_CELL": "/nowhere.json"})
    assert run.returncodes == [2] and "/nowhere.json" in run.stderr[0] and run.records == [None]


def test_compiled_cold_and_warm(launch, tmp_path):
    """torch.compile on one layer: the losses are those of the eager run, and the second launch takes the first one's caches."""
    small = {"workload": {**CELL["workload"], "sizes": {**CELL["workload"]["sizes"], "layers": 1, "sequence": 16}},
             "measure": {"steps": 3, "warmup_max_steps": 3}}
    folder = tmp_path / "caches"
    variables = {"STEPGAUGE_CACHE_DIR": str(folder), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TORCHINDUCTOR_VEC_ISA_OK": "0"}
    eager = launch({**small, "compile": "python_eager"}).records[0]
    cold = launch({**small, "compile": "compile.default", "cache": "cold"}, variables)
    assert cold.returncodes == [0], cold.stderr
    record = cold.records[0]
    assert record["losses"] == pytest.approx(eager["losses"], rel=1e-4)
    assert record["phases_s"]["compile"] >= 0 and record["first_step_s"] > 10 * eager["first_step_s"]
    assert (folder / "stamp.json").is_file()

    warm = launch({**small, "compile": "compile.default", "cache": "warm"}, variables)
    assert warm.returncodes == [0], warm.stderr
    assert warm.records[0]["losses"] == record["losses"]
    assert warm.records[0]["first_step_s"] < record["first_step_s"]

    next((folder / "inductor").rglob("*.so")).write_bytes(b"damaged")
    refused = launch({**small, "compile": "compile.default", "cache": "warm"}, variables)
    assert (refused.records[0]["status"], refused.returncodes) == ("ineffective", [1])
    assert not (folder / "stamp.json").exists()
