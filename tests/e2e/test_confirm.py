"""Alarms of a history, measured side by side: nights whose commits are those of a repository with stub workers."""

import shutil
import signal

import pytest
from conftest import FAILED, INCONCLUSIVE, NOT_COMPARABLE, OK, REGRESSION, USAGE, Done, Workspace, assert_valid, strict_json, wait_for
from test_bisect import git, repository
from test_history import COMMIT, Nights

NIGHTS, CHANGE = 42, 36  # the throughput of both cells is 3 % lower from the second on


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    nights = Nights(tmp_path_factory.mktemp("nights"))
    for night in range(NIGHTS):
        def change(cell, metric, night=night):
            return 0.97 if night >= CHANGE and metric == "throughput" else 1.0
        assert nights.add(f"n{night}", night, change=change).code == OK
    return nights


class History:
    """The measured nights in a folder of a test's own; the nights before the change ran the good commit, the others the bad one."""

    def __init__(self, measured, work: Workspace, good: str, bad: str):
        self.work = work
        shutil.copytree(measured.work.path / "h", work.path / "h")
        shutil.copy(measured.work.path / "nightly.yaml", work.path)
        (self.file,) = (work.path / "h").glob("*/nightly.jsonl")
        text = self.file.read_text()
        for night in range(NIGHTS):
            text = text.replace(f'"{COMMIT.format(night)}"', f'"{good if night < CHANGE else bad}"')
        self.file.write_text(text)

    def arguments(self, *more: str) -> tuple:
        out = () if "--out" in more or "--resume" in more else ("--out", "c")
        return ("history", "confirm", "h", "--suite", "nightly.yaml", "--repo", "repo", "--build", "{source}/build.sh {source} {out}",
                "--quiet", *out, *more)

    def confirm(self, *more: str) -> Done:
        return self.work(*self.arguments(*more), timeout=240)

    def lines(self) -> list[dict]:
        found = [line for line in map(strict_json, self.file.read_text().splitlines()) if line["kind"] == "confirmation"]
        for line in found:
            assert_valid("history", line)
        return found

    def show(self) -> tuple[Done, dict]:
        done = self.work("history", "show", "h", "--json")
        (trend,) = done.json["histories"]
        assert_valid("trend", trend)
        alarms = {row["cell"].split(".")[0]: alarm for row in trend["rows"] if row["metric"] == "throughput" for alarm in row["alarms"]}
        return self.work("history", "show", "h"), alarms


def test_what_is_real_stays_and_what_is_not_no_longer_blocks(measured, work):
    commits = repository(work, ["", "", "--slow-if 'resnet18*:8'"])[::2]
    history = History(measured, work, *commits)
    assert {cell: alarm["blocks"] for cell, alarm in history.show()[1].items()} == {"resnet18": True, "llama": True}
    done = history.confirm("--seed", "4")
    assert done.code == REGRESSION and "verdict: CONFIRMED (exit code 1)" in done.out and "bisect nightly.yaml" in done.err, done
    lines = {line["cell"].split(".")[0]: line for line in history.lines()}
    assert {cell: (line["verdict"], line["pairs"], line["metric"]) for cell, line in lines.items()} == {
        "resnet18": ("confirmed", 15, "throughput"), "llama": ("not confirmed", 15, "throughput")}
    assert [lines["resnet18"][key]["commit"] for key in ("last_good", "first_bad")] == commits
    assert lines["resnet18"]["ci_lower"] < lines["resnet18"]["change"] < lines["resnet18"]["ci_upper"] < -0.05
    assert lines["resnet18"]["folder"] == lines["llama"]["folder"], "one range of commits was measured twice"
    for arm in ("base", "head"):
        work.assert_files_valid(f"{lines['llama']['folder']}/{arm}")
    shown, alarms = history.show()
    assert shown.code == REGRESSION and (alarms["resnet18"]["blocks"], alarms["llama"]["blocks"]) == (True, False), shown
    words = " ".join(shown.out.split())
    assert "does not block: it was not confirmed" in words and "was not confirmed by 15 pairs" in words and " confirmed on 20" in words
    assert all(len(line) <= 100 for line in (shown.out + done.out).splitlines())
    before = history.file.read_bytes()
    again = history.confirm("--again", "--out", "c2")
    assert again.code == REGRESSION and "No alarm waits" in again.out and history.file.read_bytes() == before, again
    assert git(work, "worktree", "list").count("\n") == 0 and work.left_running() == []


