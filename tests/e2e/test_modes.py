"""Compile modes, checkpointing, caches and planted faults with the real worker on the CPU: each result counts only when it computes what
eager does."""

import json

import pytest
from conftest import OK, RealRun

# Scalar loops: to find the instruction set, Inductor starts a dozen Pythons.
HEAD = """\
stepgauge: 1
name: modes
launches: 1
defaults: {device: cpu, batch: 2, env: {OMP_NUM_THREADS: "1", TORCHINDUCTOR_VEC_ISA_OK: "0"}}
measure: {steps: 30, graphs: true}
limits: {launch: 400s, silence: 60s, compile: 300s, grace: 2s}
tolerance: {throughput: 90%}
"""
NATIVE = HEAD + """\
zip:
  - workload: [{name: resnet18, width: 8, classes: 10, image: 32}, {name: llama.tiny}]
    batch: [8, 2]
axes: {compile: [eager, torchscript, python_eager]}
include:
  - {workload: llama.tiny, compile: {mode: torchscript, executor: simple}, precision: bf16}
  - {workload: llama.tiny, compile: python_eager, precision: bf16}
  - {workload: llama.tiny, compile: python_eager, ddp: 2}
  - {workload: llama.tiny, compile: python_eager, ddp: {ranks: 2, wrapper: reducer}}
  - {workload: llama.tiny, checkpointing: full}
  - {workload: llama.tiny, checkpointing: full.reentrant}
  - {workload: llama.tiny, checkpointing: every_2, ddp: {ranks: 2, static_graph: true}}
  - {workload: llama.tiny, compile: python_eager, checkpointing: full}
  - {workload: llama.tiny, compile: python_eager, checkpointing: full.reentrant}
  - {workload: llama.tiny, compile: python_eager, checkpointing: selective}
  - {workload: llama.tiny, precision: bf16, input: skewed, ddp: {ranks: 2, hook: bf16}}
  - {workload: llama.tiny, compile: torchscript, input: fresh}
  - {workload: llama.tiny, compile: python_eager, input: fresh, ddp: 2}
"""
PLANTED = HEAD + """\
include:
  - {workload: llama.tiny, perturb: {wrong: stale_input}}
  - {workload: llama.tiny, input: fresh, perturb: {wrong: stale_input}}
  - {workload: llama.tiny, compile: torchscript, perturb: {wrong: skip_backward}}
  - {workload: llama.tiny, compile: python_eager, perturb: {wrong: skip_backward}}
  - {workload: llama.tiny, compile: python_eager, perturb: {wrong: stale_input}}
  - {workload: llama.tiny, checkpointing: full, perturb: {wrong: no_recompute}}
  - {workload: llama.tiny, compile: python_eager, checkpointing: full, perturb: {wrong: no_recompute}}
"""
COMPILED = HEAD + """\
include:
  - {workload: {name: llama.tiny, layers: 1}, compile: compile.default}
  - {workload: {name: llama.tiny, layers: 1}, compile: compile.default, cache: warm}
  - {workload: {name: llama.tiny, layers: 1}, compile: compile.default, perturb: {wrong: graph_break}}
  - {workload: {name: llama.tiny, layers: 1}, batch: 3, compile: {mode: compile.default, dynamic: off}, perturb: {wrong: recompile}}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("native"), NATIVE, timeout=1500)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("planted"), PLANTED, timeout=1500)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("compiled"), COMPILED, timeout=1500)


def test_every_native_mode_is_ok_and_agrees_with_the_reference(native):
    assert native.done.code == OK, native.done.err + native.done.out
    for record in native.records:
        assert record["status"] == "ok", (record["cell"]["id"], record["reason"])
        parity = record["parity"]
        assert parity["agrees"] and parity["reference"] == "eager fp64"
        assert parity["gradients"]["compared"] > 5
        assert record["metrics"]["loss_error"]["value"] <= parity["loss"]["allowed"]


@pytest.mark.parametrize("words", [("llama", "/eager/", "ckpt.full/"), ("llama", "/eager/", "ckpt.full.reentrant"),
                                   ("llama", "python_eager", "ckpt.full/"), ("llama", "python_eager", "ckpt.selective")])
def test_checkpointing_recomputes_and_saves_memory(native, words):
    record = native.of(*words)[-1]
    twin = native.of("llama", words[1], "/fp32/", "!ckpt", "!ddp2")[-1]
    assert record["checkpoint"]["recomputed_blocks_per_step"] == 2
    assert record["metrics"]["peak_memory"]["value"] < 0.97 * twin["metrics"]["peak_memory"]["value"]


def test_every_second_block(native):
    assert native.of("ckpt.every_2")[-1]["checkpoint"]["recomputed_blocks_per_step"] == 1


def test_a_trace_is_one_capture_ahead_of_the_first_step(native):
    record = native.of("llama", "torchscript/fp32", "!fresh")[-1]
    assert record["compile"]["captures"] == 1 and record["compile"]["captures_late"] == 0
    assert record["metrics"]["compile_time"]["value"] > 0
    assert record["ranks"][0]["phases_s"]["compile"] >= record["compile"]["compile_s"]


def test_python_costs_nothing_where_it_is_not_used(native):
    eager, python = native.of("llama", "/eager/fp32", "!ckpt")[-1], native.of("llama", "python_eager/fp32", "!ckpt", "!ddp2")[-1]
    assert eager["ranks"][0]["phases_s"]["runtime"] < 0.3 * python["ranks"][0]["phases_s"]["runtime"]


@pytest.mark.parametrize(("words", "status", "reason"), [
    (("/eager/", "stale_input", "!fresh"), "incorrect", "step 1: loss"),
    (("/eager/", "stale_input", "fresh"), "incorrect", "the reference has"),
    (("torchscript", "skip_backward"), "incorrect", "update of parameter"),
    (("python_eager", "skip_backward"), "incorrect", "of parameter"),
    (("python_eager", "stale_input"), "incorrect", "the reference has"),
    (("/eager/", "no_recompute"), "ineffective", "no block was recomputed"),
    (("python_eager", "no_recompute"), "ineffective", "no block was recomputed"),
])
def test_a_step_that_does_not_do_its_work_is_no_result(planted, words, status, reason):
    record = planted.of(*words)[-1]
    assert record["status"] == status
    assert reason in record["reason"]


def test_a_warm_cache_is_used_and_a_cold_one_is_cold(compiled):
    cold, warm = compiled.of("default.cold", "!PERTURBED")[-1], compiled.of("default.warm")[-1]
    assert (cold["status"], warm["status"]) == ("ok", "ok"), (cold["reason"], warm["reason"])
    assert cold["compile"]["caches"]["entries_before"] == 0 and cold["compile"]["caches"]["hits"] == 0
    assert warm["compile"]["caches"]["hits"] > 0 and warm["compile"]["caches"]["misses"] == 0
    assert warm["metrics"]["first_step_latency"]["value"] < 0.7 * cold["metrics"]["first_step_latency"]["value"]
    assert warm["evidence"]["cache_filled_by"] == cold["evidence"]["folder"]
    for record in (cold, warm):
        assert record["parity"]["agrees"]
        assert record["metrics"]["graph_breaks"]["value"] == 0


def test_a_graph_break_is_reported_with_its_source_line(compiled):
    record = compiled.of("graph_break")[-1]
    assert record["status"] == "ok", record["reason"]
    breaks = record["compile"]["graph_breaks"]
    assert record["metrics"]["graph_breaks"]["value"] >= 1
    assert breaks[0]["file"].endswith(".py") and breaks[0]["line"] > 0 and breaks[0]["reason"]


def test_a_recompile_after_warm_up_is_unsteady_and_names_its_guard(compiled):
    record = compiled.of("recompile")[-1]
    assert record["status"] == "unsteady"
    late = [item for item in record["compile"]["recompiles"] if item["late"]]
    assert late and "size" in late[0]["guard"]
    assert late[0]["guard"][:20] in record["reason"]


def test_graph_snapshots_have_source_positions_and_can_be_shown_and_compared(compiled):
    folder = compiled.folder / compiled.of("default.cold", "!PERTURBED")[-1]["evidence"]["folder"]
    broken = compiled.folder / compiled.of("graph_break")[-1]["evidence"]["folder"]
    snapshot = json.loads((folder / "rank0.graphs.json").read_text())
    nodes = [node for region in snapshot["regions"] for node in region["nodes"]]
    assert any(node["file"] and node["file"].endswith("twin.py") and node["line"] for node in nodes)
    shown = compiled.work("graph", "show", str(folder))
    assert shown.code == OK and "twin.py" in shown.out
    different = compiled.work("graph", "diff", str(folder), str(broken))
    assert different.code == OK and different.out.strip()
