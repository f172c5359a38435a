"""The history of nights: what is kept, what alarms, what is said of bad files, and the exit codes."""

import datetime
import json
import os
import random
import shutil
import subprocess

import pytest
from conftest import FAILED, NOT_COMPARABLE, OK, REGRESSION, USAGE, Workspace, assert_valid, strict_json

SUITE = """\
stepgauge: 1
name: nightly
launches: 2
defaults: {device: cpu}
axes:
  workload: [llama.tiny, {name: resnet18, width: 8, image: 32}]
measure: {steps: 20}
"""
START = datetime.datetime(2026, 1, 1, 2, 0, 0)
COMMIT = "{:040x}"


class Nights:
    """One run of the stub worker, and as many copies of it as a test wants nights, each with its own time and speed."""

    def __init__(self, path):
        self.work = Workspace(path)
        self.work.write("nightly.yaml", SUITE)
        assert self.work.run("nightly.yaml", "a").code == OK
        self.random = random.Random(7)

    def run(self, name: str, night: int, change=lambda cell, metric: 1.0, noise: float = 0.004, keep=lambda cell: True) -> str:
        """A run of that night; `change` multiplies the values of a cell and metric."""
        folder = self.work.path / name
        shutil.copytree(self.work.path / "a", folder)
        info = json.loads((folder / "run.json").read_text())
        info["created_at"] = (START + datetime.timedelta(days=night)).strftime("%Y-%m-%dT%H:%M:%SZ")
        info["command"] += [name]  # the same command twice would be the same run
        info["cells"] = [cell for cell in info["cells"] if keep(cell["id"])]
        (folder / "run.json").write_text(json.dumps(info))
        lines = []
        for line in (folder / "records.jsonl").read_text().splitlines():
            record = json.loads(line)
            if not keep(record["cell"]["id"]):
                continue
            factor = self.random.gauss(1, noise)
            for metric, value in record["metrics"].items():
                if value.get("value") is not None and metric != "peak_memory":
                    value["value"] *= factor * change(record["cell"]["id"], metric)
            lines.append(json.dumps(record))
        (folder / "records.jsonl").write_text("".join(line + "\n" for line in lines))
        return name

    def add(self, name: str, night: int, to: str = "h", more: tuple = (), **options):
        self.run(name, night, **options)
        done = self.work("history", "add", name, "--to", to, "--commit", COMMIT.format(night), *more)
        shutil.rmtree(self.work.path / name)
        return done

    def file(self, to: str = "h"):
        (path,) = (self.work.path / to).glob("*/nightly.jsonl")
        return path


