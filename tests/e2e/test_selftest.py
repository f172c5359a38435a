"""The harness that tests itself: its own answers when the gate works, when it cries wolf, when it sleeps, and when it cannot tell."""

import signal

import pytest
from conftest import FAILED, OK, REGRESSION, STUB, USAGE, Workspace, assert_valid, strict_json, stub, wait_for

QUIET = ("--noise", "0.5%", "--seed-from-launch")
PLANTED = "resnet18.classes10.image32.width16.b8/eager/fp32/cpu.ddp1/OMP_NUM_THREADS=1"


def selftest(work: Workspace, *more, worker: str | None = None):
    done = work("selftest", "--quiet", "--out", "s", "--worker", worker or stub(*QUIET), *more)
    value = strict_json((work.path / "s/selftest.json").read_text())
    assert_valid("selftest", value)
    assert value["exit_code"] == done.code, done
    return done, {check["name"]: check for check in value["checks"]}


def test_a_gate_that_works(work):
    done, checks = selftest(work)
    assert done.code == OK and "every check is as expected" in done.out, done
    assert all(len(line) <= 100 for line in done.out.splitlines())
    assert {name: check["found"] for name, check in checks.items()} == {
        "the same program twice": 0, "a planted slowdown": 1, "nothing measured": 3, "head emptied": 5, "both sides emptied": 5}
    assert PLANTED in checks["a planted slowdown"]["reason"] and "llama" not in checks["a planted slowdown"]["reason"]
    assert all(check["seconds"] >= 0 for check in checks.values())
    gate = strict_json((work.path / "s/planted/gate.json").read_text())
    assert {row["perturbed"] for row in gate["rows"] if "llama" in row["cell"]} == {False}, "more than one cell was slowed"
    assert (work.path / "s/selftest_cpu.yaml").exists() and "passed" not in (work.path / "s/nothing.txt").read_text()


def test_a_suite_of_ones_own_and_json(work):
    done = work("selftest", "small.yaml", "--quiet", "--json", "--out", "s", "--only", "llama*", "--worker", stub(*QUIET), "--pairs", "3,5")
    assert done.code == OK and done.json["suite"] == "small" and "llama" in done.json["planted"]["cell"], done
    assert_valid("selftest", done.json)


def test_a_gate_that_sleeps(work):
    done, checks = selftest(work, "--plant", "0.01")
    assert done.code == REGRESSION and checks["a planted slowdown"]["outcome"] == "wrong", done
    assert "the gate passed it" in done.out and "no verdict of this machine can be believed" in done.out


def test_a_gate_that_cries_wolf(work):
    slow = work.write("slow.sh", f'#!/bin/sh\ncase "$STEPGAUGE_RECORD" in */head/*) exec {STUB} --noise 0.5% --seed-from-launch '
                                 f'--slow-if "llama*:900" "$@";; esac\nexec {STUB} --noise 0.5% --seed-from-launch "$@"\n')
    (work.path / slow).chmod(0o755)
    done, checks = selftest(work, worker="./slow.sh")
    assert done.code == REGRESSION, done
    assert checks["the same program twice"]["found"] == 1 and "llama" in checks["the same program twice"]["reason"]
    assert "not slowed is among them" in checks["a planted slowdown"]["reason"]


@pytest.mark.parametrize("worker", [stub("--noise", "25%", "--seed-from-launch"), stub("--mode", "die")])
def test_a_machine_that_cannot_tell(work, worker):
    done, checks = selftest(work, "small.yaml", worker=worker)
    assert done.code == FAILED and checks["the same program twice"]["outcome"] == "not_measured", done
    assert checks["head emptied"]["outcome"] == "as_expected"


def test_bad_input(work):
    work.write("full", "")
    (work.path / "taken").mkdir()
    (work.path / "taken/file").write_text("")
    for arguments, words in ((("nowhere.yaml",), "nowhere.yaml"), (("small.yaml", "--only", "lama*"), "nearest"), (("--out", "taken"), "not empty"),
                             (("--worker", "x=y"), "no worker \"x\""), (("--plant", "-1"), "--plant"), (("small.yaml", "--pairs", "1,2"), "--pairs")):
        done = work("selftest", "--quiet", *(() if "--out" in arguments else ("--out", f"new{len(words)}")), *arguments)
        assert done.code == USAGE and words in done.err, (arguments, done)


def test_interrupted(work):
    process = work.start("selftest", "--out", "s", "--quiet", "--worker", stub("--mode", "sleep", "--sleep-s", "0.5"))
    wait_for(lambda: list(work.path.glob("s/same/*/records.jsonl")), "the first gate", 20)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert process.returncode == FAILED and "interrupted" in out and work.left_running() == [], (out, err)
