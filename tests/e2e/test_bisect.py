"""The commit, or the settings, that made it worse: a repository of a few commits whose "build" copies a script with the stub worker."""

import json
import os
import signal
import subprocess

import pytest
from conftest import FAILED, INCONCLUSIVE, OK, STUB, USAGE, Done, Workspace, assert_valid, strict_json, stub, wait_for

CELL = "resnet18.image32.width8.b4/*"
NOISE = "--noise 0.5% --seed-from-launch"
GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(work: Workspace, *arguments: str) -> str:
    return subprocess.run(["git", "-C", work.path / "repo", *arguments], env={**os.environ, **GIT}, check=True, capture_output=True,
                          text=True).stdout.strip()


def repository(work: Workspace, options: list[str]) -> list[str]:
    """One commit for each: its worker is the stub with these options; "broken" does not build."""
    (work.path / "repo").mkdir()
    git(work, "init", "-q", "-b", "main")
    commits = []
    for number, text in enumerate(options):
        script = f'#!/bin/sh\nexec {STUB} {NOISE} --seed {number} {text} "$@"\n'
        (work.path / "repo" / "worker.sh").write_text(script)
        (work.path / "repo" / "worker.sh").chmod(0o755)
        build = "exit 3" if text == "broken" else 'cp "$1/worker.sh" "$2"'
        (work.path / "repo" / "build.sh").write_text(f"#!/bin/sh\necho building $1\n{build}\n")
        (work.path / "repo" / "build.sh").chmod(0o755)
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", f"commit {number}: {text}")
        commits.append(git(work, "rev-parse", "HEAD"))
    return commits


def over_commits(work: Workspace, commits: list[str], *more: str, out: str = "s", metric: str = "throughput") -> Done:
    return work("bisect", "small.yaml", "--cell", CELL, "--metric", metric, "--repo", "repo", "--good", commits[0], "--bad", commits[-1],
                "--build", "{source}/build.sh {source} {out}", "--quiet", *(() if "--resume" in more else ("--out", out)), *more)


def document(work: Workspace, out: str = "s") -> dict:
    value = strict_json((work.path / out / "bisect.json").read_text())
    assert_valid("bisect", value)
    for step in value["steps"]:
        if step["folder"]:
            for name in ("base", "head"):
                work.assert_files_valid(f"{out}/{step['folder']}/{name}")
    return value


def test_the_first_slow_commit_is_found(work):
    commits = repository(work, [""] * 5 + ["--slow-if '*:8'"] * 4)
    done = over_commits(work, commits, "--seed", "11")
    assert done.code == OK, done
    value = document(work)
    assert (value["outcome"], value["suspects"], value["direction"], value["seed"]) == ("found", [commits[5]], "worse", 11)
    assert commits[5][:12] in done.out and "commit 5" in done.out and "seed 11" in done.out
    assert [step["answer"] for step in value["steps"]].count("different") >= 1 and len(value["steps"]) == 4
    assert value["commits"] == commits and all(step["pairs"] == 10 for step in value["steps"])
    assert git(work, "worktree", "list").count("\n") == 0, "the work tree was left behind"
    assert git(work, "status", "--porcelain") == ""
    assert all(len(line) <= 100 for line in done.out.splitlines())
    assert work.left_running() == []


def test_a_build_of_several_commands_that_leaves_a_folder(work):
    commits = repository(work, ["", "--slow-if '*:8'"])
    done = work("bisect", "small.yaml", "--cell", CELL, "--metric", "throughput", "--repo", "repo", "--good", "HEAD~1", "--bad", "main",
                "--build", "mkdir -p {out}/bin", "--build", "cp '{source}/worker.sh' {out}/bin/stepgauge-worker", "--quiet", "--out", "s")
    assert done.code == OK and document(work)["suspects"] == [commits[1]], done


def test_a_commit_that_does_not_build_is_stepped_over(work):
    commits = repository(work, ["", "", "broken", "--slow-if '*:8'", "--slow-if '*:8'"])
    done = over_commits(work, commits)
    assert done.code == INCONCLUSIVE, done
    value = document(work)
    assert value["outcome"] == "range" and value["suspects"] == [commits[2], commits[3]]
    (skipped,) = [step for step in value["steps"] if step["answer"] == "skipped"]
    assert skipped["subject"] == commits[2] and "does not build" in skipped["reason"]
    assert "building" in (work.path / "s" / "builds" / f"{commits[2][:12]}.log").read_text()


