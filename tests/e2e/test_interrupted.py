"""Ctrl-C, SIGKILL and a torn journal: nothing left running, at most the running launch lost, and the run goes on."""

import signal
import subprocess

import pytest
from conftest import FAILED, OK, USAGE, strict_json, stub, wait_for

SLEEPY = ("--mode", "sleep", "--sleep-s", "0.3")


def test_left_running_sees_a_process_that_hides(work):
    hidden = subprocess.Popen(["/bin/sleep", "1000"], cwd=work.path, env={}, start_new_session=True)
    elsewhere = subprocess.Popen(["/bin/sleep", "1000"], cwd="/", env={"X": f"{work.path}/a"}, start_new_session=True)
    try:
        wait_for(lambda: len(work.left_running()) == 2, "both to be seen")
    finally:
        for process in (hidden, elsewhere):
            process.kill()
            process.wait()
    assert work.left_running() == []


def journal_lines(work, out="a") -> int:
    path = work.path / out / "records.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def start_and_wait(work, *options):
    process = work.start("run", "small.yaml", "--quiet", "--out", "a", "--worker", stub(*options))
    wait_for(lambda: journal_lines(work) >= 2, "two records")
    wait_for(lambda: any("stub-worker" in line for line in work.left_running()), "a running rank")
    return process


def assert_resumes(work, interrupted_at: int):
    resumed = work("run", "small.yaml", "--quiet", "--resume", "a")
    assert resumed.code == OK and "8 of 8 launches ok" in resumed.out, resumed
    records = work.records("a")
    assert len({(record["cell"]["id"], record["launch"]) for record in records}) == len(records) == 8
    assert interrupted_at < 8
    work.assert_files_valid("a")
    assert work.left_running() == []


@pytest.mark.parametrize("name, options", [("SIGINT", SLEEPY), ("SIGTERM", SLEEPY)])
def test_interrupt_and_resume(work, name, options):
    process = start_and_wait(work, *options)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=15)
    assert work.left_running() == []
    assert process.returncode == FAILED and "interrupted" in err and "--resume a" in err, (process.returncode, out, err)
    done = journal_lines(work)
    assert 2 <= done < 8 and {record["status"] for record in work.records("a")} == {"ok"}, "the interrupted launch is no result"
    assert_resumes(work, done)


def test_interrupt_ends_what_ignores_sigterm(work):
    work.write("small.yaml", (work.path / "small.yaml").read_text() + "limits: {grace: 300ms}\n")
    process = start_and_wait(work, "--mode-if", "*18*.b2/*:ignore-term", "--mode-if", "llama*:daemon-ignore-term")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert process.returncode == FAILED and work.left_running() == [], err


def test_sigkill_and_resume(work):
    process = start_and_wait(work, *SLEEPY)
    process.kill()
    process.communicate(timeout=15)
    wait_for(lambda: work.left_running() == [], "the ranks to go with their harness", 5)
    assert_resumes(work, journal_lines(work))


@pytest.mark.parametrize("cut", [1, 40, 2000])
def test_torn_last_line(work, cut):
    assert work.run("small.yaml", "a").code == OK
    path = work.path / "a/records.jsonl"
    last = path.read_bytes().splitlines(keepends=True)[-1]
    path.write_bytes(path.read_bytes()[:-min(cut, len(last) - 1)])
    resumed = work("run", "small.yaml", "--quiet", "--resume", "a")
    assert resumed.code == OK, resumed
    records = work.records("a")
    assert len({(record["cell"]["id"], record["launch"]) for record in records}) == len(records) == 8
    if cut > 1:  # without its last byte, the newline, a record is still whole
        assert "torn" in resumed.err and (path.parent / "records.jsonl.torn").exists()
        assert strict_json(path.read_text().splitlines()[-1])["attempt"] == 2


def test_resume_of_a_complete_run_launches_nothing(work):
    assert work.run("small.yaml", "a").code == OK
    before = (work.path / "a/records.jsonl").read_bytes()
    resumed = work("run", "small.yaml", "--quiet", "--resume", "a")
    assert resumed.code == OK and (work.path / "a/records.jsonl").read_bytes() == before, resumed


def test_a_damaged_middle_line_is_named(work):
    assert work.run("small.yaml", "a").code == OK
    path = work.path / "a/records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1][:50] + "\n", *lines[2:]]))
    for arguments in (("run", "small.yaml", "--quiet", "--resume", "a"), ("report", "a"), ("baseline", "save", "a", "--baselines", "bl")):
        done = work(*arguments)
        assert done.code in (USAGE, FAILED) and "records.jsonl" in done.err and "2" in done.err, done
    assert path.read_text().splitlines(keepends=True)[2:] == lines[2:]


def test_resume_refusals(work):
    assert work("run", "small.yaml", "--resume", "nowhere").code == USAGE
    assert work.run("small.yaml", "a").code == OK
    work.write("small.yaml", (work.path / "small.yaml").read_text().replace("batch: [2, 4]", "batch: [2, 8]"))
    changed = work("run", "small.yaml", "--quiet", "--resume", "a")
    assert changed.code == USAGE and "changed" in changed.err, changed


def test_two_runs_in_one_folder(work):
    process = start_and_wait(work, *SLEEPY)
    try:
        for how in ("--out", "--resume"):
            second = work("run", "small.yaml", "--quiet", how, "a", "--worker", stub())
            assert second.code == USAGE and "a" in second.err, second
    finally:
        out, err = process.communicate(timeout=30)
    assert process.returncode == OK, (out, err)  # the first one is not disturbed
    assert len(work.records("a")) == 8