def slower(percent: float, cell: str, since: int, night: int):
    return lambda id, metric: 1 - percent / 100 if night >= since and id.startswith(cell) and metric == "throughput" else 1.0


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Fifty nights; the throughput of one cell is 3 % lower from night 40 on."""
    nights = Nights(tmp_path_factory.mktemp("nights"))
    for night in range(50):
        done = nights.add(f"n{night}", night, change=slower(3, "resnet18", 40, night))
        assert done.code == OK and done.out.startswith("added 2026"), done
    return nights


def copy_of(measured, name):
    shutil.copytree(measured.work.path / "h", measured.work.path / name)
    return name


def show(measured, folder="h", *more):
    done = measured.work("history", "show", folder, "--json", *more)
    (trend,) = done.json["histories"]
    assert_valid("trend", trend)
    assert done.json["exit_code"] == trend["exit_code"] == done.code
    return done, trend


def run_of(measured, night: int, folder="h") -> str:
    lines = [strict_json(line) for line in measured.file(folder).read_text().splitlines()]
    return [line["tip"]["run"] for line in lines if line["kind"] == "night"][night]


def test_every_line_is_valid(measured):
    lines = [strict_json(line) for line in measured.file().read_text().splitlines()]
    assert len(lines) == 50
    for line in lines:
        assert_valid("history", line)
    journal = {(record["cell"]["id"], record["launch"]): record["metrics"] for record in measured.work.records("a")}
    cell = lines[0]["tip"]["cells"][0]
    assert cell["metrics"]["peak_memory"]["values"] == [journal[cell["id"], launch]["peak_memory"]["value"] for launch in (0, 1)]


def test_the_slowdown_alarms_with_its_night_and_commit(measured):
    done, trend = show(measured)
    assert done.code == REGRESSION, done
    blocking = [(row, alarm) for row in trend["rows"] for alarm in row["alarms"] if alarm["blocks"]]
    ((row, alarm),) = blocking
    assert row["cell"].startswith("resnet18") and row["metric"] == "throughput" and row["state"] == "alarm"
    assert alarm["direction"] == "worse" and alarm["size"] == pytest.approx(-0.03, abs=0.005)
    assert alarm["ci_lower"] < -0.03 < alarm["ci_upper"]
    assert alarm["localised"] and alarm["change_night"] == run_of(measured, 40)
    assert (alarm["last_good"]["commit"], alarm["first_bad"]["commit"]) == (COMMIT.format(39), COMMIT.format(40))
    text = measured.work("history", "show", "h")
    assert text.code == REGRESSION and "verdict: ALARM (exit code 1)" in text.out and "2026-02-10" in text.out, text
    assert f"commits after {COMMIT.format(39)[:12]} up to {COMMIT.format(40)[:12]}" in text.out, text
    assert all(len(line) <= 100 for line in text.out.splitlines()), text


def test_a_choice_of_series(measured):
    quiet, trend = show(measured, "h", "--only", "llama*:throughput")
    assert quiet.code == OK and [row["metric"] for row in trend["rows"]] == ["throughput"], quiet
    assert show(measured, "h", "--only", "resnet18*")[0].code == REGRESSION
    assert show(measured, "h", "--metric", "peak_memory")[0].code == OK
    assert "mfu %" in measured.work("history", "show", "h", "--metric", "mfu").out, "an advisory metric that is asked for is shown"
    none = measured.work("history", "show", "h", "--metric", "cost")
    assert none.code == NOT_COMPARABLE and "no series of cost" in none.err, none
    wrong = measured.work("history", "show", "h", "--only", "resnet19*")
    assert wrong.code == USAGE and "resnet18" in wrong.err, wrong


def test_an_acknowledged_change_is_quiet_and_starts_anew(measured):
    folder = copy_of(measured, "acked")
    night = run_of(measured, 40)
    ack = ("history", "ack", folder, "--series", "resnet18*:throughput", "--night", night, "--by", "ada")
    assert measured.work(*ack).code == USAGE, "no reason was given"
    done = measured.work(*ack, "--reason", "new data loader, #12")
    assert done.code == OK and "acknowledged 1 series" in done.out, done
    assert_valid("history", strict_json(measured.file(folder).read_text().splitlines()[-1]))
    quiet, trend = show(measured, folder)
    assert quiet.code == OK, quiet
    (row,) = [row for row in trend["rows"] if row["cell"].startswith("resnet18") and row["metric"] == "throughput"]
    assert row["state"] == "shown" and row["nights"] == 10 and row["change"] == pytest.approx(0, abs=0.02)
    assert row["acknowledged"] == {"night": night, "reason": "new data loader, #12", "by": "ada"}
    text = " ".join(measured.work("history", "show", folder).out.split())
    assert "only shown: 10 nights < 30" in text and "acknowledged by ada: new data loader, #12" in text
    for wrong, words in (("resnet19*", "the nearest is \"resnet18"), ("*", "did you mean")):
        done = measured.work("history", "ack", folder, "--series", wrong, "--night", night + ("x" if wrong == "*" else ""),
                             "--by", "ada", "--reason", "why")
        assert done.code == USAGE and words in done.err, done


def test_creep_against_a_pinned_release(measured):
    folder = copy_of(measured, "pinned")
    done = measured.work("history", "pin", run_of(measured, 5), "v1.0", "--in", folder)
    assert done.code == OK and "as v1.0" in done.out, done
    measured.work("history", "ack", folder, "--series", "*", "--night", run_of(measured, 40), "--by", "ada", "--reason", "known")
    done, trend = show(measured, folder)
    assert trend["pin"] == {"night": run_of(measured, 5), "name": "v1.0"}
    creep = {(row["cell"].split(".")[0], row["metric"]): row["creep"] for row in trend["rows"]}
    assert creep["resnet18", "throughput"] == pytest.approx(-0.03, abs=0.012), "an acknowledged loss is still a loss"
    assert creep["llama", "throughput"] == pytest.approx(0, abs=0.012)
    assert "v1.0 %" in measured.work("history", "show", folder).out
    assert measured.work("history", "pin", "20260101T020000Z-00000000", "v2", "--in", folder).code == USAGE


def test_a_series_that_vanishes_and_a_new_one(measured):
    folder = copy_of(measured, "vanished")
    measured.add("late", 50, folder, keep=lambda id: not id.startswith("resnet18"))
    done, trend = show(measured, folder)
    states = {row["cell"].split(".")[0]: (row["state"], row["reason"]) for row in trend["rows"] if row["metric"] == "throughput"}
    assert states["resnet18"][0] == "vanished" and "the cell is not in the last run" in states["resnet18"][1]
    assert states["llama"][0] == "quiet"
    assert trend["counts"]["vanished"] > 0 and "vanished" in measured.work("history", "show", folder).out
    folder = "appeared"
    for night in range(2):
        measured.add(f"new{night}", night, folder, keep=lambda id: night == 1 or id.startswith("llama"))
    done, trend = show(measured, folder)
    assert done.code == NOT_COMPARABLE, "two nights are nothing to judge"
    assert {row["state"] for row in trend["rows"] if row["cell"].startswith("resnet18")} == {"new"}
    assert {row["state"] for row in trend["rows"] if row["cell"].startswith("llama")} == {"shown"}


def with_control_build(measured, folder, tip, reference):
    for night in range(45):
        control = measured.run(f"{folder}-r{night}", night, change=reference(night))
        more = ("--reference", control, "--reference-commit", "frozen")
        assert measured.add(f"{folder}-t{night}", night, folder, more, change=tip(night)).code == OK
        shutil.rmtree(measured.work.path / control)
    return show(measured, folder)


def test_a_slower_machine_is_not_the_code(measured):
    machine = lambda night: slower(5, "resnet18", 36, night)
    done, trend = with_control_build(measured, "machine", machine, machine)
    assert done.code == OK, done
    assert {(item["cell"].split(".")[0], item["metric"]) for item in trend["machine_alarms"]} == {("resnet18", "throughput")}
    (row,) = [row for row in trend["rows"] if row["cell"].startswith("resnet18") and row["metric"] == "throughput"]
    assert row["against_reference"] and row["state"] == "quiet"
    text = measured.work("history", "show", "machine").out
    assert "Alarms of the control build:" in text and "it is the machine" in text


def test_slower_code_shows_against_the_control_build(measured):
    done, trend = with_control_build(measured, "code", lambda night: slower(5, "resnet18", 36, night), lambda night: slower(0, "", 0, 0))
    assert done.code == REGRESSION and trend["machine_alarms"] == [], done


def test_what_is_refused(measured):
    work = measured.work
    run = measured.run("again", 0)
    assert work("history", "add", run, "--to", "refuse").code == OK
    twice = work("history", "add", run, "--to", "refuse")
    assert twice.code == USAGE and "nightly.jsonl:1" in twice.err and "added already" in twice.err, twice
    before = measured.run("before", -1)
    backwards = work("history", "add", before, "--to", "refuse")
    assert backwards.code == USAGE and "clock went backwards" in backwards.err and "--late" in backwards.err, backwards
    assert work("history", "add", before, "--to", "refuse", "--late").code == OK
    assert "clock went backwards" in work("history", "show", "refuse").out
    assert work.run("nightly.yaml", "dead", "--mode", "die").code == FAILED
    dead = work("history", "add", "dead", "--to", "refuse2")
    assert dead.code == FAILED and "nothing to add" in dead.err and not (work.path / "refuse2").exists(), dead
    assert work("history", "add", "nowhere", "--to", "refuse2").code == USAGE
    for folder in ("nowhere", "refuse2"):
        missing = work("history", "show", folder)
        assert missing.code == NOT_COMPARABLE and "no history" in missing.err, missing


def test_damaged_files(measured):
    folder = copy_of(measured, "damaged")
    path = measured.file(folder)
    text = path.read_text()
    path.write_text(text + text[:100])
    torn = measured.work("history", "show", folder)
    assert torn.code == REGRESSION and "nightly.jsonl:51: the last line is cut off" in torn.out.replace("\n    ", " "), torn
    assert measured.add("next", 50, folder).code == OK
    assert len(path.read_text().splitlines()) == 51 and path.with_suffix(".jsonl.torn").read_text() == text[:100] + "\n"
    lines = text.splitlines()
    for bad, words in ((lines[3][:-20], "not valid JSON"), (lines[3].replace('"version":1', '"version":2'), "version 2"),
                       ("<<<<<<< HEAD", "merge=union")):
        path.write_text("\n".join([*lines[:3], bad, *lines[4:]]) + "\n")
        before = path.read_bytes()
        for done in (measured.work("history", "show", folder), measured.add("more", 51, folder)):
            assert done.code == USAGE and "nightly.jsonl:4: " in done.err and words in done.err, done
        assert path.read_bytes() == before


def test_two_writers_at_once(measured):
    runs = [measured.run(f"w{i}", i) for i in range(8)]
    writers = [measured.work.start("history", "add", run, "--to", "both", "--late") for run in runs]
    assert [writer.wait(timeout=60) for writer in writers] == [OK] * 8
    lines = [strict_json(line) for line in measured.file("both").read_text().splitlines()]
    assert len({line["tip"]["run"] for line in lines}) == 8


def test_the_commit_comes_from_git(measured):
    repository = measured.work.path / "repository"
    repository.mkdir()

    def git(*arguments):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=repository, check=True,
                              capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("tag", "v1.0")
    measured.run("repository/one", 0)
    inside = Workspace(repository)
    done = inside("history", "add", "one", "--json")
    assert done.code == OK and done.json["commit"] == git("rev-parse", "HEAD"), done
    outside = measured.work("history", "add", measured.run("two", 1), "--to", "unknown", env={"GIT_DIR": "/nowhere"})
    assert outside.code == OK and "--commit" in outside.err, outside


def test_years_of_nights_are_read_fast(measured):
    """1,000 nights of 500 series; the line of a night is the tool's own, with more cells."""
    night = strict_json(measured.file().read_text().splitlines()[0])
    metrics = ("init_latency", "first_step_latency", "step_time", "throughput", "peak_memory")
    dice = random.Random(3)

    def cells():
        return [{"id": f"cell{number}-{number:08x}", "hash": f"{number:08x}", "statuses": {"ok": 3}, "metrics": {
            metric: {"unit": "u", "values": [100 * dice.gauss(1, 0.005) for _ in range(3)]} for metric in metrics}}
            for number in range(100)]

    texts = [json.dumps(cells()) for _ in range(25)]
    folder = measured.work.path / "years" / measured.file().parent.name
    folder.mkdir(parents=True)
    with (folder / "nightly.jsonl").open("w") as file:
        for number in range(1000):
            time = START + datetime.timedelta(days=number)
            night["tip"] |= {"run": f"{time:%Y%m%dT%H%M%SZ}-{number:08x}", "created_at": f"{time:%Y-%m-%dT%H:%M:%SZ}", "cells": "CELLS"}
            file.write(json.dumps(night).replace('"CELLS"', dice.choice(texts)) + "\n")
    before = os.times()
    done = measured.work("history", "show", "years", "--changes")
    after = os.times()
    assert done.code == OK and "1000 nights" in done.out and "500 series" in done.out and "change of level" in done.out.lower(), done
    seconds = after.children_user - before.children_user
    assert seconds < 5, f"{seconds} s of CPU"
