"""The real worker on the CPU: tiny ResNet and Llama, one and two ranks over gloo, perturbed and broken on purpose."""

import json
import math
import shutil
import statistics
import subprocess

import pytest
from conftest import FAILED, OK, WORKER, RealRun, Workspace

SUITE = """\
stepgauge: 1
name: real
launches: 2
defaults: {device: cpu, env: {OMP_NUM_THREADS: "1"}}
zip:
  - workload: [{name: resnet18, width: 8, classes: 10, image: 32}, {name: llama.tiny}]
    batch: [4, 2]
axes: {ddp: [1, 2]}
include:
  - {workload: llama.tiny, batch: 2, precision: bf16}
  - {workload: llama.tiny, batch: 2, precision: bf16_pure}
measure: {steps: 20}
limits: {launch: 90s, silence: 60s, grace: 2s}
"""
# The launches of a cell alternate with those of the others, so that a busy moment hits all alike.
PERTURBED = """\
stepgauge: 1
name: perturbed
launches: 3
defaults: {device: cpu, workload: llama.tiny, batch: 8, env: {OMP_NUM_THREADS: "1"}}
include:
  - precision: fp32
  - perturb: {sleep: {phase: build, seconds: 1.5}}
  - perturb: {step_percent: 100}
  - perturb: {extra_memory_mib: 64}
measure: {steps: 20}
limits: {launch: 90s, silence: 60s, grace: 2s}
"""
BROKEN = """\
stepgauge: 1
name: broken
launches: 1
defaults: {device: cpu, workload: llama.tiny, batch: 2, env: {OMP_NUM_THREADS: "1"}}
include:
  - precision: tf32
  - {ddp: 2, perturb: {fault: {kind: kill, rank: 1, step: 7}}}
  - {ddp: 2, perturb: {fault: {kind: stop, rank: 1, step: 7}}}
  - perturb: {fault: {kind: throw, step: 7}}
  - precision: fp32
measure: {steps: 20}
limits: {launch: 90s, silence: 8s, grace: 2s}
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("real"), SUITE)


@pytest.fixture(scope="module")
def perturbed(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("perturbed"), PERTURBED)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("broken"), BROKEN)


def values(records: list[dict], name: str) -> list[float]:
    return [record["metrics"][name]["value"] for record in records if "value" in record["metrics"][name]]


def metric(records: list[dict], name: str) -> float:
    return statistics.median(values(records, name))


def assert_ok(run: RealRun) -> None:
    """A machine that does something else all the time may make a launch unsteady thrice, and that is what it must say."""
    statuses = [record["status"] for record in run.records]
    assert len(statuses) == 12 and set(statuses) <= {"ok", "unsteady"} and statuses.count("ok") >= 8, run.done
    assert run.done.code == (OK if set(statuses) == {"ok"} else FAILED), run.done


def test_every_launch_is_ok(real):
    assert_ok(real)
    real.work.assert_files_valid("a")
    assert real.work.left_running() == []


def test_every_record_is_whole(real):
    for record in real.records:
        for rank in record["ranks"]:
            steps = rank["step_ms"]
            assert len(steps) - rank["measured_from"] == 20 and all(step > 0 for step in steps)
            assert len(rank["losses"]) == 10 and all(map(math.isfinite, rank["losses"]))
            assert rank["phases_s"].keys() >= {"spawn", "runtime", "build"} and rank["first_step_s"] > 0
            assert rank["software"]["torch"].startswith("2.") and rank["environment"]["OMP_NUM_THREADS"] == "1"
            assert rank["flops_per_step"] > 0
        assert all(("value" in metric) != ("absent" in metric) for metric in record["metrics"].values())
        assert record["metrics"]["peak_memory"].get("value", 1) > 0.5


@pytest.mark.parametrize("words", [("resnet18", "ddp1"), ("resnet18", "ddp2"), ("llama", "fp32", "ddp1"), ("llama", "ddp2"),
                                   ("llama", "/bf16/"), ("llama", "bf16_pure")], ids=" ".join)
def test_the_same_cell_twice_gives_the_same_losses(real, words):
    first, second = real.of(*words)
    assert [rank["losses"] for rank in first["ranks"]] == [rank["losses"] for rank in second["ranks"]]
    assert first["losses"] == second["losses"] and len(set(first["losses"])) > 5
    if "llama" in words:
        assert first["losses"][0] == pytest.approx(math.log(256), rel=0.05)  # random weights know nothing of 256 tokens


@pytest.mark.parametrize("workload, parameters", [("resnet18", None), ("llama", None)])
def test_two_ranks(real, workload, parameters):
    for record in real.of(workload, "ddp2"):
        first, second = record["ranks"]
        assert (first["rank"], second["rank"], first["world_size"]) == (0, 1, 2)
        assert first["losses"] != second["losses"], "each rank has its own data"
        assert first["measured_from"] == second["measured_from"], "warm-up must end on the same step everywhere"
        assert first["phases_s"].keys() >= {"rendezvous", "wrap"}
        buckets = first["settings"]["used"]["bucket_bytes"]
        assert buckets == second["settings"]["used"]["bucket_bytes"] and sum(buckets) > 100_000
    (single, _) = real.of(workload, "ddp1", "!bf16")
    # Rank 0 has the data of a single rank: before the first update the loss is the same.
    assert single["ranks"][0]["losses"][0] == first["losses"][0]
    assert single["ranks"][0]["losses"][3:] != first["losses"][3:]
    assert "bucket_bytes" not in single["ranks"][0]["settings"]["used"]


def test_precision_is_what_was_asked(real):
    fp32, bf16, pure = (real.of("llama", "ddp1", word)[0]["ranks"][0] for word in ("/fp32/", "/bf16/", "/bf16_pure/"))
    for rank, asked in ((fp32, "fp32"), (bf16, "bf16"), (pure, "bf16_pure")):
        assert rank["settings"]["asked"]["precision"] == asked
    assert fp32["settings"]["used"]["parameter_type"] == bf16["settings"]["used"]["parameter_type"] == "Float"
    assert pure["settings"]["used"]["parameter_type"] == pure["settings"]["used"]["gradient_type"] == "BFloat16"
    assert "bfloat16" in str(bf16["settings"]["set"]["autocast"]).lower() and not fp32["settings"]["set"]["autocast"]
    assert fp32["losses"] != bf16["losses"] != pure["losses"]
    assert bf16["losses"] == pytest.approx(fp32["losses"], rel=0.02)
    assert metric(real.of("llama", "bf16_pure"), "peak_memory") < metric(real.of("llama", "/fp32/", "ddp1"), "peak_memory")


def test_perturbed_is_ok_and_marked(perturbed):
    assert_ok(perturbed)
    perturbed.work.assert_files_valid("a")
    for record in perturbed.records:
        assert record["perturbed"] == ("PERTURBED" in record["cell"]["id"])
    assert "PERTURBED: slowed on purpose" in perturbed.done.out


def test_perturb_sleep_in_build(perturbed):
    plain, slept = perturbed.of("!PERTURBED"), perturbed.of("build+1.5s")
    build = [statistics.median(record["ranks"][0]["phases_s"]["build"] for record in records) for records in (plain, slept)]
    assert 1.5 <= build[1] - build[0] + 0.01 and build[1] - build[0] < 1.8
    assert metric(slept, "init_latency") - metric(plain, "init_latency") == pytest.approx(1.5, abs=0.6)


def test_perturb_step_time(perturbed):
    # The fastest of three launches: what else runs on the machine only ever slows a launch.
    plain, slow = (min(values(perturbed.of(word), "step_time")) for word in ("!PERTURBED", "step+100%"))
    assert 1.6 < slow / plain < 2.6, (plain, slow)


def test_perturb_extra_memory(perturbed):
    plain, large = perturbed.of("!PERTURBED"), perturbed.of("memory+64MiB")
    assert metric(large, "peak_memory") - metric(plain, "peak_memory") == pytest.approx(64, abs=0.5)


def test_perturbation_leaves_the_training_alone(perturbed):
    assert len({tuple(record["losses"]) for record in perturbed.records}) == 1


def test_killed_rank(broken):
    (record,) = broken.of("kill@rank1")
    assert record["status"] == "crashed" and "rank 1 died by SIGKILL" in record["reason"], record["reason"]
    assert record["duration_s"] < 8


def test_stopped_rank(broken):
    (record,) = broken.of("stop@rank1")
    assert record["status"] == "hung" and "no sign of life for 8 s" in record["reason"], record["reason"]
    assert "rank 1" in record["reason"] or "ranks 0, 1" in record["reason"], record["reason"]
    # Start, silence limit, grace; rank 0 waits inside an all-reduce.
    assert 8 <= record["duration_s"] < 8 + 2 + 8


def test_exception(broken):
    (record,) = broken.of("throw@rank0")
    assert record["status"] == "crashed" and record["reason"], record


def test_unsupported_precision(broken):
    """Said before anything runs."""
    (cell,) = json.loads((broken.folder / "run.json").read_text())["skipped"]
    assert "/tf32/" in cell["id"]
    assert cell["status"] == "unsupported" and "tf32" in cell["reason"], cell


def test_the_next_cell_is_fine(broken):
    assert broken.done.code == FAILED
    assert [record["status"] for record in broken.of("/fp32/", "!PERTURBED")] == ["ok"]
    broken.work.assert_files_valid("a")
    assert broken.work.left_running() == []


def test_no_symbol_of_std_filesystem():
    # libtorch exports its own std::filesystem, of another GCC: a program that takes it crashes.
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    symbols = subprocess.run(["nm", "-D", "-C", WORKER], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(symbols) > 50
    assert [line for line in symbols if "std::filesystem" in line] == []


def test_by_hand_it_says_what_is_missing(tmp_path):
    done = subprocess.run([WORKER], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "STEPGAUGE_CELL" in done.stderr, done
