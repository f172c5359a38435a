"""The gate from outside: two arms of the stub worker, every exit code, and what a team would lose when one of them lies."""

import json
import re
import signal
import stat

import pytest
from conftest import (BIN, FAILED, INCONCLUSIVE, NOT_COMPARABLE, OK, REGRESSION, STUB, USAGE, Done, Workspace, assert_valid, strict_json,
                      stub, wait_for)

NOISE = ("--noise", "0.5%", "--seed-from-launch")
SLOW = "resnet18.image32.width8.b4/eager/fp32/cpu.ddp1"


def arm(*options: str) -> str:
    return "worker:" + stub(*NOISE, *options)


def gate(work: Workspace, out: str, base: str | None = None, head: str | None = None, *more, pairs: str = "3,5", **keywords) -> Done:
    return work("gate", "small.yaml", "--quiet", "--out", out, "--pairs", pairs, "--base", base or arm(),
                "--head", head or arm("--seed", "7"), *more, **keywords)


def document(work: Workspace, out: str) -> dict:
    value = strict_json((work.path / out / "gate.json").read_text())
    assert_valid("gate", value)
    for name in ("base", "head"):
        work.assert_files_valid(f"{out}/{name}")
    return value


def rows(value: dict, verdict: str) -> set:
    return {(row["cell"].rpartition("-")[0], row["metric"]) for row in value["rows"] if row["verdict"] == verdict}


def places(work: Workspace, out: str) -> list[dict]:
    """Where each launch of both arms stands in the gate, in the order in which they were made."""
    records = work.records(f"{out}/base") + work.records(f"{out}/head")
    found = [{**record["gate"], "warm_up": "warm_up" in record, "cell": record["cell"]["id"].rpartition("-")[0]} for record in records]
    return sorted(found, key=lambda place: (place["pair"], place["cell"], place["try"], place["position"]))


def test_the_same_program_twice_passes(work):
    done = gate(work, "g")
    assert done.code == OK and "nothing worse (exit code 0)" in done.out and "16 of 16 expected rows in 4 of 4 cells" in done.out, done
    assert all(len(line) <= 100 for line in done.out.splitlines())
    value = document(work, "g")
    assert (value["exit_code"], value["counts"]["passed"], value["attempts"]) == (0, 16, 1)
    assert all(row["mde"] is not None for row in value["rows"]), "a verdict does not say what it could have seen"
    assert value["base"]["launches"] == value["head"]["launches"] == {"ok": 12, "failed": 0, "outside": 0}
    assert len(places(work, "g")) == 24, "a cell without suspicion was measured again"


def test_a_planted_slowdown_blocks_exactly_its_cell(work):
    done = gate(work, "g", head=arm("--seed", "7", "--slow-if", f"{SLOW}*:8"))
    assert done.code == REGRESSION and "REGRESSED (exit code 1)" in done.out, done
    value = document(work, "g")
    assert rows(value, "regressed") == {(SLOW, "throughput")}
    (row,) = [row for row in value["rows"] if row["verdict"] == "regressed"]
    assert (row["stage"], row["pairs"], row["suspicion"]) == ("confirm", 5, "worse")
    assert row["ci_lower"] < 1 / 1.08 - 1 < row["ci_upper"] < 0
    assert {place["cell"] for place in places(work, "g") if place["stage"] == "confirm"} == {SLOW}
    assert [place["pair"] for place in places(work, "g") if place["stage"] == "confirm"] == [3, 3, 4, 4, 5, 5, 6, 6, 7, 7]


def test_faster_is_told_and_never_blocks(work):
    done = gate(work, "g", base=arm("--seed", "7", "--slow-if", f"{SLOW}*:8"), head=arm())
    assert done.code == OK, done
    assert rows(document(work, "g"), "improved") == {(SLOW, "throughput")} and "new baseline" in done.out


