"""What ranks do together, with the real worker on the CPU: sweep, log of collectives, a slow rank, planted faults, MPI, replay."""

import json
import math
import os
import pathlib
import shutil
import socket
import subprocess

import pytest
from conftest import BIN, OK, REGRESSION, USAGE, WORKER, RealRun, assert_valid, strict_json

SUITE = """\
stepgauge: 1
name: collectives
launches: 1
defaults: {device: cpu, workload: llama.tiny, batch: 2, env: {OMP_NUM_THREADS: "1"}}
include:
  - {ddp: 2}
  - {ddp: 2, perturb: {step_percent: 200, rank: 1}}
  - {ddp: 2, perturb: {fault: {kind: skip_collective, rank: 1, step: 7}}}
  - {ddp: 2, perturb: {fault: {kind: other_length, rank: 1, step: 7}}}
  - {ddp: {ranks: 2, backend: mpi}}
  - {ddp: 1, perturb: {fault: {kind: skip_collective, step: 7}}}
measure: {steps: 20, allreduce_sweep: true, collective_log: true, parity_steps: 1}
limits: {launch: 60s, silence: 8s, grace: 2s}
"""
MPI_PART = BIN / "libstepgauge_mpi.so"
needs_mpi = pytest.mark.skipif(not MPI_PART.exists() or shutil.which("mpirun") is None,
                               reason="no MPI part of the worker, or no mpirun")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return RealRun(tmp_path_factory.mktemp("collectives"), SUITE)


def log_of(folder: pathlib.Path, rank: int) -> tuple[dict, list[list]]:
    head, *lines = [strict_json(line) for line in (folder / f"rank{rank}.collectives.jsonl").read_text().splitlines()]
    return head, lines


def plain(run: RealRun) -> dict:
    (record,) = run.of("!PERTURBED", "!mpi")
    return record


def test_sweep(run):
    record = plain(run)
    assert record["status"] in ("ok", "unsteady"), run.done
    run.work.assert_files_valid("a")
    first, second = (rank["communication"] for rank in record["ranks"])
    assert first["sweep"] == second["sweep"] and first["pairs"] == second["pairs"], "all ranks have the slowest one's times"
    sweep = first["sweep"]
    assert [point["bytes"] for point in sweep] == [1024 * 4**i for i in range(len(sweep))] and len(sweep) >= 2
    assert sweep[-1]["bytes"] == 64 << 20 or "sweep_stopped" in first
    for point in sweep:
        assert 0 < point["min_us"] <= point["time_us"] and point["iterations"] >= 5
        assert point["algbw_gbps"] == pytest.approx(point["bytes"] / point["time_us"] / 1e3)
        assert point["busbw_gbps"] == pytest.approx(point["algbw_gbps"]), "2 (n - 1) / n is 1 for two ranks"
    assert sweep[-1]["algbw_gbps"] > sweep[0]["algbw_gbps"] and first["latency_us"] > 0
    (pair,) = first["pairs"]
    assert (pair["a"], pair["b"]) == (0, 1) and 0.01 < pair["gbps"] < 1000


def test_log_of_collectives(run):
    folder = run.launch_folder(plain(run))
    logs = [log_of(folder, rank) for rank in (0, 1)]
    for rank, (head, lines) in enumerate(logs):
        assert {key: head[key] for key in ("schema", "version", "rank", "world_size", "clock", "backend", "ends")} == {
            "schema": "stepgauge.collective_log", "version": 1, "rank": rank, "world_size": 2, "clock": "unix_ns",
            "backend": "gloo", "ends": "host"}
        assert [line[0] for line in lines] == list(range(len(lines)))
        assert all(line[5] <= line[6] for line in lines), "each one ended"
    (first, second) = (lines for _, lines in logs)
    assert logs[0][0]["launch"] == logs[1][0]["launch"] != ""
    # What both ranks did, whatever the clocks said: kind, bytes, shape, call site, type, elements.
    assert [line[1:5] + line[7:] for line in first] == [line[1:5] + line[7:] for line in second]
    assert {"rendezvous", "wrap", "first_step", "warmup", "measure", "verify"} <= {line[4] for line in first}
    assert "sweep" not in {line[4] for line in first}, "the sweep would bury what the training does"
    measured = [line for line in first if line[4] == "measure" and line[1] == "all_reduce"]
    assert len(measured) % 20 == 0 and all(line[7] == "float32" and line[2] == 4 * line[8] for line in measured)
    assert sum(line[2] for line in measured) / 20 == sum(plain(run)["ranks"][0]["settings"]["used"]["bucket_bytes"])


def test_the_slow_rank_is_named(run):
    (record,) = run.of("@rank1", "step+200%")
    assert record["status"] in ("ok", "unsteady", "disturbed"), run.done
    first, second = record["ranks"]
    assert first["perturbed"]["spin_ms_per_step"] == 0 and second["perturbed"]["spin_ms_per_step"] > 0
    assert first["measured_from"] == second["measured_from"], "warm-up must end on the same step everywhere"
    last = [one["last_rank"] for one in record["timeline"]["collectives"]]
    assert last.count(1) >= 0.6 * len(last) > 0, last


