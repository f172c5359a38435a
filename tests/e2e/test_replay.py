"""Logs of collectives from outside: what is found, exit codes, the plan, and logs that are none."""

import json
import shutil

import pytest
from conftest import FAILED, OK, REGRESSION, SOURCE, USAGE, matches_golden, strict_json

DATA = SOURCE / "tests" / "replay" / "data"
MS = 1_000_000


def log(rank: int, world_size: int, calls: int, change=lambda rank, call: True) -> str:
    lines = [json.dumps({"schema": "stepgauge.collective_log", "version": 1, "rank": rank, "world_size": world_size, "clock": "unix_ns",
                         "backend": "nccl", "launch": "test"})]
    for i in range(calls):
        size = [26214400, 1048576, 4][i % 3]
        call = [i, "all_reduce", size, size, "backward", i * 10 * MS + rank * 100, i * 10 * MS + 2 * MS, "float32", size // 4]
        if change(rank, call):
            lines.append(json.dumps(call, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def write(work, ranks: int, calls: int, change=lambda rank, call: True) -> None:
    (work.path / "logs").mkdir(exist_ok=True)
    for rank in range(ranks):
        work.write(f"logs/rank{rank}.collectives.jsonl", log(rank, ranks, calls, change))


def silent(rank: int, call: list) -> bool:
    if call[0] == 42:
        call[6] = None
    return rank != 3 or call[0] < 42


def test_a_healthy_run(work):
    write(work, 4, 43)
    done = work("replay", "logs")
    assert done.code == OK and "No pattern of trouble found." in done.out, done
    shown = work("replay", "logs", "--json").json
    assert shown["patterns"] == [] and shown["clocks"]["ranks"] == 4 and len(shown["slowest"]) == 10
    assert [rank["collectives"] for rank in shown["ranks"]] == [43] * 4


def test_a_silent_rank(work):
    write(work, 4, 43, silent)
    done = work("replay", "logs")
    assert done.code == REGRESSION, done
    matches_golden("replay_silent.txt", done.out)
    found, = work("replay", "logs", "--json").json["patterns"]
    assert (found["pattern"], found["ranks"], found["sequence"]) == ("silent", [3], 42)


def test_the_skew_that_counts_is_settable(work):
    def late(rank: int, call: list) -> bool:
        if call[0] == 20:
            call[5] += 60 * MS if rank == 1 else 0
            call[6] += 60 * MS
        return True

    write(work, 3, 40, late)
    assert work("replay", "logs").code == OK
    done = work("replay", "logs", "--skew-ms", "50")
    assert done.code == REGRESSION and "skew: rank 1 comes more than 50.0 ms behind the first" in done.out, done


def test_real_dumps_and_text(work):
    shutil.copytree(DATA / "flight_recorder_silent", work.path / "dumps")
    done = work("replay", "dumps")
    assert done.code == REGRESSION and "rank 1 is silent" in done.out and "skew is not known" in done.out, done
    done = work("replay", DATA / "detail_mismatch" / "rank0.log", DATA / "detail_mismatch" / "rank1.log")
    assert done.code == REGRESSION and "all_reduce of 100 B instead of 80 B" in done.out, done
    assert work("replay", DATA / "flight_recorder_healthy").code == OK


def test_the_plan(work):
    write(work, 2, 6)
    done = work("replay", "logs", "--write-plan", "plan.json")
    assert done.code == OK, done
    plan = strict_json((work.path / "plan.json").read_text())
    assert (plan["schema"], plan["version"], plan["world_size"]) == ("stepgauge.collective_plan", 1, 2)
    assert plan["collectives"][1] == {"sequence": 1, "kind": "all_reduce", "bytes": 1048576, "dtype": "float32", "count": 262144,
                                      "recorded_ms": 1.99995}


@pytest.mark.parametrize(("text", "complaint"), [
    ("", "no collective found in 1 file"),
    ("epoch 1\n", "expected rank<N>.collectives.jsonl"),
    ('{"schema":"stepgauge.collective_log","version":9,"rank":0,"world_size":1}\n', "version 9, this program reads up to 1"),
])
def test_logs_that_are_none(work, text, complaint):
    work.write("rank0.log", text)
    done = work("replay", "rank0.log")
    assert done.code == FAILED and complaint in done.err and not done.out, done


def test_a_pickle_that_would_run_code(work):
    (work.path / "dump_rank_0").write_bytes(b"\x80\x02cos\nsystem\n(X\x06\x00\x00\x00touch xtR.")
    done = work("replay", "dump_rank_0")
    assert done.code == FAILED and "the opcode GLOBAL is refused" in done.err, done


def test_usage(work):
    assert work("replay").code == USAGE
    done = work("replay", "nowhere")
    assert done.code == USAGE and "nowhere: no such file or folder" in done.err, done
    assert work("replay", ".", "--skew-ms", "-1").code == USAGE
    assert "1 a pattern was found" in work("replay", "--help").out
