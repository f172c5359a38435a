"""Calibrate and plan from outside, with the stub worker."""

import re
import signal

import pytest
from conftest import (FAILED, INCONCLUSIVE, NOT_COMPARABLE, OK, SMALL, USAGE, Done, Workspace, assert_valid, strict_json, stub,
                      wait_for)

NOISE = ("--noise", "0.5%", "--seed-from-launch")
LOUD = "resnet18.image32.width8.b4/eager/fp32/cpu.ddp1"


def calibrate(work: Workspace, out: str, *options: str, more: tuple = (), noise: tuple = NOISE) -> Done:
    return work("calibrate", "small.yaml", "--quiet", "--out", out, "--baselines", "bl", "--worker", stub(*noise, *options), *more)


def plan(work: Workspace, *more: str) -> Done:
    return work("plan", "small.yaml", "--baselines", "bl", *more)


def lines(work: Workspace) -> list[dict]:
    (path,) = (work.path / "bl").glob("*/small.calibration.jsonl")
    found = [strict_json(line) for line in path.read_text().splitlines()]
    for line in found:
        assert_valid("calibration", line)
    return found


def row(document: dict, metric: str, cell: str = LOUD) -> dict:
    (found,) = [row for row in document["rows"] if row["metric"] == metric and row["cell"].startswith(cell)]
    return found


def test_a_session_is_kept_with_its_values(work):
    done = calibrate(work, "c", more=("--json",))
    assert done.code == OK, done
    assert_valid("plan", done.json)
    work.assert_files_valid("c")
    (line,) = lines(work)
    made = work.records("c")
    assert [record["launch"] for record in made if "warm_up" in record] == [0] * 4, "each cell is launched once before, which does not count"
    records = [record for record in made if "warm_up" not in record]
    assert len(records) == 48 and line["source"] == "c" and line["fingerprint"]["cpu"]
    for cell in line["cells"]:
        own = [record for record in records if record["cell"]["id"] == cell["id"]]
        assert [launch["values"]["throughput"] for launch in cell["launches"]] == [r["metrics"]["throughput"]["value"] for r in own]
        assert cell["statuses"] == {"ok": 12}
    assert [record["launch"] for record in records] == [launch for launch in range(12) for _ in range(4)], "not round-robin"
    found = row(done.json, "throughput")
    assert found["gateable"] and 0.002 < found["spread"] < 0.015 and found["sigma_step"] > 0 and found["needed"]["screen"] == 5
    assert row(done.json, "peak_memory")["exact"]


def test_the_table(work):
    done = calibrate(work, "c")
    assert done.code == OK and "16 of 16 rows in 4 cells: 16 gateable" in done.out and "s_d %" in done.out, done
    assert all(len(line) <= 100 for line in done.out.splitlines())
    planned = plan(work)
    assert planned.code == OK and "found" in planned.out and all(len(line) <= 100 for line in planned.out.splitlines()), planned


def test_noise_that_cannot_be_gated_is_said(work):
    done = calibrate(work, "c", noise=("--noise", "8%", "--seed-from-launch"))
    assert done.code == OK and "not gateable" in done.out and "gateable from a tolerance of" in done.out, done
    planned = plan(work)
    assert planned.code == INCONCLUSIVE and "out of reach" in planned.out, planned
    wide = plan(work, "--tolerance", "throughput=40%", "--json")
    assert wide.code == OK and row(wide.json, "throughput")["tolerance"] == 0.4, wide
    gate = work("gate", "small.yaml", "--out", "g", "--pairs", "3,5", "--baselines", "bl", "--budget", "1s", "--base",
                "worker:" + stub(*NOISE), "--head", "self", "--only", f"{LOUD}*")
    before = gate.err[:gate.err.find("pair 1")] if "pair 1" in gate.err else gate.err
    assert "cannot be gated here with 5 new pairs" in before and LOUD in before, gate


def test_plan_answers_for_given_pairs(work):
    assert calibrate(work, "c", noise=("--noise", "2%", "--seed-from-launch")).code == OK
    few, many = (plan(work, "--pairs", pairs, "--json") for pairs in ("3,5", "30,30"))
    assert_valid("plan", few.json)
    assert few.code == INCONCLUSIVE and row(few.json, "throughput")["power"] < row(many.json, "throughput")["power"]
    strict = plan(work, "--suspected", "8", "--json")
    assert strict.json["gate"]["family"] == 8 and row(strict.json, "throughput")["mde"] > row(plan(work, "--json").json, "throughput")["mde"]


