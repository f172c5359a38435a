"""Every way a worker can go wrong, third of four cells: the right status for it, and its siblings lose nothing."""

import time

import pytest
from conftest import FAILED, OK, wait_for

SUITE = """\
stepgauge: 1
name: modes
launches: 1
defaults: {{device: cpu, workload: llama.tiny}}
axes:
  batch: [1, 2, 4, 8]
limits: {limits}
"""
PATIENT, SHORT = "{launch: 60s, silence: 30s, grace: 300ms}", "{launch: 20s, silence: 1s, grace: 300ms}"

CRASHED = {
    "die": "SIGKILL", "segv": "SIGSEGV", "abort": "SIGABRT", "exit3": "exited with 3", "no-record": "left no record",
    "empty": "empty", "half-line": "not valid JSON", "two-records": "not valid JSON", "nan": "not valid JSON",
    "text": "not valid JSON", "other-cell": "another cell", "other-rank": "rank 1", "other-launch": "launch 1",
    "newer-schema": "version 2", "negative-time": "-1", "huge": "bytes", "deep": "nested", "folder": "folder",
    "fifo": "expected a", "record-then-die": "SIGKILL", "ok-exit3": "exited with 3", "crashed": "made up by the stub",
}
SAID = {"oom": "40.0 GiB", "oom-then-abort": "40.0 GiB", "incorrect": "made up", "ineffective": "made up",
        "unsteady": "made up", "disturbed": "made up", "unsupported": "made up"}
HARMLESS = ["daemon", "daemon-ignore-term", "daemon-hidden", "child", "fork-bomb-lite", "spam", "spam-err", "nonsense"]


def run_third(work, mode: str, limits: str, *options: str):
    work.write("modes.yaml", SUITE.format(limits=limits))
    done = work.run("modes.yaml", "a", "--mode-if", f"*.b4/*:{mode}", *options)
    assert work.left_running() == []
    records = work.records("a")
    if mode.split("-")[0] in ("unsteady", "disturbed"):  # the machine's doing: made again, every attempt kept
        assert [record["attempt"] for record in records] == [1, 1, 1, 2, 3, 1]
        del records[2:4]
    assert [record["cell"]["id"].split("/")[0] for record in records] == [f"llama.tiny.b{n}" for n in (1, 2, 4, 8)]
    third = records.pop(2)
    assert [record["status"] for record in records] == ["ok"] * 3, "a sibling paid for it"
    return done, third


@pytest.mark.parametrize("mode", CRASHED)
def test_crashed(work, mode):
    done, third = run_third(work, mode, PATIENT)
    assert done.code == FAILED and third["status"] == "crashed" and CRASHED[mode] in third["reason"], (done, third["reason"])
    assert "crashed" in done.out and third["cell"]["id"] in done.out
    (cell,) = [cell for cell in work("report", "a", "--json").json["cells"] if cell["id"] == third["cell"]["id"]]
    assert (cell["ok"], cell["launched"], cell["status"]) == (0, 1, "crashed")
    assert cell.get("throughput") is None, "the numbers of a launch that failed must not count"
    assert len(third["reason"]) < 2000


@pytest.mark.parametrize("mode", SAID)
def test_what_the_worker_says(work, mode):
    done, third = run_third(work, mode, PATIENT)
    assert done.code == FAILED and third["status"] == mode.split("-")[0] and SAID[mode] in third["reason"], done
    if third["status"] == "oom":
        assert '"free_mib":12800' in str(third).replace("'", '"').replace(" ", ""), "the allocator's numbers are lost"


@pytest.mark.parametrize("mode", ["hang", "spin", "ignore-term", "term-exit0"])
def test_hung(work, mode):
    begin = time.monotonic()
    done, third = run_third(work, mode, SHORT)
    assert done.code == FAILED and third["status"] == "hung", (done, third)
    assert "rank 0" in third["reason"] and "warmup" in third["reason"] and "1 s" in third["reason"]
    assert 1 <= third["duration_s"] < 4 and time.monotonic() - begin < 6


def test_the_deadline_of_a_launch(work):
    # Steps in real time are signs of life: only the deadline ends it.
    work.write("modes.yaml", SUITE.format(limits="{launch: 1s, silence: 900ms, grace: 300ms}"))
    done = work.run("modes.yaml", "a", "--realtime", "--step-ms", "200", more=("--only", "*.b4/*"))
    (record,) = work.records("a")
    assert done.code == FAILED and record["status"] == "hung" and "not done after 1 s" in record["reason"], (done, record)
    assert work.left_running() == []


@pytest.mark.parametrize("mode", HARMLESS)
def test_harmless_but_cleaned_up(work, mode):
    done, third = run_third(work, mode, PATIENT)
    assert done.code == OK and third["status"] == "ok", (done, third["reason"])


def test_logs_are_capped(work):
    done, third = run_third(work, "spam", PATIENT, "--spam-mib", "100")
    assert done.code == OK, done
    log = work.path / "a" / third["evidence"]["folder"] / "rank0.out"
    rank = third["evidence"]["ranks"][0]
    assert log.stat().st_size < 20 << 20
    assert rank["dropped_bytes"] > 50 << 20 and rank["out_bytes"] >= 100 << 20


@pytest.mark.parametrize("mode, status", [("die", "crashed"), ("hang", "hung"), ("no-record", "crashed"), ("oom", "oom")])
def test_one_rank_of_two(work, mode, status):
    work.write("two.yaml", SUITE.format(limits=SHORT).replace("device: cpu", "device: cpu, ddp: 2"))
    done = work.run("two.yaml", "a", "--mode-if", f"*.b4/*:{mode}", "--rank", "1", more=("--only", "*.b[24]/*"))
    first, second = work.records("a")
    assert done.code == FAILED and first["status"] == "ok" and second["status"] == status, done
    assert "rank 1" in second["reason"] or status == "oom"
    assert work.left_running() == []


def test_a_worker_that_is_missing(work):
    work.write("modes.yaml", SUITE.format(limits=PATIENT))
    done = work("run", "modes.yaml", "--quiet", "--out", "a", "--worker", "/nowhere/worker --x")
    assert done.code == FAILED and "/nowhere/worker" in done.out and "No such file" in done.out, done
    assert {record["status"] for record in work.records("a")} == {"crashed"}
    work.write("plain.txt", "no program")
    done = work("run", "modes.yaml", "--quiet", "--out", "b", "--worker", "./plain.txt")
    assert done.code == FAILED and "plain.txt" in done.out, done


def test_a_second_attempt_after_a_crash_is_another_run(work):
    work.write("modes.yaml", SUITE.format(limits=PATIENT))
    done = work.run("modes.yaml", "a", "--mode-if", "*.b4/*:die", "--once", str(work.path / "died"))
    assert done.code == FAILED and len(work.records("a")) == 4
    again = work("run", "modes.yaml", "--quiet", "--resume", "a")  # a crashed launch is a result, not a gap
    assert again.code == FAILED and len(work.records("a")) == 4
    assert work.run("modes.yaml", "b", "--mode-if", "*.b4/*:die", "--once", str(work.path / "died")).code == OK
    wait_for(lambda: work.left_running() == [], "the last process")