def test_every_other_command_reads_the_arms(work):
    assert gate(work, "g", head=arm("--seed", "7", "--slow-if", f"{SLOW}*:30")).code == REGRESSION
    compared = work("compare", "g/base", "g/head")
    assert compared.code == REGRESSION and SLOW in compared.out, compared
    assert work("report", "g/head").code == OK
    (work.path / "g/gate.json").unlink()
    whole = work("report", "g")
    assert whole.code == USAGE and "g/base and g/head" in whole.err and "--resume g" in whole.err, whole


def test_settings_and_variables_as_arms(work):
    done = work("gate", "small.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--worker", stub(*NOISE, "--dump-environment"),
                "--base", "self", "--head", "set:perturb.step_percent=8%", "--head", "env:OMP_NUM_THREADS=3,NCCL_ALGO=Ring,Tree")
    assert done.code == REGRESSION and "PERTURBED" in done.out, done
    value = document(work, "g")
    assert {metric for _, metric in rows(value, "regressed")} == {"throughput"} and value["counts"]["regressed"] == 4
    changed = {item["field"]: item["head"] for item in value["software_differences"]}
    assert (changed["OMP_NUM_THREADS"], changed["NCCL_ALGO"]) == ("3", "Ring,Tree")


def test_settings_of_one_cell_alone(work):
    done = work("gate", "small.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--worker", stub(*NOISE), "--base", "self",
                "--head", "set:perturb.step_percent=8%", "--head", f"at:{SLOW}")
    assert done.code == REGRESSION, done
    value = document(work, "g")
    (row,) = [row for row in value["rows"] if row["verdict"] == "regressed"]
    assert row["base_cell"].rpartition("-")[0] == SLOW and row["metric"] == "throughput" and row["perturbed"]
    assert sum(row["perturbed"] for row in value["rows"]) == 4, "the other cells are not as they were"
    merged = work("gate", "small.yaml", "--quiet", "--out", "m", "--pairs", "3,5", "--worker", stub(*NOISE), "--base", "self",
                  "--head", "set:batch=4", "--head", "at:*18*b2/*")
    assert merged.code == NOT_COMPARABLE and "another cell is the same there" in merged.out, merged


def test_a_build_folder_as_an_arm(work):
    for name, options in (("main", ""), ("change", f'--slow-if "{SLOW}*:9"')):
        program = work.path / name / "bin" / "stepgauge-worker"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {STUB} --noise 0.5% --seed-from-launch {options} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = gate(work, "g", "main", "change")
    assert done.code == REGRESSION and rows(document(work, "g"), "regressed") == {(SLOW, "throughput")}, done


@pytest.mark.parametrize("form, words", [
    ("nowhere/build", "no such file"), ("container:", "the image is missing"), ("set:measure.steps=5", "both arms share"),
    ("set:precison=bf16", "precision"), ("set:precision", "KEY=VALUE"), ("env:LD_PRELOAD=x", "LD_"), ("env:x", "NAME=VALUE"),
    ("at:*", "no set:"), ("small.yaml", "no program"), ("worker:", "empty")])
def test_arms_that_cannot_be(work, form, words):
    done = gate(work, "g", head=form)
    assert done.code == USAGE and words in done.err and not (work.path / "g").exists(), done


def test_a_head_that_crashes_in_a_third_of_its_launches_is_worse(work):
    crashing = work.write("crash.sh", f'#!/bin/sh\ncase "$STEPGAUGE_LAUNCH" in 1|2|4|7) exec {STUB} --mode-if "{SLOW}*:abort" "$@";; esac\n'
                                      f'exec {STUB} "$@"\n')
    (work.path / crashing).chmod(0o755)
    done = gate(work, "g", arm(), f"./{crashing}")
    assert done.code == REGRESSION, done
    value = document(work, "g")
    assert rows(value, "regressed") == {(SLOW, "launches")}
    (row,) = [row for row in value["rows"] if row["metric"] == "launches"]
    assert row["stage"] == "confirm" and "2 of 5 launches failed" in row["reason"] and "base: none" in row["reason"], row