def test_a_skipped_collective_ends_within_the_deadline(run):
    (record,) = run.of("skip_collective@rank1")
    assert record["status"] in ("hung", "crashed", "incorrect") and record["reason"], record
    assert record["duration_s"] < 40
    (head, whole), (_, short) = (log_of(run.launch_folder(record), rank) for rank in (0, 1))
    assert head["world_size"] == 2
    calls = [[line[1:4] for line in lines] for lines in (whole, short)]
    at = next((i for i, (one, other) in enumerate(zip(*calls)) if one != other), len(calls[1]))
    # Rank 1 lacks one: what it did from there on is what rank 0 did, or had yet to do, one number later.
    assert at < len(calls[1]), "nothing shows that one was skipped"
    assert all(one == other for one, other in zip(calls[1][at:], calls[0][at + 1:]))
    if record["status"] != "incorrect":
        assert "the logs of collectives: rank 1 " in record["reason"], record["reason"]
        assert record["evidence"]["collective_patterns"]


def test_another_length_ends_within_the_deadline_and_the_logs_name_it(run):
    (record,) = run.of("other_length@rank1")
    assert record["status"] in ("crashed", "hung") and record["duration_s"] < 40, record
    logs = [log_of(run.launch_folder(record), rank)[1] for rank in (0, 1)]
    odd = next(pair for pair in zip(*logs) if pair[0][1:4] != pair[1][1:4])
    assert odd[1][2] == 2 * odd[0][2] and odd[0][1] == odd[1][1] == "all_reduce"
    # gloo ends the process that was sent too much; which rank is odd stands in the logs.
    assert "mismatch" in record["reason"] or record["status"] == "hung", record["reason"]
    assert "the logs of collectives: rank 1 runs all_reduce of" in record["reason"], record["reason"]


def test_what_cannot_be_is_unsupported(run):
    reasons = {cell["reason"] for cell in json.loads((run.folder / "run.json").read_text())["skipped"]}
    reasons |= {record["reason"] for record in run.records if record["status"] == "unsupported"}
    assert any("skip_collective is of collectives" in reason for reason in reasons), reasons
    assert any("mpirun or srun" in reason or "no MPI part" in reason for reason in reasons), reasons


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ByHand:
    """Ranks of one launch, started as an engine would."""

    def __init__(self, folder: pathlib.Path, cells: list[dict], **extra: str) -> None:
        self.folder, port = folder, free_port()
        self.variables = []
        for rank, cell in enumerate(cells):
            (folder / f"cell{rank}.json").write_text(json.dumps(cell))
            self.variables.append({
                "STEPGAUGE_CELL": str(folder / f"cell{rank}.json"), "STEPGAUGE_RECORD": str(folder / f"rank{rank}.json"),
                "STEPGAUGE_LAUNCH_ID": "by-hand", "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(cells)),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", **extra})

    def run(self) -> list[dict]:
        ranks = [subprocess.Popen([WORKER], env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True)
                 for variables in self.variables]
        self.errors = [rank.communicate(timeout=90)[1] for rank in ranks]
        return self.records()

    def mpirun(self, env: dict | None = None) -> list[dict]:
        """One context a rank, so that each has its own variables."""
        command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
        for variables in self.variables:
            command += [":"] if "-n" in command else []
            command += ["-n", "1", *(part for item in variables.items() for part in ("-x", "=".join(item))), str(WORKER)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={
            **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(env or {})})
        self.errors = [done.stderr]
        return self.records()

    def records(self) -> list[dict]:
        """Of the ranks that got so far: mpirun ends the others when one fails."""
        out = [strict_json(path.read_text()) for path in sorted(self.folder.glob("rank?.json"))]
        for record in out:
            assert_valid("record", record)
        return out


@pytest.fixture
def cell(run) -> dict:
    return strict_json((run.launch_folder(plain(run)) / "cell.json").read_text())


def test_a_rank_of_another_suite_is_refused(cell, tmp_path):
    other = {**cell, "batch": cell["batch"] + 1, "hash": "0123abcd"}
    for record in ByHand(tmp_path, [cell, other]).run():
        assert record["status"] == "crashed" and record["reason"].startswith(
            "rank 1 runs another suite or worker build: cell 0123abcd"), record["reason"]