def test_plan_without_calibration(work):
    done = plan(work)
    assert done.code == NOT_COMPARABLE and "`stepgauge calibrate small.yaml` makes one" in done.err and done.out == "", done
    assert calibrate(work, "c", more=("--only", f"{LOUD}*")).code == OK
    some = plan(work)
    assert some.code == NOT_COMPARABLE and "never calibrated on this machine" in some.out, some
    assert plan(work, "--only", f"{LOUD}*").code == OK
    (path,) = (work.path / "bl").glob("*/*.jsonl")
    path.parent.rename(path.parent.parent / "cpu-another-8c-00000000")
    other = plan(work)
    assert other.code == NOT_COMPARABLE and "cpu-another-8c-00000000" in other.err, other


@pytest.mark.parametrize("more, words", [
    (("--tolerance", "thruput=2%"), "thruput"), (("--tolerance", "2 %%"), "tolerance"), (("--tolerance", "0"), "more than 0"),
    (("--pairs", "5"), "--pairs"), (("--pairs", "5,4"), "sign-flip"), (("--power", "2"), "--power"), (("--suspected", "0"), "--suspected")])
def test_bad_options_of_plan(work, more, words):
    done = plan(work, *more)
    assert done.code == USAGE and words in done.err, done


def test_bad_options_of_calibrate(work):
    few = calibrate(work, "c", more=("--launches", "4"))
    assert few.code == USAGE and not (work.path / "c").exists(), few
    assert calibrate(work, "c", more=("--budget", "soon")).code == USAGE
    assert calibrate(work, "c").code == OK
    assert calibrate(work, "c").code == USAGE, "a run folder was written over"


def test_a_cell_that_fails_leaves_the_others(work):
    done = calibrate(work, "c", "--mode-if", f"{LOUD}*:die")
    assert done.code == FAILED and "5 ok launches are needed" in done.out and LOUD in done.out, done
    (line,) = lines(work)
    assert sorted(len(cell["launches"]) for cell in line["cells"]) == [0, 12, 12, 12]
    planned = plan(work)
    assert planned.code == FAILED, planned
    nothing = calibrate(work, "d", "--mode", "die", more=("--only", "llama*"))
    assert nothing.code == FAILED and "nothing was written" in nothing.err and len(lines(work)) == 1, nothing
    once = calibrate(work, "e", "--mode", "die", "--launch", "3")
    assert once.code == FAILED and "11 ok" in once.out, once


def test_slowed_cells_are_not_calibrated(work):
    work.write("slow.yaml", SMALL.replace("device: cpu", "device: cpu, perturb: {step_percent: 50}"))
    done = work("calibrate", "slow.yaml", "--quiet", "--worker", stub(), "--baselines", "bl")
    assert done.code == FAILED and "perturbed on purpose" in done.err, done


def test_budget_then_resume(work):
    slow = ("--realtime", "--step-ms", "15", "--seed-from-launch", "--noise", "1%")
    done = calibrate(work, "c", noise=slow, more=("--budget", "2s", "--launches", "6", "--only", "llama*"))
    assert done.code == FAILED and "is used up" in done.err and "--resume c" in done.err, done
    assert 0 < len(work.records("c")) < 10
    rest = work("calibrate", "small.yaml", "--quiet", "--resume", "c", "--baselines", "bl", "--worker", stub(*slow), "--only", "llama*")
    assert rest.code == OK, rest
    assert len(work.records("c")) == 14, "two cells, a warm-up of each"
    sessions = {line["session"] for line in lines(work)}
    assert len(sessions) == 1 and [len(cell["launches"]) for cell in lines(work)[-1]["cells"]] == [6, 6]
    again = work("calibrate", "small.yaml", "--resume", "c", "--baselines", "bl", "--only", "llama*")
    assert again.code == OK and "already in" in again.err, again
    assert plan(work, "--only", "llama*", "--json").json["sessions"] == 1, "a session that went on counts twice"


def test_interrupted_writes_nothing(work):
    process = work.start("calibrate", "small.yaml", "--out", "c", "--baselines", "bl", "--worker", stub("--realtime"))
    wait_for(lambda: (work.path / "c/records.jsonl").exists() and (work.path / "c/records.jsonl").read_text(), "a record")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == FAILED and "interrupted" in err and "calibrate small.yaml --resume c" in err
    assert not (work.path / "bl").exists() and not work.left_running()


