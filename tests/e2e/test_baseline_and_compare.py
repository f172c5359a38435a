"""Baselines and verdicts: files, exit codes, and what the messages name."""

import json
import shutil
import subprocess

import pytest
from conftest import (FAILED, INCONCLUSIVE, NOT_COMPARABLE, OK, REGRESSION, SMALL, USAGE, Workspace, assert_valid, strict_json)

SLOW = "resnet18.image32.width8.b4/eager/fp32/cpu.ddp1"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Runs a and b of the same speed, slow with one cell 30 % slower, one with a single launch, and a baseline of a."""
    work = Workspace(tmp_path_factory.mktemp("measured"))
    work.write("small.yaml", SMALL)
    noise = ("--noise", "0.5%", "--seed-from-launch")
    six = ("--launches", "6")
    assert work.run("small.yaml", "a", *noise, more=six).code == OK
    assert work.run("small.yaml", "b", *noise, "--seed", "7", more=six).code == OK
    assert work.run("small.yaml", "slow", *noise, "--seed", "5", "--slow-if", f"{SLOW}*:30", more=six).code == OK
    assert work.run("small.yaml", "one", *noise, more=("--launches", "1")).code == OK
    saved = work("baseline", "save", "a", "--baselines", "bl")
    assert saved.code == OK and "saved bl/" in saved.out and "(4 cells)" in saved.out, saved
    return work


def baseline_file(work, root="bl"):
    (path,) = (work.path / root).glob("*/*")
    return path


def edited_run(work, name, change):
    """A copy of run a with a changed run.json."""
    shutil.copytree(work.path / "a", work.path / name, dirs_exist_ok=True)
    info = json.loads((work.path / "a/run.json").read_text())
    change(info)
    (work.path / name / "run.json").write_text(json.dumps(info))
    return name


def test_baseline_file(measured):
    path = baseline_file(measured)
    assert path.name == "small.jsonl" and path.parent.name.startswith("cpu-")
    header, *records = map(strict_json, path.read_text().splitlines())
    assert_valid("baseline", header)
    assert (header["suite"], header["reason"], len(header["cells"]), len(records)) == ("small", "", 4, 24)
    for record in records:
        assert_valid("record", record)
    journal = {(record["cell"]["id"], record["launch"]): record["metrics"] for record in measured.records("a")}
    assert {(record["cell"]["id"], record["launch"]): record["metrics"] for record in records} == journal


def test_show_diff_table(measured):
    listed = measured("baseline", "show", "--baselines", "bl")
    assert listed.code == OK and listed.out.startswith("baseline:small@cpu-") and "4 cells" in listed.out, listed
    shown = measured("baseline", "show", "baseline:small", "--baselines", "bl")
    assert shown.code == OK and "24 of 24 launches ok" in shown.out, shown
    by_name = measured("report", listed.out.split()[0], "--baselines", "bl")
    assert by_name.code == OK and by_name.out == shown.out
    assert measured("baseline", "diff", "b", "--baselines", "bl").code == OK
    slow = measured("baseline", "diff", "slow", "--baselines", "bl")
    assert slow.code == INCONCLUSIVE and SLOW in slow.out and "shows and does not block" in " ".join(slow.out.split()), slow
    table = measured("baseline", "table", "--baselines", "bl")
    assert table.code == OK and table.out.count(f"| {SLOW}-") == 1 and "6/6" in table.out, table
    written = measured("baseline", "table", "baseline:small", "--baselines", "bl", "--out", "tables")
    assert written.code == OK and [path.read_text() for path in (measured.path / "tables").iterdir()] == [table.out]


def test_table_names_the_command_that_measured(measured):
    table = measured("baseline", "table", "--baselines", "bl").out
    (command,) = [line for line in table.splitlines() if line.startswith("- Command:")]
    assert "run small.yaml" in command and "stub-worker" in command, "a reader cannot repeat the measurement"


def test_saving_again_needs_a_reason(measured):
    shutil.copytree(measured.path / "bl", measured.path / "bl2")
    path = baseline_file(measured, "bl2")
    before = path.read_bytes()
    refused = measured("baseline", "save", "slow", "--baselines", "bl2")
    assert refused.code == USAGE and "--accept" in refused.err and "worse by" in refused.out and SLOW in refused.out, refused
    assert path.read_bytes() == before
    blank = measured("baseline", "save", "slow", "--baselines", "bl2", "--accept", "")
    assert blank.code == USAGE and path.read_bytes() == before, blank
    accepted = measured("baseline", "save", "slow", "--baselines", "bl2", "--accept", "driver \"update\", see #12")
    assert accepted.code == OK, accepted
    header = strict_json(path.read_text().splitlines()[0])
    assert header["reason"] == "driver \"update\", see #12" and path.read_bytes() != before
    assert measured("compare", "baseline:small", "slow", "--baselines", "bl2").code == OK
    assert [entry.name for entry in path.parent.iterdir()] == ["small.jsonl"], "a temporary file stayed"


def test_a_failed_run_is_no_baseline(measured):
    assert measured.run("small.yaml", "broken", "--mode", "die").code == FAILED
    saved = measured("baseline", "save", "broken", "--baselines", "bl3")
    assert saved.code == FAILED and "nothing to save" in saved.err, saved
    measured.write("planted.yaml", SMALL.replace("device: cpu", "device: cpu, perturb: {step_percent: 50}"))
    assert measured.run("planted.yaml", "planted").code == OK
    saved = measured("baseline", "save", "planted", "--baselines", "bl3")
    assert saved.code == FAILED and "perturbed on purpose" in saved.err, saved
    assert not (measured.path / "bl3").exists()


def test_same_speed_passes(measured):
    done = measured("compare", "a", "b")
    assert done.code == OK and "nothing worse (exit code 0)" in done.out and "16 of 16 expected rows" in done.out, done
    assert measured("compare", "baseline:small", "b", "--baselines", "bl").code == OK
    assert measured("compare", baseline_file(measured), "b").code == OK
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_slow_cell_is_named(measured):
    done = measured("compare", "a", "slow", "--json")
    assert done.code == REGRESSION, done
    assert_valid("comparison", done.json)
    worse = {(row["cell"].rpartition("-")[0], row["metric"]) for row in done.json["rows"]
             if row["verdict"] == "regressed" and row.get("blocking", True)}
    assert worse == {(SLOW, "throughput")}
    text = measured("compare", "a", "slow").out
    assert "REGRESSED (exit code 1)" in text and SLOW in text
    assert measured("compare", "a", "slow", "--skip", f"{SLOW}*").code == OK
    assert measured("compare", "slow", "a").code == OK, "faster is not worse"


@pytest.mark.parametrize("base, head", [("a", "b"), ("a", "slow"), ("a", "one")])
def test_json_is_valid_and_says_the_exit_code(measured, base, head):
    done = measured("compare", base, head, "--json")
    assert_valid("comparison", done.json)
    assert done.json["exit_code"] == done.code


def test_a_baseline_in_git(measured):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=measured.path, check=True,
                       capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "-f", "bl")
    git("commit", "-q", "-m", "baseline")
    relative = baseline_file(measured).relative_to(measured.path)
    done = measured("compare", f"main:{relative}", "slow")
    assert done.code == INCONCLUSIVE and "1 of 5 sessions" in " ".join(done.out.split()), done
    assert measured("compare", f"nowhere:{relative}", "slow").code in (USAGE, NOT_COMPARABLE)


def test_one_launch_is_inconclusive(measured):
    done = measured("compare", "a", "one")
    assert done.code == INCONCLUSIVE and "inconclusive" in done.out, done
    assert measured("compare", "one", "one").code == INCONCLUSIVE


def test_missing_baseline(measured):
    for source in ("baseline:small", "baseline:nosuch", "baseline:small@nowhere"):
        done = measured("compare", source, "a", "--baselines", "empty")
        assert done.code == NOT_COMPARABLE and "no baseline" in done.err and done.out == "", done
    assert measured("baseline", "show", "--baselines", "empty").code == NOT_COMPARABLE
    assert measured("baseline", "diff", "a", "--baselines", "empty").code == NOT_COMPARABLE
    assert measured("baseline", "table", "--baselines", "empty").code == NOT_COMPARABLE


@pytest.mark.parametrize("side", ["base", "head"])
def test_a_missing_run_folder(measured, side):
    done = measured("compare", *(("nowhere", "a") if side == "base" else ("a", "nowhere")))
    assert done.code not in (OK, REGRESSION) and "nowhere" in done.err, done


def test_another_cpu(measured):
    def change(info):
        info["fingerprint"]["cpu"]["model"] = info["environment"]["cpu"]["model"] = "Another CPU 9000"

    other = edited_run(measured, "other_cpu", change)
    done = measured("compare", "a", other)
    assert done.code == NOT_COMPARABLE and "cpu.model" in done.out + done.err and "Another CPU 9000" in done.out + done.err, done
    assert_valid("comparison", measured("compare", "a", other, "--json").json)
    assert measured("compare", "a", other, "--allow-different-machine").code == OK
    assert measured("compare", "baseline:small", other, "--baselines", "bl").code == NOT_COMPARABLE


def test_another_gpu(measured):
    def change(info, count):
        info["fingerprint"] |= {"gpus": [{"model": "NVIDIA H200", "memory_gib": 141, "count": count}], "links": {}}

    one, two = (edited_run(measured, f"gpu{n}", lambda info, n=n: change(info, n)) for n in (1, 2))
    for base, head in (("a", one), (one, two)):
        done = measured("compare", base, head)
        assert done.code == NOT_COMPARABLE and "gpus" in done.out + done.err, done


def test_nothing_measured_is_no_pass(measured):
    shutil.copytree(measured.path / "a", measured.path / "empty_run")
    (measured.path / "empty_run/records.jsonl").write_text("")
    done = measured("compare", "a", "empty_run")
    assert done.code in (FAILED, NOT_COMPARABLE), done
    assert measured("compare", "empty_run", "empty_run").code in (FAILED, NOT_COMPARABLE)
    assert measured("baseline", "save", "empty_run", "--baselines", "bl4").code == FAILED


def test_cells_on_one_side_only(measured):
    more = ("--launches", "6", "--skip", f"{SLOW}*")
    assert measured.run("small.yaml", "part", "--noise", "0.5%", "--seed-from-launch", more=more).code == OK
    missing = measured("compare", "a", "part")
    assert missing.code == NOT_COMPARABLE and SLOW in missing.out, missing
    new = measured("compare", "part", "a")
    assert new.code == OK and SLOW in new.out, new


def test_a_failed_cell_is_invalid(measured):
    options = ("--mode-if", f"{SLOW}*:die", "--noise", "0.5%", "--seed-from-launch")
    assert measured.run("small.yaml", "died", *options, more=("--launches", "6")).code == FAILED
    done = measured("compare", "a", "died")
    assert done.code == FAILED and SLOW in done.out and "crashed" in done.out, done