def test_a_change_of_half_the_tolerance_is_unknown_and_the_result_a_range(work):
    commits = repository(work, ["", "", "--slow-if '*:1.55'", "--slow-if '*:8'"])
    done = over_commits(work, commits, "--pairs", "5,10", "--seed", "3")
    assert done.code == INCONCLUSIVE, done
    value = document(work)
    assert value["outcome"] == "range" and value["suspects"] == [commits[2], commits[3]]
    (unknown,) = [step for step in value["steps"] if step["answer"] == "unknown"]
    assert unknown["pairs"] == 10, "an unknown answer takes more pairs first"


def test_the_commit_that_made_it_faster(work):
    commits = repository(work, ["--slow-if '*:8'"] * 2 + [""] * 3)
    done = over_commits(work, commits)
    assert done.code == OK and "the first commit that is better" in " ".join(done.out.split()), done
    value = document(work)
    assert value["direction"] == "better" and value["suspects"] == [commits[2]]


def test_a_commit_from_which_launches_crash(work):
    commits = repository(work, ["", "", "--mode segv", "--mode segv"])
    crashed = over_commits(work, commits, metric="launches")
    assert crashed.code == OK and document(work)["suspects"] == [commits[2]], crashed
    refused = over_commits(work, commits, out="t")
    assert refused.code == FAILED and document(work, "t")["outcome"] == "not_measurable", refused
    twice = over_commits(work, commits[:1] + commits[:1], out="u")
    assert twice.code == USAGE and "same commit" in twice.err, twice


def test_ends_that_do_not_differ(work):
    commits = repository(work, ["", "", ""])
    done = over_commits(work, commits)
    assert done.code == INCONCLUSIVE and "nothing to look for" in done.out, done
    assert document(work)["outcome"] == "not_different" and len(document(work)["steps"]) == 1


def test_a_good_end_that_does_not_build(work):
    commits = repository(work, ["broken", "", ""])
    done = over_commits(work, commits)
    assert done.code == FAILED and "good end cannot be built" in done.out, done
    assert document(work)["outcome"] == "not_measurable"


def over_settings(work: Workspace, *arms: str, out: str = "s", more: tuple = (), worker: str | None = None) -> Done:
    return work("bisect", "small.yaml", "--cell", CELL, "--metric", "throughput", "--quiet", "--out", out, "--worker",
                worker or str(work.path / "worker.sh"), *arms, *more)


def slow_with(work: Workspace, condition: str) -> None:
    (work.path / "worker.sh").write_text(f'#!/bin/sh\nif {condition}; then slow="--slow-if *:9"; fi\n'
                                         f'exec {STUB} {NOISE} --seed $$ $slow "$@"\n')
    (work.path / "worker.sh").chmod(0o755)


def test_the_two_variables_that_are_slow_together(work):
    slow_with(work, '[ "$OMP_NUM_THREADS" = 1 ] && [ "$NCCL_ALGO" = Ring ]')
    done = over_settings(work, "--good", "env:OMP_NUM_THREADS=2", "--bad",
                         "env:OMP_NUM_THREADS=1,NCCL_ALGO=Ring,NCCL_PROTO=Simple,NCCL_MAX_NCHANNELS=4", "--bad", "set:seed=3")
    assert done.code == OK, done
    value = document(work)
    assert value["outcome"] == "found" and len(value["differences"]) == 5
    assert [text.split("=")[0] for text in value["suspects"]] == ["env.OMP_NUM_THREADS", "env.NCCL_ALGO"]
    assert "good: " in value["suspects"][0]


def test_a_single_setting_needs_one_test(work):
    slow_with(work, '[ "$OMP_NUM_THREADS" = 1 ]')
    done = over_settings(work, "--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--seed", "5")
    assert done.code == OK and len(document(work)["steps"]) == 1, done


def test_settings_that_make_it_faster(work):
    slow_with(work, '[ "$OMP_NUM_THREADS" != 1 ]')
    done = over_settings(work, "--good", "self", "--bad", "env:OMP_NUM_THREADS=1,NCCL_ALGO=Ring")
    assert done.code == OK and document(work)["direction"] == "better", done
    assert [text.split("=")[0] for text in document(work)["suspects"]] == ["env.OMP_NUM_THREADS"]


@pytest.mark.parametrize("arguments, words", [
    (("--good", "self", "--bad", "self"), "set the same"),
    (("--good", "self", "--bad", "worker:x"), "different workers"),
    (("--good", "self"), "--good and --bad are needed"),
    (("--good", "self", "--bad", "set:precison=bf16"), "precision"),
    (("--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--metric", "thruput"), "throughput"),
    (("--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--cell", "llama*"), "matches 2 cells"),
    (("--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--cell", "llamo*"), "nearest"),
    (("--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--pairs", "2,3"), "--pairs"),
    (("--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--build", "make {out}"), "--repo"),
    (("--good", "self", "--bad", "env:OMP_NUM_THREADS=1", "--tolerance", "fast"), "tolerance"),
    (("--repo", "nowhere", "--good", "a", "--bad", "b", "--build", "x {out}"), "no git repository")])