def test_a_damaged_file_is_named_and_stops_no_gate(work):
    more = ("--only", f"{LOUD}*")
    assert calibrate(work, "c", more=more).code == OK
    (path,) = (work.path / "bl").glob("*/*.jsonl")
    good = path.read_text()
    for bad, words in (("<<<<<<< HEAD\n" + good, ":1"), (good + good.replace('"version":1', '"version":2'), "newer stepgauge"),
                       (good.replace('"count":', '"count":-'), "every line stands on its own")):
        path.write_text(bad)
        done = plan(work, *more)
        assert done.code == USAGE and "small.calibration.jsonl" in done.err and words in done.err, done
    arm = "worker:" + stub(*NOISE)
    gate = work("gate", "small.yaml", "--out", "g", "--pairs", "3,5", "--baselines", "bl", "--base", arm, "--head", arm, *more)
    assert gate.code == OK and "the calibration is not used" in gate.err, gate
    path.write_text(good + '{"schema": "stepg')
    torn = plan(work, *more, "--json")
    assert torn.code == OK and torn.json["sessions"] == 1, torn


def test_two_sessions_give_the_session_effect(work):
    assert calibrate(work, "c").code == OK
    done = calibrate(work, "d", "--seed", "9", "--step-ms", "104", more=("--json",))
    assert done.code == OK and done.json["sessions"] == 2 and len(lines(work)) == 2, done
    found = row(done.json, "throughput")
    assert 0.02 < found["sigma_session"] < 0.04 and found["spread"] < 0.015, found
    assert "s_S %" in work("calibrate", "small.yaml", "--resume", "d", "--quiet", "--baselines", "bl").out


def test_a_gate_is_planned_from_it(work):
    slow = ("--realtime", "--step-ms", "4", "--seed-from-launch", "--noise", "1%")
    assert calibrate(work, "c", noise=slow, more=("--only", "llama*", "--launches", "5")).code == OK
    arm = "worker:" + stub(*slow)
    gate = work("gate", "small.yaml", "--out", "g", "--pairs", "3,5", "--baselines", "bl", "--budget", "1s", "--base", arm, "--head", arm,
                "--only", "llama*")
    assert "from the calibration of" in gate.err and "does not suffice" in gate.err and "on average though nothing changed" in gate.err, gate


def test_a_budget_is_held_against_what_a_confirmation_takes_and_not_against_the_most(work):
    """30 new pairs are the worst case: a warning by them came where the budget was good enough."""
    slow = ("--realtime", "--step-ms", "4", "--seed-from-launch", "--noise", "0.5%")
    assert calibrate(work, "c", noise=slow, more=("--only", "llama*b2/*", "--launches", "6")).code == OK
    arm = "worker:" + stub(*slow)

    def gate(out: str, budget: str, *more: str) -> str:
        done = work("gate", "small.yaml", "--out", out, "--baselines", "bl", "--budget", budget, "--base", arm, "--head", arm, "--only",
                    "llama*b2/*", *more, timeout=120)
        return done.err

    said = gate("g", "1s")
    (plan,) = [line for line in said.splitlines() if "confirming a cell takes" in line]
    assert "3 to 30 more pairs, about " in plan and "for a change of the tolerance (by the calibration)" in plan and " at worst" in plan
    assert "does not suffice (from the calibration" in said and " at worst; what is left over" in said, said
    (screen, expected, worst) = (seconds_of(said, pattern) for pattern in (
        r"the screen takes about (.+?), with", r"with one cell confirmed (.+?), ", r"confirmed .+?, (.+?) at worst"))
    assert screen < expected < worst and (worst - screen) > 3 * (expected - screen), (screen, expected, worst)
    between = gate("h", f"{round((expected + worst) / 2)}s")
    assert "does not suffice" not in between and "suffices for the screen and one cell confirmed as expected" in between, between
    assert f", not at worst, {re.search('confirmed .+?, (.+?) at worst', said)[1]}" in between, between
    assert "suffice" not in gate("i", "10m")
    fixed = gate("j", "1s", "--pairs", "3,5")
    assert "confirming a cell takes 5 more pairs" in fixed and "at worst" not in fixed, fixed


def seconds_of(text: str, pattern: str) -> float:
    """"45 s", "12 min" of what the program says."""
    value, unit = re.search(pattern, text)[1].split()
    return float(value) * {"s": 1, "min": 60, "h": 3600}[unit]
