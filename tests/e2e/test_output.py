"""What a person reads: golden tables, help, JSON everywhere, no locale."""

import os
import shutil
import subprocess

import pytest
from conftest import OK, SMALL, SOURCE, STEPGAUGE, assert_valid, matches_golden, strict_json

COMMANDS = [(), ("list",), ("run",), ("report",), ("compare",), ("baseline",), ("baseline", "save"), ("baseline", "merge"),
            ("baseline", "show"), ("calibrate",), ("plan",), ("baseline", "diff"), ("baseline", "table"), ("history",), ("history", "add"), ("history", "show"), ("history", "ack"),
            ("history", "pin"), ("doctor",), ("schema",), ("trace",), ("trace", "show"), ("trace", "diff"),
            ("graph",), ("graph", "show"), ("graph", "diff"), ("gate",), ("selftest",), ("why",), ("bisect",)]


def test_list_of_smoke(work):
    done = work("list", SOURCE / "configs/smoke.yaml")
    assert done.code == OK, done
    matches_golden("list_smoke.txt", done.out.replace(f"{SOURCE}/", ""))


def test_tables(work):
    """Fixed numbers; one cell fails, one is perturbed, one does not fit."""
    work.write("golden.yaml", SMALL.replace("measure:", "exclude: [{workload: resnet18, batch: 2}]\ninclude:\n"
               "  - {workload: llama.tiny, batch: 2, perturb: {step_percent: 50}}\nmeasure:"))
    options = ("--steps-ms", "300,100,101,99", "--mode-if", "*18*.b4/*:oom")
    done = work.run("golden.yaml", "a", *options)
    assert done.code == 3, done
    matches_golden("run_table.txt", done.out)
    assert all(len(line) <= 100 for line in done.out.splitlines())
    assert work("report", "a").out == done.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(work, command):
    done = work(*command, "--help")
    assert done.code == OK and done.err == "" and "Usage:" in done.out and "Example" in done.out, done
    assert done.out == work(*command, "-h").out


def test_version(work):
    done = work("--version")
    assert done.code == OK and done.out.startswith("stepgauge "), done


def test_json_of_every_command(work):
    assert work.run("small.yaml", "a", more=("--json",)).json["suite"] == "small"
    assert work("list", "small.yaml", "--json").json["suite"] == "small"
    assert work("report", "a", "--json").json["folder"] == "a"
    assert work("baseline", "save", "a", "--baselines", "bl", "--json").json["cells"] == 4
    refused = work("baseline", "save", "a", "--baselines", "bl", "--json")
    assert refused.code == 2
    assert_valid("comparison", refused.json)
    assert len(work("baseline", "show", "--baselines", "bl", "--json").json["baselines"]) == 1
    assert len(work("baseline", "show", "baseline:small", "--baselines", "bl", "--json").json["cells"]) == 4
    assert_valid("comparison", work("baseline", "diff", "a", "--baselines", "bl", "--json").json)
    assert len(work("baseline", "table", "--baselines", "bl", "--json").json["tables"]) == 1
    assert_valid("comparison", work("compare", "a", "a", "--json").json)
    assert isinstance(work("doctor", "--json").json, dict)
    assert work("schema", "record", "--json").json == work("schema", "record").json


def test_suites_of_the_repository_are_valid(work):
    for name in ("suite", "cell", "record", "run", "baseline", "comparison", "gate", "history", "trend", "statistics", "selftest",
                 "why", "bisect", "calibration", "plan", "confirm"):
        assert "$schema" in work("schema", name).json
    yaml = pytest.importorskip("yaml")
    suites = sorted((SOURCE / "configs").glob("*.yaml"))
    assert suites
    for path in suites:
        assert_valid("suite", yaml.safe_load(path.read_text()))


def german(folder) -> dict:
    """An environment in which a comma is the decimal point, as far as this machine has such a locale."""
    env = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    if shutil.which("localedef"):
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], capture_output=True)
        if (folder / "de_DE.UTF-8").exists() and made.returncode in (0, 1):
            env["LOCPATH"] = str(folder)
    return env


def test_no_locale(work):
    (work.path / "locale").mkdir()
    env = german(work.path / "locale")
    outputs = []
    for number, variables in enumerate(({"LC_ALL": "C"}, env)):
        folder = work.path / str(number)
        folder.mkdir()
        shutil.copy(work.path / "small.yaml", folder)
        work.path, root = folder, work.path
        work.write("small.yaml", SMALL.replace("measure:", "tolerance: {throughput: 2.5%}\nmeasure:"))
        noise = ("--noise", "0.5%", "--seed-from-launch", "--step-ms", "1234.5")
        assert work.run("small.yaml", "a", *noise, more=("--launches", "3"), env=variables).code == OK
        texts = [work(*arguments, env=variables).out for arguments in
                 (("list", "small.yaml"), ("list", "small.yaml", "--json"), ("report", "a"), ("doctor",))]
        comparison = work("compare", "a", "a", env=variables).out
        texts.append(comparison.partition("\n")[2])  # the first line has the time
        texts += [str(record["metrics"]) for record in work.records("a")]
        outputs.append(texts)
        work.path = root
    assert outputs[0] == outputs[1]


def test_control_characters_never_reach_the_terminal(work):
    done = work("run", "small.yaml", "--out", "a", "--worker", f"{STEPGAUGE.parent / 'stub-worker'} --mode nonsense")
    assert done.code == OK and all(character.isprintable() or character == "\n" for character in done.out + done.err), done
    work.write("escape.yaml", SMALL.replace("launches:", '"\\e[31mred":', 1))
    done = work("list", "escape.yaml")
    assert done.code == 2 and "escape.yaml:3:1" in done.err and "\x1b" not in done.err, done


def test_progress_is_plain_lines_in_a_log(work):
    done = work("run", "small.yaml", "--out", "a", "--worker", str(STEPGAUGE.parent / "stub-worker"))
    lines = done.err.splitlines()
    assert len(lines) == 8 and lines[0].startswith("[1/8] llama.tiny.b2/") and "launch 0: ok, 1280 tokens/s" in lines[0]
    assert "\r" not in done.err and "\x1b" not in done.out + done.err
    assert strict_json((work.path / "a/run.json").read_text())["command"][1] == "run"
    assert os.listdir(work.path / "a/launches")