def test_a_head_that_never_works_is_worse(work):
    done = gate(work, "g", head=arm("--mode-if", f"{SLOW}*:segv"))
    assert done.code == REGRESSION and (SLOW, "launches") in rows(document(work, "g"), "regressed"), done
    assert len(places(work, "g")) == 24, "what never works needs no confirmation"


def test_a_single_crash_is_invalid(work):
    done = gate(work, "g", head=arm("--mode-if", f"{SLOW}*:abort", "--launch", "1"))
    assert done.code == FAILED and rows(document(work, "g"), "invalid") == {(SLOW, "launches")}, done


def test_nothing_measured(work):
    broken = arm("--mode", "die")
    done = gate(work, "g", broken, broken)
    assert done.code == FAILED and document(work, "g")["counts"]["compared"] == 0, done


def test_a_pair_that_is_spoilt_each_time_is_invalid(work):
    done = gate(work, "g", head=arm("--mode-if", f"{SLOW}*:disturbed"))
    assert done.code == FAILED, done
    value = document(work, "g")
    assert {cell for cell, _ in rows(value, "invalid")} == {SLOW} and value["spoilt_pairs"] == 4
    assert "in each of 4 tries" in done.out and len([place for place in places(work, "g") if place["cell"] == SLOW]) == 8


def test_a_spoilt_pair_is_made_again(work):
    done = gate(work, "g", head=arm("--mode-if", f"{SLOW}*:disturbed", "--once", str(work.path / "once")))
    assert done.code == OK and document(work, "g")["spoilt_pairs"] == 1, done
    assert [place["try"] for place in places(work, "g") if place["cell"] == SLOW and place["pair"] == 0] == [1, 1, 2, 2]


def test_noise_beyond_the_tolerance_is_not_gateable(work):
    done = gate(work, "g", "worker:" + stub("--noise", "25%", "--seed-from-launch"),
                "worker:" + stub("--noise", "25%", "--seed-from-launch", "--seed", "3"))
    assert done.code == INCONCLUSIVE and document(work, "g")["counts"]["not_gateable"] > 0 and "not gateable" in done.out, done


def test_cells_of_one_arm_only(work):
    done = work("gate", "small.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--worker", stub(), "--base", "self", "--head",
                "set:batch=4")
    assert done.code == NOT_COMPARABLE, done
    value = document(work, "g")
    assert value["counts"]["missing"] == 2 and all("not in head" in row["reason"] for row in value["rows"] if row["verdict"] == "missing")
    none = work("gate", "small.yaml", "--quiet", "--out", "n", "--worker", stub(), "--base", "self", "--head", "set:compile=cuda_graph")
    assert none.code == NOT_COMPARABLE and "0 of 4 expected rows" in none.out, none


def test_a_metric_of_one_arm_only(work):
    work.write("head.sh", f"#!/bin/sh\n{STUB} \"$@\" && sed -i 's/\"allocated_mib\":[0-9.]*/\"allocated_mib\":null/g' $STEPGAUGE_RECORD\n")
    (work.path / "head.sh").chmod(0o755)
    done = gate(work, "g", head="./head.sh")
    assert done.code == NOT_COMPARABLE and {metric for _, metric in rows(document(work, "g"), "missing")} == {"peak_memory"}, done


def test_the_seed_decides_the_order(work):
    for out, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        assert gate(work, out, arm(), arm("--seed", "7"), "--seed", seed).code == OK
        value = document(work, out)
        assert value["seed"] == int(seed) and f"seed {seed}" in work("gate", "small.yaml", "--quiet", "--resume", out).out
    order = {out: [(place["cell"], place["pair"], place["arm"], place["position"]) for place in places(work, out)] for out in "abc"}
    assert order["a"] == order["b"] != order["c"]
    for cell in {place["cell"] for place in places(work, "a")}:
        first = [place["arm"] for place in places(work, "a") if place["cell"] == cell and place["position"] == 0]
        assert first in (["base", "head", "base"], ["head", "base", "head"]), "the order within pairs does not alternate"


