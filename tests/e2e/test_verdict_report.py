"""Reports of verdicts from outside: the Markdown of the one comment, and XML that a CI server parses."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import OK, REGRESSION, USAGE, Workspace, strict_json, stub

NOISE = ("--noise", "0.5%", "--seed-from-launch")
SLOW = "resnet18.image32.width8.b4/eager/fp32/cpu.ddp1"
OUTCOMES = {"regressed": "failure", "invalid": "error", "missing": "error", "inconclusive": "skipped"}


def gate(work: Workspace, out: str, *head: str):
    return work("gate", "small.yaml", "--quiet", "--out", out, "--pairs", "3,5", "--base", "worker:" + stub(*NOISE),
                "--head", "worker:" + stub(*NOISE, "--seed", "7", *head))


def cases(path) -> dict:
    """(cell, metric) -> element that says the outcome, None where the case passed. The counts are those of the cases."""
    root = ElementTree.parse(path).getroot()
    found = {}
    for suite in [root, *root.findall("testsuite")]:
        for name in ("failure", "error", "skipped"):
            counted = suite.get({"failure": "failures", "error": "errors", "skipped": "skipped"}[name])
            assert int(counted) == len(suite.findall(f".//testcase/{name}")), (suite.attrib, name)
        assert int(suite.get("tests")) == len(suite.findall(".//testcase"))
        assert float(suite.get("time")) >= 0
    for case in root.iter("testcase"):
        key = case.get("classname"), case.get("name")
        assert key not in found and float(case.get("time")) >= 0
        found[key] = next(iter(case), None)
    return found


def test_report_of_a_gate(work):
    done = gate(work, "g", "--slow-if", f"{SLOW}*:8")
    assert done.code == REGRESSION
    assert work("report", "g").out == done.out == work("report", "g/gate.json").out
    document = strict_json((work.path / "g/gate.json").read_text())
    assert work("report", "g", "--json").json == document
    wrote = work("report", "g", "--out", "comment.md", "--junit", "rows.xml")
    assert wrote.code == OK and wrote.out == "", wrote
    comment = (work.path / "comment.md").read_text()
    assert comment == work("report", "g", "--markdown").out
    assert comment.startswith("<!-- stepgauge:small -->\n") and "Do not merge" in comment and len(comment) < 65536
    opened = comment[:comment.index("<details>")]
    assert SLOW in opened and "throughput" in opened and "init" not in opened, "more than what was confirmed is open"
    found = cases(work.path / "rows.xml")
    assert {key: None if item is None else item.tag for key, item in found.items()} == {
        (row["cell"], row["metric"]): OUTCOMES.get(row["verdict"]) for row in document["rows"]}
    failure, = [item for item in found.values() if item is not None and item.tag == "failure"]
    assert failure.get("message").startswith("regressed: -")
    assert float(ElementTree.parse(work.path / "rows.xml").getroot().get("time")) > 0, "no case says how long it took"


def test_what_a_worker_says_is_text(work):
    nasty = work.write("nasty.sh", "#!/bin/sh\nprintf '%s\\n' '<b>&</b> @everyone ]]> \"quoted\" | \x07' >&2\nexit 3\n")
    (work.path / nasty).chmod(0o755)
    work("gate", "small.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--worker", stub(), "--base", "self", "--head", "./nasty.sh")
    assert work("report", "g", "--out", "comment.md", "--junit", "rows.xml").code == OK
    comment = (work.path / "comment.md").read_text()
    assert "<b>" not in comment and "@everyone" not in comment
    assert any(item is not None and item.tag == "failure" for item in cases(work.path / "rows.xml").values())


def test_report_of_a_comparison(work):
    work.run("small.yaml", "a", *NOISE)
    work.run("small.yaml", "b", *NOISE, "--slow-if", f"{SLOW}*:30", "--mode-if", "llama*b2/*:oom")
    compared = work("compare", "a", "b", "--json")
    work.write("c.json", compared.out)
    assert work("report", "c.json").out == work("compare", "a", "b").out
    assert work("report", "c.json", "--out", "c.md", "--junit", "c.xml").code == OK
    assert "Do not merge" in (work.path / "c.md").read_text()
    outcomes = [item.tag for item in cases(work.path / "c.xml").values() if item is not None]
    assert "failure" in outcomes and "error" in outcomes, outcomes


def test_nothing_compared_is_red(work):
    work.run("small.yaml", "a")
    (work.path / "a/records.jsonl").write_text("")
    work.write("c.json", work("compare", "a", "a", "--json").out)
    assert work("report", "c.json", "--junit", "c.xml").code == OK
    assert any(item is not None and item.tag == "error" for item in cases(work.path / "c.xml").values())


@pytest.mark.parametrize("damage, words", [
    (lambda value: value.update(rows=[]), "counts are not those of the rows"), (lambda value: value.update(exit_code=0), "the rows come to 1"),
    (lambda value: value.update(version=99), "newer"), (lambda value: value.pop("seed"), "\"seed\" is missing"),
    (lambda value: value["rows"][0].update(verdict="passed"), "did you mean \"pass\"?"), (lambda value: value.update(schema="x"), "no verdict")])
def test_a_document_that_was_edited(work, damage, words):
    assert gate(work, "g", "--slow-if", f"{SLOW}*:8").code == REGRESSION
    path = work.path / "g/gate.json"
    value = json.loads(path.read_text())
    damage(value)
    path.write_text(json.dumps(value))
    done = work("report", "g", "--markdown")
    assert done.code == USAGE and words in done.err and "gate.json" in done.err, done


def test_a_document_that_was_cut(work):
    assert gate(work, "g").code == OK
    path = work.path / "g/gate.json"
    for text in ("", path.read_text()[:-40], "[]", "NaN"):
        path.write_text(text)
        assert work("report", "g").code == USAGE


def test_a_baseline_by_another_name_is_still_one(work):
    work.run("small.yaml", "a")
    work("baseline", "save", "a", "--baselines", "bl")
    path, = (work.path / "bl").glob("*/small.jsonl")
    work.write("baseline.json", path.read_text())
    assert work("report", "baseline.json").out == work("report", path).out != ""


def test_options_that_do_not_go_together(work):
    work.run("small.yaml", "a")
    assert gate(work, "g").code == OK
    for arguments, words in ((("a", "--junit", "x.xml"), "gates and comparisons"), (("g", "--article", "A1"), "runs and baselines"),
                             (("g", "--json", "--markdown"), "excludes"), (("nowhere",), "no such")):
        done = work("report", *arguments)
        assert done.code == USAGE and words in done.err, done
