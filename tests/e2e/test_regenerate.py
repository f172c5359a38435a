"""scripts/regenerate: no GPU for two commands at once, nothing beside one that uses all, an end in order, and a second call that goes on."""

import json
import os
import pathlib
import shlex
import stat
import subprocess
import sys

import pytest
from conftest import SOURCE, STEPGAUGE, USAGE

STAND_IN = """#!{python}
import json, os, signal, sys, time
words = sys.argv[1:]
place = words[words.index("--devices") + 2]
folder = words[words.index("--devices") + 3]
os.makedirs(folder, exist_ok=True)
def tell(end):
    with open(os.path.join(os.path.dirname(folder), "told.jsonl"), "a") as told:
        told.write(json.dumps(dict(words=words, place=place, cores=sorted(os.sched_getaffinity(0)), began=began, ended=time.monotonic(), end=end)) + "\\n")
def interrupted(*_):
    tell("interrupted")
    sys.exit(3)
began = time.monotonic()
signal.signal(signal.SIGINT, interrupted)
time.sleep(float(words[1]) if place == "--out" else 0)
tell("done")
sys.exit(int(words[2]))
"""


class Plan:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.program = folder, folder / "stepgauge"
        self.program.write_text(STAND_IN.format(python=sys.executable))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def __call__(self, text: str, *more: str) -> subprocess.CompletedProcess:
        (self.folder / "a.plan").write_text(text)
        return subprocess.run([SOURCE / "scripts/regenerate", self.folder / "a.plan", "--out", self.folder / "out", "--devices", "0,1",
                               "--stepgauge", self.program, *more], capture_output=True, text=True, timeout=60, check=False)

    def told(self) -> list[dict]:
        return [json.loads(line) for line in (self.folder / "out/told.jsonl").read_text().splitlines()]


@pytest.fixture
def plan(tmp_path) -> Plan:
    return Plan(tmp_path)


def devices(one: dict) -> set[str]:
    return set(one["words"][one["words"].index("--devices") + 1].split(","))


def test_a_device_does_one_thing_at_a_time(plan):
    done = plan("a 1 run 0.4 0\nb 1 run 0.3 1 --only 'x y*'  # quoted\nboth 2 gate 0.2 0\nc 1 run 0.2 0\n")
    assert done.returncode == 0 and "4 of 4 done" in done.stdout, done
    told = plan.told()
    for i, one in enumerate(told):
        for other in told[:i]:
            assert not devices(one) & devices(other) or one["began"] >= other["ended"], (one, other)
    by_exit = {name: (plan.folder / f"out/{name}.exit").read_text() for name in ("a", "b", "both", "c")}
    assert by_exit == {"a": "0\n", "b": "1\n", "both": "0\n", "c": "0\n"}  # a gate that blocks is a result
    assert "x y*" in next(one for one in told if "--only" in one["words"])["words"]
    first, second = (next(one for one in told if one["words"][1] == seconds) for seconds in ("0.4", "0.3"))
    assert first["began"] < second["ended"] and second["began"] < first["ended"]  # side by side
    if len(os.sched_getaffinity(0)) > 1:
        assert not set(first["cores"]) & set(second["cores"])
        assert set(first["cores"]) | set(second["cores"]) <= set(next(one for one in told if one["words"][0] == "gate")["cores"])


def test_time_is_up_and_the_next_call_goes_on(plan):
    text = "a 1 run 0 0\nlong 1 run 50 0\nlast 2 run 0 0\n"
    done = plan(text, "--minutes", "0.02")
    assert done.returncode == 3 and "1 of 3 done" in done.stdout, done
    assert "long: not done (no time was left)" in done.stdout and "last: not done (no time was left)" in done.stdout
    assert [one["end"] for one in plan.told()] == ["done", "interrupted"]
    done = plan(text)
    assert done.returncode == 0 and "3 of 3 done" in done.stdout, done
    assert [one["place"] for one in plan.told()[2:]] == ["--resume", "--out"]  # and a is not measured again


@pytest.mark.parametrize("text, more, words", [
    ("a 1\n", (), "a.plan:1: expected NAME GPUS COMMAND"),
    ("a 1 run\n\na 1 run\n", (), "a.plan:3: a stands twice"),
    ("../a 1 run\n", (), "a.plan:1: '../a' is no name of a folder"),
    ("a 0 run\n", (), "a.plan:1: expected one GPU or more"),
    ("a 1 run 'b\n", (), "a.plan:1: No closing quotation"),
    ("# nothing\n", (), "no command in it"),
    ("a 3 run\n", (), "needs more than the 2 GPUs"),
    ("a 1 run\n", ("--only", "b"), "has no b; its names: a")])
def test_a_plan_that_cannot_be_run(plan, text, more, words):
    done = plan(text, *more)
    assert done.returncode == 2 and words in done.stderr, done
    assert not (plan.folder / "out").exists()


def test_a_command_that_needs_more_gpus_is_told(plan):
    done = plan("a 1 run 0 0\nb 4 run 0 0\n")
    assert done.returncode == 3 and "b: not done (needs 4 GPUs)" in done.stdout, done


def test_the_plan_of_the_results_selects_cells_that_are_there():
    tasks = [shlex.split(line, comments=True)[2:] for line in (SOURCE / "results/h200.plan").read_text().splitlines()]
    tasks = [words for words in tasks if words]
    assert len(tasks) > 5
    for words in tasks:
        chosen = [word for option, value in zip(words, words[1:]) if option in ("--only", "--skip") for word in (option, value)]
        done = subprocess.run([STEPGAUGE, "list", SOURCE / words[1], *chosen], capture_output=True, text=True, check=False)
        assert done.returncode != USAGE, (words, done.stderr)