def start(work: Workspace, *more: str):
    sleepy = ("--mode", "sleep", "--sleep-s", "0.2")
    return work.start("gate", "small.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--base", arm(*sleepy), "--head",
                      arm(*sleepy, "--seed", "7", "--slow-if", f"{SLOW}*:8"), *more)


def lines(work: Workspace) -> int:
    return sum(path.read_bytes().count(b"\n") for path in work.path.glob("g/*/records.jsonl"))


@pytest.mark.parametrize("after", [5, 26])  # in the screen, in the confirmation
def test_interrupt_and_resume(work, after):
    process = start(work)
    wait_for(lambda: lines(work) >= after, f"{after} records", 30)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=15)
    assert process.returncode == FAILED and "interrupted" in err and "--resume g" in err and work.left_running() == [], (out, err)
    before = lines(work)
    assert before < 34 and document(work, "g")["interrupted"]
    resumed = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert resumed.code == REGRESSION and "attempt 2" in resumed.out, resumed
    value = document(work, "g")
    assert rows(value, "regressed") == {(SLOW, "throughput")} and value["attempts"] == 2
    assert 34 <= lines(work) <= 35, "more than the pair that was interrupted was made again"


def test_sigkill_and_resume(work):
    process = start(work)
    wait_for(lambda: lines(work) >= 4, "four records", 30)
    second = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert second.code == USAGE and "another run works" in second.err, second
    process.kill()
    process.communicate(timeout=15)
    wait_for(lambda: work.left_running() == [], "the ranks to go with their harness", 5)
    resumed = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert resumed.code == REGRESSION and rows(document(work, "g"), "regressed") == {(SLOW, "throughput")}, resumed


def test_a_complete_gate_is_not_measured_again(work):
    assert gate(work, "g").code == OK
    before = lines(work)
    again = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert again.code == OK and lines(work) == before and "attempt 1" in again.out, "a verdict must not be rolled again"
    assert gate(work, "g").code == USAGE


def test_a_suite_edited_meanwhile(work):
    process = start(work)
    wait_for(lambda: lines(work) >= 3, "three records")
    edited = (work.path / "small.yaml").read_text().replace("steps: 20", "steps: 21")
    work.write("small.yaml", edited)
    out, err = process.communicate(timeout=40)
    assert process.returncode == USAGE and "has changed" in err, (out, err)
    resumed = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert resumed.code == USAGE and "changed" in resumed.err, resumed


def test_an_extended_suite_edited_meanwhile(work):
    work.write("top.yaml", "stepgauge: 1\nname: top\nextends: small.yaml\n")
    arms = ("--base", arm(), "--head", arm("--seed", "7"))
    assert work("gate", "top.yaml", "--quiet", "--out", "g", "--pairs", "3,5", *arms).code == OK
    work.write("small.yaml", (work.path / "small.yaml").read_text().replace("steps: 20", "steps: 21"))
    done = work("gate", "top.yaml", "--quiet", "--resume", "g")
    assert done.code == USAGE and "extends" in done.err, done


def test_resume_refuses_another_question(work):
    assert gate(work, "g").code == OK
    for more in (("--head", "self"), ("--seed", "1"), ("--pairs", "4,5")):
        done = work("gate", "small.yaml", "--resume", "g", *more)
        assert done.code == USAGE and more[0] in done.err, done
    assert work("gate", "small.yaml", "--resume", "nowhere").code == USAGE
    assert work("gate", "small.yaml", "--pairs", "3,4", "--base", "self", "--head", "self").code == USAGE
    assert work("gate", "small.yaml", "--base", "self").code == USAGE


def test_a_budget_that_does_not_suffice(work):
    process = start(work, "--budget", "4s")
    out, err = process.communicate(timeout=30)
    assert process.returncode == INCONCLUSIVE, (out, err)
    assert "does not suffice" in err and "--budget" in err and "first pair of each cell" in err and "is used up" in err, err
    value = document(work, "g")
    assert value["budget_s"] == 4 and value["counts"]["inconclusive"] > 0 and value["elapsed_s"] < 8
    finished = work("gate", "small.yaml", "--resume", "g", "--budget", "10m")
    assert finished.code == REGRESSION, "a gate that was cut short can be gone on with"
    left = re.search(r"3 pairs of each: about (\d+) s for what is missing", finished.err)
    whole = re.search(r"by the first pair of each cell\): the screen takes about (\d+) s", err)
    assert left and whole and int(left[1]) < int(whole[1]), "pairs that were made already are planned again"