PLAN = {"schema": "stepgauge.collective_plan", "version": 1, "world_size": 2, "collectives": [
    {"sequence": 0, "kind": "all_reduce", "bytes": 4096, "dtype": "float32", "count": 1024, "recorded_ms": 0.5},
    {"sequence": 1, "kind": "broadcast", "bytes": 1000, "dtype": None, "count": None, "recorded_ms": 0.25},
    {"sequence": 2, "kind": "all_gather", "bytes": 64, "dtype": "int64", "count": 8, "recorded_ms": None},
    {"sequence": 3, "kind": "barrier", "bytes": 0, "dtype": None, "count": 0, "recorded_ms": 0.125},
    {"sequence": 4, "kind": "all_reduce", "bytes": None, "dtype": None, "count": None, "recorded_ms": 1.0},
    {"sequence": 5, "kind": "send", "bytes": 8, "dtype": "float32", "count": 2, "recorded_ms": 1.0},
    {"sequence": 6, "kind": "all_reduce", "bytes": 8388608, "dtype": "bfloat16", "count": 4194304, "recorded_ms": 20.0}]}


def check_replay(records: list[dict]) -> None:
    assert [record["rank"] for record in records] == [0, 1]
    for record in records:
        assert record["status"] == "ok", record
        replay = record["replay"]
        times = [one["replayed_ms"] for one in replay["collectives"]]
        assert [time is None for time in times] == [False, False, False, False, True, True, False]
        assert "size is not known" in replay["collectives"][4]["skipped"] and '"send"' in replay["collectives"][5]["skipped"]
        assert times[6] > times[0] > 0
        assert replay["compared"] == 4 and replay["total_recorded_ms"] == 20.875
        assert replay["total_replayed_ms"] == pytest.approx(times[0] + times[1] + times[3] + times[6])
    assert records[0]["replay"] == records[1]["replay"]


def test_replay_of_a_plan(cell, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    check_replay(ByHand(tmp_path, [cell, cell], STEPGAUGE_REPLAY=str(tmp_path / "plan.json")).run())


def test_a_plan_for_other_ranks_is_refused(cell, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({**PLAN, "world_size": 8}))
    for record in ByHand(tmp_path, [cell, cell], STEPGAUGE_REPLAY=str(tmp_path / "plan.json")).run():
        assert record["status"] == "crashed" and "plan.json: the plan is for 8 ranks, this launch has 2" in record["reason"]


def test_the_collectives_of_a_run_are_made_again(run):
    logs = run.launch_folder(plain(run))
    done = run.work("replay", logs, "--run", "--device", "cpu", "--out", "again", "--json", timeout=120)
    assert done.code in (OK, REGRESSION), done  # a busy machine may have had a rank come late into one of them
    replay = done.json["replay"]
    assert len(replay["collectives"]) == len(log_of(logs, 0)[1]) and replay["passes"] == 3
    assert replay["compared"] > 20 and replay["total_recorded_ms"] > 0 and replay["total_replayed_ms"] > 0
    text = run.work("replay", logs, "--run", "--device", "cpu", "--out", "again2", timeout=120).out
    assert "here / logs" in text and "all_reduce" in text and "with a time in the logs" in text
    refused = run.work("replay", logs, "--run", "--device", "cpu", "--out", "again")
    assert refused.code == USAGE and "it is there already" in refused.err


def test_the_skipped_collective_is_found_in_the_logs(run):
    (record,) = run.of("skip_collective@rank1")
    done = run.work("replay", run.launch_folder(record), "--json")
    assert done.code == REGRESSION, done
    assert {found["pattern"] for found in done.json["patterns"]} & {"skipped", "extra", "mismatch", "silent"}, done


def over_mpi(cell: dict) -> dict:
    return {**cell, "ddp": {**cell["ddp"], "backend": "mpi"}}


@needs_mpi
def test_training_over_mpi_gives_gloos_losses(run, cell, tmp_path):
    hand = ByHand(tmp_path, [over_mpi(cell)] * 2)
    records = hand.mpirun()
    assert len(records) == 2, hand.errors
    for record, gloo in zip(records, plain(run)["ranks"]):
        assert record["status"] == "ok", (record, hand.errors)
        assert "MPI" in record["software"]["mpi"] and record["settings"]["used"]["bucket_bytes"]
        assert record["losses"] == pytest.approx(gloo["losses"], rel=1e-4) and all(map(math.isfinite, record["losses"]))
        assert record["parity"]["agrees"] and len(record["communication"]["sweep"]) >= 2 and record["communication"]["pairs"]
    head, lines = log_of(tmp_path, 0)
    assert head["backend"] == "mpi" and all(line[6] for line in lines)


@needs_mpi
def test_replay_over_mpi(cell, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    check_replay(ByHand(tmp_path, [over_mpi(cell)] * 2, STEPGAUGE_REPLAY=str(tmp_path / "plan.json")).mpirun())


@needs_mpi
def test_ranks_that_contradict_mpi_are_refused(cell, tmp_path):
    hand = ByHand(tmp_path, [over_mpi(cell)] * 2)
    hand.variables.reverse()  # MPI numbers contexts in the order of the command
    reasons = [record["reason"] for record in hand.mpirun()]
    assert any("MPI_COMM_WORLD says rank" in reason and "RANK and WORLD_SIZE say rank" in reason for reason in reasons), reasons
