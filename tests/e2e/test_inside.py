"""The traced pass by the real worker on the CPU: what a step consists of, what a setting came to, what changed."""

import gzip
import json
import pathlib

import pytest
from conftest import OK, SOURCE, RealRun, strict_json

PLANTED = SOURCE / "configs" / "planted.yaml"
TWO_RANKS = """\
stepgauge: 1
name: two
launches: 1
defaults: {device: cpu, env: {OMP_NUM_THREADS: "1"}, workload: llama.tiny, batch: 4, ddp: 2}
axes: {precision: [fp32, bf16]}
measure: {steps: 20, trace_steps: 6}
tolerance: {throughput: 90%}
"""
SHARES = ("exposed_comm", "exposed_copy", "idle_ratio")


def value(record, metric):
    return record["metrics"][metric]["value"]


def assert_identities(record):
    """compute + exposed_comm + exposed_copy + idle = window, to the last digit of a nanosecond, per rank and step."""
    assert value(record, "stall_ratio") <= 100
    for rank in record["timeline"]["ranks"]:
        for part in [rank, *rank["per_step"]]:
            parts = part["compute_ms"] + part["exposed_comm_ms"] + part["exposed_copy_ms"] + part["idle_ms"]
            assert parts == pytest.approx(part["window_ms"], abs=1e-9)
            assert min(part.values() if "rank" not in part else [0]) >= 0
    if len(record["timeline"]["ranks"]) == 1:
        assert sum(value(record, name) for name in SHARES) == pytest.approx(value(record, "stall_ratio"), abs=1e-9)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    run = RealRun(tmp_path_factory.mktemp("planted"), PLANTED.read_text() + "tolerance: {throughput: 90%}\n")
    assert run.done.code == OK, run.done
    return run


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    run = RealRun(tmp_path_factory.mktemp("two"), TWO_RANKS, "--trace")
    assert run.done.code == OK, run.done
    return run


def test_every_record_says_where_the_step_went(planted):
    for record in planted.records:
        assert record["timeline"]["clock"] == "host" and record["timeline"]["steps"] == 20
        assert_identities(record)
        assert value(record, "kernels_per_step") > 100
        assert record["metrics"]["overlap_ratio"]["absent"] == "not applicable: no communication"
        assert value(record, "trace_overhead") > 0
    assert "Where a step goes" in planted.done.out


def test_memory_by_phase(planted):
    record = planted.records[0]
    phases = record["memory"]["phases"]
    assert [phase["phase"] for phase in phases] == ["forward", "backward", "optimizer"]
    assert max(phase["peak_mib"] for phase in phases) == pytest.approx(value(record, "peak_memory"), rel=0.05)
    first = record["memory"]["first_step_phases"]
    assert [phase["phase"] for phase in first] == ["forward", "backward", "optimizer"]
    assert max(phase["peak_mib"] for phase in first) == pytest.approx(value(record, "peak_memory_first_step"))
    assert record["memory"]["allocations_per_step"] > 50
    assert abs(record["memory"]["growth_mib_per_step"]) < 0.01


def rows(run, launch):
    """What differs between the first cell, which has nothing planted, and another."""
    first, other = (run.launch_folder(run.records[index]) for index in (0, launch))
    done = run.work("trace", "diff", first, other, "--json")
    assert done.code == OK, done
    return done.json["rows"]


def test_diff_names_a_host_sleep(planted):
    first = rows(planted, 1)[0]
    assert first["name"] == "idle" and first["change"] == "idle"
    assert 1.5 < first["cost_ms"] < 6  # 2 ms were planted
    assert "optimizer" in first["host"]


def test_diff_names_an_extra_copy(planted):
    assert rows(planted, 2)[0]["name"] == "aten::copy_"


def test_diff_names_an_extra_kernel(planted):
    first = next(row for row in rows(planted, 3) if row["change"] == "appeared")
    assert first["name"] == "aten::erfinv_" and first["per_step_b"] == 1


def test_cells_that_ran_the_same_are_named(planted):
    assert "ran the same kernels" in planted.done.out  # the sleep changes no kernel


def test_ranks_together(two):
    for record in two.records:
        assert_identities(record)
        assert value(record, "collectives_per_step") == 1
        assert value(record, "bytes_per_step") > 0.1
        assert value(record, "exposed_comm") > 0 and 0 <= value(record, "overlap_ratio") <= 100
        assert record["timeline"]["alignment"]["collectives"] == 6
        collectives = record["timeline"]["collectives"]
        assert len(collectives) == 6 and {one["bucket"] for one in collectives} == {0}
        assert all(one["last_rank"] in (0, 1) and one["entry_skew_ms"] >= 0 for one in collectives)
        assert not record["settings"]["buckets"]["ineffective"]


def test_settings_are_asked_set_and_used(two):
    fp32, bf16 = two.records
    assert fp32["settings"]["precision"]["used"] == "Float"
    assert bf16["settings"]["precision"]["asked"] == "bf16"
    assert bf16["settings"]["precision"]["used"] == "BFloat16"
    assert "BFloat16" in bf16["settings"]["precision"]["set"]
    assert fp32["settings"]["attention"]["used"] == "flash"


def test_kept_traces_are_what_viewers_read(two):
    for folder in map(two.launch_folder, two.records):
        names = {path.name for path in folder.glob("*.trace.json.gz")}
        assert names == {"rank0.trace.json.gz", "rank1.trace.json.gz", "merged.trace.json.gz"}
        for rank in (0, 1):
            text = gzip.decompress((folder / f"rank{rank}.trace.json.gz").read_bytes()).decode()
            assert f'"rank": {rank}' in text[:4000]  # how HolisticTraceAnalysis tells ranks apart
            trace = strict_json(text)
            steps = [event for event in trace["traceEvents"] if event.get("name", "").startswith("ProfilerStep#")]
            assert len(steps) == 6


def test_traces_are_removed_unless_asked_for(work):
    work.write("two.yaml", TWO_RANKS.replace("ddp: 2", "ddp: 1").replace("[fp32, bf16]", "[fp32]"))
    assert work("run", "two.yaml", "--out", "b", "--quiet", timeout=100).code == OK
    assert not list((work.path / "b").rglob("*.trace.json.gz"))
    assert value(work.records("b")[0], "stall_ratio") >= 0


def test_no_traced_pass_is_said(work):
    suite = TWO_RANKS.replace("ddp: 2", "ddp: 1").replace("[fp32, bf16]", "[fp32]").replace("trace_steps: 6", "trace_steps: 0")
    work.write("none.yaml", suite)
    assert work("run", "none.yaml", "--out", "c", "--quiet", timeout=100).code == OK
    record = work.records("c")[0]
    assert "trace_steps: 0" in record["metrics"]["stall_ratio"]["absent"]
    assert record["metrics"]["throughput"]["value"] > 0


def test_memory_history_of_a_cpu_costs_only_a_note(work):
    work.write("one.yaml", TWO_RANKS.replace("ddp: 2", "ddp: 1").replace("[fp32, bf16]", "[fp32]"))
    assert work("run", "one.yaml", "--out", "d", "--quiet", "--memory-history", timeout=100).code == OK
    rank = json.loads(next(pathlib.Path(work.path, "d").glob("launches/*/rank0.json")).read_text())
    assert any("no memory history" in note for note in rank["notes"])
