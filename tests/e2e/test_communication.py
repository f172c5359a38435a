"""Overlap strategies and gradient compression with the real worker and gloo: each is ok, sends what its name says and trains like plain DDP."""

import pytest
from conftest import OK, RealRun

SUITE = """\
stepgauge: 1
name: communication
launches: 1
defaults: {device: cpu, batch: 2, workload: llama.tiny, env: {OMP_NUM_THREADS: "1"}}
measure: {steps: 30, losses: 30, trace_steps: 2, warmup_max_steps: 10}
limits: {launch: 120s}
tolerance: {throughput: 90%}
include:
  - {ddp: 2}
  - {ddp: {ranks: 2, overlap: none}}
  - {ddp: {ranks: 2, overlap: reduce_last}}
  - {ddp: {ranks: 2, overlap: optimizer_in_hook}}
  - {ddp: {ranks: 2, overlap: ddp_no_sync_2}}
  - {ddp: {ranks: 2, hook: bf16}}
  - {ddp: {ranks: 2, hook: fp16}}
  - {ddp: {ranks: 2, hook: fp8, overlap: reduce_last}}
  - {ddp: {ranks: 2, hook: {name: top_k, share: 10%}}}
  - {ddp: {ranks: 2, hook: {name: top_k_fp8, share: 10%}, overlap: optimizer_in_hook}}
  - {ddp: {ranks: 2, hook: {name: power_sgd, rank: 2}}}
  - {ddp: {ranks: 2, overlap: high_priority_stream}}
"""
IDEAL = """\
stepgauge: 1
name: ideal
launches: 1
defaults: {device: cpu, batch: 2, workload: llama.tiny, env: {OMP_NUM_THREADS: "1"}}
measure: {steps: 10, trace_steps: 0, warmup_max_steps: 10, allreduce_sweep: true}
tolerance: {throughput: 90%}
include:
  - {ddp: 2}
"""
EXACT = ["no_overlap", "reduce_last", "optimizer_in_hook"]
LOSSY = {"bf16": 0.51, "fp16": 0.51, "fp8": 0.26, "top_k_10": 0.21, "top_k_fp8_10": 0.13, "power_sgd": 0.1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("communication"), SUITE)


def plain(run):
    return run.of("cpu.ddp2/")[-1]


def of_hook(run, hook):
    return run.of(f".{hook}{'%' if hook.endswith('_10') else ''}" + ("_r2" if hook == "power_sgd" else ""))[-1]


def test_every_strategy_and_hook_is_measured_and_a_stream_of_nccl_is_not(run):
    assert run.done.code == OK, run.done.err + run.done.out
    for record in run.records:
        if "high_priority_stream" in record["cell"]["id"]:
            assert record["status"] == "unsupported" and "gloo has none" in record["reason"]
            continue
        assert record["status"] in ("ok", "unsteady", "disturbed"), (record["cell"]["id"], record["reason"])
        communication = record["communication"]
        assert communication["collectives_per_step"] >= 1
        assert sum(kind["bytes"] for kind in communication["by_kind"].values()) == communication["bytes_per_step_sent"]


@pytest.mark.parametrize("overlap", EXACT)
def test_exact_strategies_train_as_ddp_does(run, overlap):
    record = run.of(f"ddp2.{overlap}/")[-1]
    assert record["losses"][:11] == plain(run)["losses"][:11]
    assert record["communication"]["bytes_per_step_sent"] == plain(run)["communication"]["bytes_per_step_sent"]
    assert record["parity"]["agrees"]


def test_accumulation_counts_all_its_samples_and_reduces_once(run):
    record = run.of("ddp_no_sync_2")[-1]
    assert record["ranks"][0]["work_per_step"] == 2 * plain(run)["ranks"][0]["work_per_step"]
    assert record["communication"]["bytes_per_step_sent"] == plain(run)["communication"]["bytes_per_step_sent"]
    assert record["parity"]["agrees"]


@pytest.mark.parametrize("hook", LOSSY)
def test_compression_sends_less_and_still_trains(run, hook):
    record, reference = of_hook(run, hook), plain(run)
    sent = record["communication"]["bytes_per_step_sent"] / reference["communication"]["bytes_per_step_sent"]
    assert sent < LOSSY[hook]
    kept = record["communication"]["error_state_mib"]
    assert (kept > 0.4) == (hook.startswith("top_k") or hook == "power_sgd")
    assert record["losses"][0] == reference["losses"][0], "the first loss comes before any gradient"
    # All of them learn; what sends most of the gradient stays near.
    assert record["losses"][10] < record["losses"][0]
    if hook in ("bf16", "fp16", "fp8"):
        assert record["losses"][10] == pytest.approx(reference["losses"][10], rel=0.01)
        assert record["parity"]["agrees"]
    else:
        assert record["parity"]["absent"].startswith("not compared")


def test_the_distance_to_the_ideal_is_a_number(tmp_path):
    record = RealRun(tmp_path, IDEAL).records[-1]
    assert record["status"] in ("ok", "unsteady", "disturbed"), record["reason"]
    ideal = record["communication"]["ideal"]
    assert ideal["limit_ms"] == max(ideal["compute_ms"], ideal["communication_ms"])
    assert ideal["distance"] == pytest.approx(ideal["step_ms"] / ideal["limit_ms"])
    assert record["parity"]["agrees"], "what the probe left behind must not reach the comparison"