FAKE_NVML = BIN / "fake-nvml.so"


@pytest.mark.skipif(not FAKE_NVML.exists(), reason="the fake driver is not built")
def test_clocks_that_changed_between_the_arms(work):
    healthy = {"name": "Fake H200", "uuid": "GPU-f0", "memory_mib": 143771, "memory_used_mib": 600, "sm_mhz": 1980, "sm_max_mhz": 1980,
               "memory_mhz": 3201, "power_w": 312, "temperature_c": 41, "throttle": 0, "ecc_uncorrected": 0, "processes": [], "xids": []}
    work.write("gpu.yaml", "stepgauge: 1\nname: gpu\ndefaults: {device: cuda, workload: llama.tiny}\naxes:\n  batch: [2]\nmeasure: {steps: 20}\n")
    for name, clock in (("base", 1980), ("head", 1500)):
        work.write(f"{name}.json", json.dumps({"devices": [{**healthy, "sm_mhz": clock}]}))
        work.write(f"{name}.sh", f'#!/bin/sh\ncp {work.path}/{name}.json {work.path}/new.json\nmv {work.path}/new.json {work.path}/nvml.json\n'
                                 f'exec {STUB} --realtime --step-ms 20 "$@"\n')
        (work.path / f"{name}.sh").chmod(0o755)
    (work.path / "nvml.json").write_text((work.path / "base.json").read_text())
    env = {"STEPGAUGE_NVML_LIBRARY": str(FAKE_NVML), "STEPGAUGE_FAKE_NVML": str(work.path / "nvml.json")}
    done = work("gate", "gpu.yaml", "--quiet", "--out", "g", "--pairs", "2,5", "--base", "./base.sh", "--head", "./head.sh", env=env)
    assert done.code == FAILED and "SM clock 1980 MHz in base, 1500 MHz in head" in done.out, done
    assert document(work, "g")["spoilt_pairs"] == 4


def free_gate(work: Workspace, out: str, head: str, *more, **keywords) -> Done:
    """Without --pairs: as many new pairs as it takes."""
    return work("gate", "small.yaml", "--quiet", "--out", out, "--base", arm(), "--head", head, *more, **keywords)


def test_the_design_that_stops_early(work):
    done = free_gate(work, "g", arm("--seed", "7", "--slow-if", f"{SLOW}*:8"))
    assert done.code == REGRESSION and "sequential design: a warm-up" in done.out and "3 to 30 new ones" in " ".join(done.out.split()), done
    value = document(work, "g")
    assert rows(value, "regressed") == {(SLOW, "throughput")}
    assert value["design"]["name"] == "sequential" and value["design"]["looks"][0] == {"pairs": 3, "alpha_share": 0}
    (row,) = [row for row in value["rows"] if row["verdict"] == "regressed"]
    assert (row["pairs"], row["looks"]) == (5, 2), "what is clear after five new pairs was measured further"
    made = {}
    for place in places(work, "g"):
        made.setdefault(place["cell"], set()).add(place["pair"])
    assert made[SLOW] == set(range(10)) and all(len(pairs) <= 8 for cell, pairs in made.items() if cell != SLOW), made


COLD = """#!/bin/sh
cell=$(basename "$(dirname "$STEPGAUGE_RECORD")" | sed 's/-l[0-9]*a[0-9]*$//')
if mkdir "$0.$cell" 2>/dev/null; then exec {stub} --noise 0.5% --seed-from-launch --slow-if '*:300' "$@"; fi
exec {stub} --noise 0.5% --seed-from-launch "$@"
"""