def test_the_same_program_takes_every_block(measured, work):
    history = History(measured, work, *repository(work, ["", ""]))
    done = history.confirm("--json")
    assert done.code == OK and done.json["exit_code"] == OK, done
    assert_valid("confirm", done.json)
    assert [item["verdict"] for item in done.json["alarms"]] == ["not confirmed"] * 2
    shown, alarms = history.show()
    assert shown.code == OK and "verdict: quiet" in shown.out and not any(alarm["blocks"] for alarm in alarms.values()), shown
    assert all(alarm["confirmation"]["verdict"] == "not confirmed" for alarm in alarms.values())


def test_what_cannot_be_built_or_found_says_so_and_is_no_answer(measured, work):
    commits = repository(work, ["", "broken"])
    history = History(measured, work, *commits)
    broken = history.confirm()
    assert broken.code == FAILED and f"{commits[1][:12]} does not build" in " ".join(broken.out.split()), broken
    assert history.lines() == [] and history.show()[0].code == REGRESSION
    gone = History(measured, Workspace(work.path / "repo"), commits[0], COMMIT.format(7))
    missing = gone.work("history", "confirm", "h", "--suite", "nightly.yaml", "--build", "{source}/build.sh {source} {out}", "--out", "../c2")
    assert missing.code == FAILED and f"no commit {COMMIT.format(7)}" in " ".join(missing.out.split()), missing
    assert not (work.path / "c2").exists() and gone.lines() == []


def test_nights_of_one_commit_are_not_decided(measured, work):
    (commit,) = repository(work, [""])
    history = History(measured, work, commit, commit)
    for attempt in (1, 1, 2):
        done = history.confirm("--out", f"c{attempt}", *(("--again",) if attempt == 2 else ()))
        assert done.code == INCONCLUSIVE and "not decided" in done.out, done
        assert len(history.lines()) == 2 * attempt, "what was not decided is measured again only when somebody asks"
    line = history.lines()[0]
    assert (line["verdict"], line["pairs"], line["change"]) == ("unknown", 0, None) and "both nights ran this commit" in line["reason"]
    shown, alarms = history.show()
    assert shown.code == REGRESSION and "unknown on 20" in shown.out and "the last of 2 attempts" in shown.out, shown
    assert all(alarm["confirmation"]["attempts"] == 2 for alarm in alarms.values())


def test_questions_that_cannot_be_asked(measured, work):
    history = History(measured, work, *repository(work, ["", ""]))
    good = {"--suite": "nightly.yaml", "--repo": "repo", "--build": "{source}/build.sh {source} {out}", "--out": "c"}
    (work.path / "full").mkdir()
    (work.path / "full" / "file").touch()
    for change, code, words in (({"--build": "make"}, USAGE, "{out}"), ({"--build": "x {outt} {out}"}, USAGE, '"out"'),
                                ({"--repo": "nowhere"}, USAGE, "no git repository"), ({"--suite": "nowhere.yaml"}, USAGE, "nowhere.yaml"),
                                ({"--suite": "small.yaml"}, NOT_COMPARABLE, "no history of suite small on this machine"),
                                ({"--out": "full"}, USAGE, "--resume"), ({"--only": "resnet19*"}, USAGE, "resnet18")):
        options = [word for pair in (good | change).items() for word in pair]
        done = work("history", "confirm", "h", *options)
        assert done.code == code and words in done.err and not (work.path / "c").exists(), done
    for wrong in (("nowhere", *history.arguments()[3:]), ("h", "--suite", "nightly.yaml")):
        done = work("history", "confirm", *wrong)
        assert done.code == (NOT_COMPARABLE if wrong[0] == "nowhere" else USAGE), done
    assert work(*history.arguments("--resume", "nowhere")).code == USAGE
    assert history.lines() == []


def test_few_nights_are_nothing_to_confirm(measured, work):
    history = History(measured, work, *repository(work, ["", ""]))
    history.file.write_text("".join(history.file.read_text().splitlines(keepends=True)[:8]))
    done = history.confirm()
    assert done.code == NOT_COMPARABLE and "NOTHING TO JUDGE" in done.out, done


def test_interrupt_and_resume(measured, work):
    slow = "--mode sleep --sleep-s 0.05"
    history = History(measured, work, *repository(work, [slow, f"{slow} --slow-if '*:8'"]))
    process = work.start(*history.arguments())

    def lines() -> int:
        return sum(path.read_bytes().count(b"\n") for path in work.path.glob("c/pairs/*/*/records.jsonl"))

    wait_for(lambda: lines() >= 12, "12 records", 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == FAILED and "interrupted" in out and "--resume c" in err, (out, err)
    assert history.lines() == [] and work.left_running() == []
    resumed = history.confirm("--resume", "c")
    assert resumed.code == REGRESSION and len(history.lines()) == 2, resumed
    assert lines() == 2 * 2 * 15, "pairs that were there have been made again"