def test_questions_that_cannot_be_asked(work, arguments, words):
    given = {"--cell": CELL, "--metric": "throughput"}
    base = [word for name, value in given.items() if name not in arguments for word in (name, value)]
    done = work("bisect", "small.yaml", "--quiet", "--out", "s", *base, *arguments)
    assert done.code == USAGE and words in done.err and not (work.path / "s").exists(), done


def test_revisions_and_builds_that_cannot_be(work):
    commits = repository(work, ["", "--slow-if '*:8'"])
    for more, words in ((("--good", "nope"), "no such commit"), (("--good", commits[1], "--bad", commits[0]), "not an ancestor"),
                        (("--good", "--all"), ""), (("--build", "true"), "{out}"), (("--build", "x {outt} {out}"), '"out"'),
                        (("--build", "'x {out}"), "quote")):
        given = {"--good": commits[0], "--bad": commits[1], "--build": "{source}/build.sh {source} {out}"}
        given.update(dict(zip(more[::2], more[1::2])))
        arguments = [word for pair in given.items() for word in pair]
        done = work("bisect", "small.yaml", "--cell", CELL, "--metric", "throughput", "--repo", "repo", "--quiet", "--out", "s", *arguments)
        assert done.code == USAGE and words in done.err and not (work.path / "s").exists(), done


def test_interrupt_and_resume(work):
    commits = repository(work, ["--mode sleep --sleep-s 0.05"] * 3 + ["--mode sleep --sleep-s 0.05 --slow-if '*:8'"] * 2)
    question = ("bisect", "small.yaml", "--cell", CELL, "--metric", "throughput", "--repo", "repo", "--good", commits[0], "--bad",
                commits[-1], "--build", "{source}/build.sh {source} {out}", "--quiet")
    process = work.start(*question, "--out", "s")

    def lines() -> int:
        return sum(path.read_bytes().count(b"\n") for path in work.path.glob("s/tests/*/*/records.jsonl"))

    wait_for(lambda: lines() >= 24, "24 records", 40)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=15)
    assert process.returncode == FAILED and "interrupted" in out, (out, err)
    assert document(work)["outcome"] == "interrupted" and work.left_running() == []
    before, seed = lines(), document(work)["seed"]
    other = work(*question, "--resume", "s", "--pairs", "5,10")
    assert other.code == USAGE and "another" in other.err, other
    resumed = work(*question, "--resume", "s")
    assert resumed.code == OK and document(work)["suspects"] == [commits[3]], resumed
    assert document(work)["seed"] == seed
    measured = sum(2 * step["pairs"] for step in document(work)["steps"])
    assert before < lines() <= measured + 1, "more than the launch that was interrupted was made again"
    again = work(*question, "--out", "s")
    assert again.code == USAGE and "holds a search" in again.err, again


def test_a_suite_edited_meanwhile_and_a_search_that_was_killed(work):
    commits = repository(work, ["--mode sleep --sleep-s 0.05"] * 3 + ["--mode sleep --sleep-s 0.05 --slow-if '*:8'"] * 2)
    question = ("bisect", "small.yaml", "--cell", CELL, "--metric", "throughput", "--repo", "repo", "--good", commits[0], "--bad",
                commits[-1], "--build", "{source}/build.sh {source} {out}", "--quiet")
    process = work.start(*question, "--out", "s")
    wait_for(lambda: list(work.path.glob("s/tests/000*/*/records.jsonl")), "the first test", 30)
    text = (work.path / "small.yaml").read_text()
    work.write("small.yaml", text.replace("steps: 20", "steps: 21"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == USAGE and "has changed since the search began" in err, (out, err)
    refused = work(*question, "--resume", "s")
    assert refused.code == USAGE and "changed" in refused.err, refused
    work.write("small.yaml", text)
    process = work.start(*question, "--resume", "s")
    wait_for(lambda: (work.path / "s" / "source").exists(), "the work tree", 30)
    process.kill()
    process.communicate(timeout=15)
    resumed = work(*question, "--resume", "s")
    assert resumed.code == OK and document(work)["suspects"] == [commits[3]], resumed
    assert git(work, "worktree", "list").count("\n") == 0


def test_json_output(work):
    commits = repository(work, ["", "--slow-if '*:8'"])
    done = over_commits(work, commits, "--json")
    assert done.code == OK
    assert_valid("bisect", done.json)
    assert done.json == json.loads((work.path / "s" / "bisect.json").read_text())