def test_the_first_launch_of_a_cell_on_a_cold_machine_is_nobodys(work):
    for out, more in (("free", ()), ("fixed", ("--pairs", "5,15"))):
        (work.path / work.write(f"{out}.sh", COLD.format(stub=STUB))).chmod(0o755)
        done = work("gate", "small.yaml", "--quiet", "--out", out, "--worker", f"./{out}.sh", "--base", "self", "--head", "self", *more)
        assert done.code == OK, done
    warm_up = [place for place in places(work, "free") if place["warm_up"]]
    assert len(warm_up) == 4 and all(place["pair"] == 0 and place["try"] == 1 for place in warm_up), "one launch of each cell, both arms are one program"
    value = document(work, "free")
    assert value["base"]["launches"]["ok"] + value["head"]["launches"]["ok"] == 40 and value["design"]["warm_up"]
    assert work("compare", "free/base", "free/head").code in (OK, INCONCLUSIVE), "a launch that is not judged is in the arm's numbers"
    cold = places(work, "fixed")
    assert len(cold) > 40 and {place["stage"] for place in cold} == {"screen", "confirm"}, "the first pair raised no suspicion: nothing is shown"


def test_arms_of_two_programs_are_both_warmed_up(work):
    assert free_gate(work, "g", arm("--seed", "7")).code == OK
    found = [place for place in places(work, "g") if place["warm_up"]]
    assert [place["arm"] for place in found].count("head") == [place["arm"] for place in found].count("base") == 4


def test_pairs_fix_the_design(work):
    assert gate(work, "g", head=arm("--seed", "7", "--slow-if", f"{SLOW}*:8"), pairs="3,7").code == REGRESSION
    value = document(work, "g")
    assert value["design"] == {"name": "fixed", "warm_up": False, "screen_signs": False, "looks": [{"pairs": 7, "alpha_share": 1}]}
    (row,) = [row for row in value["rows"] if row["verdict"] == "regressed"]
    assert (row["pairs"], row["looks"]) == (7, 1)


def test_the_design_is_kept_on_resume(work):
    process = work.start("gate", "small.yaml", "--quiet", "--out", "g", "--base", arm("--mode", "sleep", "--sleep-s", "0.1"), "--head",
                         arm("--mode", "sleep", "--sleep-s", "0.1", "--seed", "7", "--slow-if", f"{SLOW}*:8"))
    wait_for(lambda: lines(work) >= 52, "52 records: within the confirmation", 40)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=15) == FAILED
    assert document(work, "g")["design"]["name"] == "sequential"
    refused = work("gate", "small.yaml", "--quiet", "--resume", "g", "--pairs", "5,30")
    assert refused.code == USAGE and "--pairs" in refused.err, refused
    resumed = work("gate", "small.yaml", "--quiet", "--resume", "g")
    value = document(work, "g")
    assert resumed.code == REGRESSION and value["attempts"] == 2, resumed
    assert [(row["pairs"], row["looks"]) for row in value["rows"] if row["verdict"] == "regressed"] == [(5, 2)]


def edit_setup(work: Workspace, out: str, change) -> None:
    for name in ("base", "head"):
        path = work.path / out / name / "run.json"
        value = json.loads(path.read_text())
        change(value["gate"])
        path.write_text(json.dumps(value))


def test_gates_of_other_versions(work):
    assert gate(work, "g").code == OK
    edit_setup(work, "g", lambda setup: setup.pop("design"))  # begun before there was a choice
    assert work("gate", "small.yaml", "--quiet", "--resume", "g").code == OK and document(work, "g")["design"]["name"] == "fixed"
    edit_setup(work, "g", lambda setup: setup.update(design="adaptive"))
    unknown = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert unknown.code == USAGE and '"adaptive"' in unknown.err, unknown
    edit_setup(work, "g", lambda setup: setup.update(design="sequential"))
    other = work("gate", "small.yaml", "--quiet", "--resume", "g")
    assert other.code == USAGE and "up to 5 new pairs" in other.err, other
