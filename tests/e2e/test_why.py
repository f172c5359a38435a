"""Where a row is worse, and in which cells: from gates and runs of the stub worker, with everything that can be missing."""

import json

from conftest import NOT_COMPARABLE, OK, REGRESSION, STUB, USAGE, Workspace, assert_valid, strict_json, stub

NOISE = ("--noise", "0.5%", "--seed-from-launch")
MATRIX = """\
stepgauge: 1
name: matrix
launches: 4
trace: true
defaults: {device: cpu, workload: llama.tiny}
axes:
  compile: [eager, compile.default]
  precision: [fp32, bf16]
  ddp: [{ranks: 1}, {ranks: 2}]
measure: {steps: 20}
"""
BAD = "*compile.default*/bf16/*ddp2*"


def arm(*options: str) -> str:
    return "worker:" + stub(*NOISE, *options)


def gate(work: Workspace, head: str, *more: str, base: str | None = None) -> None:
    work.write("matrix.yaml", MATRIX)
    done = work("gate", "matrix.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--base", base or arm("--exposed-comm", "20%"),
                "--head", head, *more)
    assert done.code == REGRESSION, done


def document(work: Workspace, *arguments: str, code: int = OK) -> dict:
    done = work("why", *arguments, "--json")
    assert done.code == code, done
    assert_valid("why", done.json)
    return done.json


def parts(row: dict) -> dict:
    return {part["kind"]: part for part in row["parts"]}


def test_the_three_settings_that_a_slowdown_needs(work):
    gate(work, arm("--seed", "7", "--exposed-comm", "20%", "--slow-if", f"{BAD}:30"))
    value = document(work, "g")
    assert value["counts"]["worse"] >= 1 and value["exit_code"] == 0
    (pattern,) = [one for one in value["patterns"] if one["metric"] == "throughput"]
    assert pattern["separation"]["kind"] == "separated"
    (terms,) = pattern["separation"]["conjunctions"]
    assert {(term["axis"], term["value"]) for term in terms} == {("compile", "compile.default"), ("precision", "bf16"), ("ddp.ranks", "2")}
    (row,) = [row for row in value["rows"] if row["metric"] == "throughput"]
    found = parts(row)
    assert {"settings", "phases", "kernels", "collectives", "compile"} <= set(found)
    assert any("does not show the change" in note for note in found["phases"]["notes"])
    assert any("trace diff" in note for note in found["kernels"]["notes"])
    assert any(line["name"] == "worker stepgauge" and "--slow-if" in line["head"] for line in value["everywhere"])
    shown = work("why", "g")
    assert shown.code == OK and "compile=compile.default and precision=bf16 and ddp.ranks=2" in " ".join(shown.out.split()), shown
    assert all(len(line) <= 100 for line in shown.out.splitlines())


def test_the_exposed_communication_of_a_late_rank(work):
    gate(work, arm("--exposed-comm", "60%", "--late-rank", "1", "--slow-if", "*ddp2*:50"))
    value = document(work, "g", "--cell", "*compile.default*/bf16/cpu.ddp2*")
    (row,) = [row for row in value["rows"] if row["metric"] == "throughput"]
    lines = {line["name"]: line for line in parts(row)["phases"]["lines"]}
    exposed = lines["exposed communication"]  # mean over the ranks: the late one computes while rank 0 waits
    assert abs(exposed["head"] - (60 + 3) / 2) < 0.5 and abs(exposed["base"] - 20) < 0.5 and abs(exposed["share"] - 11.5 / 50) < 0.02
    collectives = {line["name"]: line for line in parts(row)["collectives"]["lines"]}
    assert collectives["waiting for the last rank"]["head"] > 10 > collectives["waiting for the last rank"]["base"]
    assert parts(row)["kernels"]["lines"], "kernels that changed are not told"


def test_init_latency_is_explained_by_its_phase(work):
    work.write("matrix.yaml", MATRIX)
    done = work("gate", "matrix.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--worker", stub(), "--base", "self", "--head",
                "set:perturb.sleep={phase: build, seconds: 2}")
    assert done.code == REGRESSION, done
    value = document(work, "g")
    rows = [row for row in value["rows"] if row["metric"] == "init_latency"]
    assert len(rows) == 8
    for row in rows:
        phases = parts(row)["phases"]["lines"]
        assert phases[0]["name"] == "build" and abs(phases[0]["share"] - 1) < 1e-6, phases
    (pattern,) = [one for one in value["patterns"] if one["metric"] == "init_latency"]
    assert pattern["separation"]["kind"] == "uniform" and pattern["alike"]
    assert any(line["name"].startswith("cell: perturb") for line in value["everywhere"])


def test_memory_by_phase_variables_and_compiler_facts(work):
    def detail(name: str, backward: float, nccl: str, breaks: int) -> str:
        return work.write(name, json.dumps({
            "software": {"worker": "stub", "nccl": nccl},
            "memory_inside": {"phases": [{"phase": "forward", "allocated_mib": 300, "peak_mib": 400, "reserved_mib": 500},
                                         {"phase": "backward", "allocated_mib": 100, "peak_mib": backward, "reserved_mib": 2000}]},
            "compile": {"mode": "compile.default", "options": {}, "captures": 1 + breaks, "captures_late": 0, "compile_s": 1.5 + breaks,
                        "graph_breaks": [{"reason": "print", "file": "twin.py", "line": 7, "function": "forward", "count": 1}] * breaks,
                        "recompiles": []}}))
    base, head = (work.path / detail(*facts) for facts in (("base.json", 1000, "2.27.3", 0), ("head.json", 1500, "2.28.9", 1)))
    gate(work, arm("--detail", str(head), "--memory", "1500"), base=arm("--detail", str(base), "--memory", "1000"))
    value = document(work, "g")
    assert any((line["name"], line["base"], line["head"]) == ("nccl", "2.27.3", "2.28.9") for line in value["everywhere"])
    rows = [row for row in value["rows"] if row["metric"] == "peak_memory"]
    assert len(rows) == 8
    memory = parts(rows[0])["memory"]
    assert memory["lines"][0]["name"] == "peak in backward" and abs(memory["lines"][0]["share"] - 1) < 1e-6
    (compiled,) = [row for row in rows if "compile.default" in row["cell"] and "fp32/cpu.ddp1" in row["cell"]]
    texts = [line["head"] for line in parts(compiled)["compile"]["lines"] if line["name"] == "graph break"]
    assert texts == ["print in forward at twin.py:7"]


def test_a_head_that_crashes(work):
    gate(work, arm("--mode-if", f"{BAD}:segv"))
    value = document(work, "g")
    (row,) = [row for row in value["rows"] if row["metric"] == "launches"]
    assert any("crashed" in note for note in parts(row)["failures"]["notes"])
    (pattern,) = [one for one in value["patterns"] if one["metric"] == "launches"]
    assert len(pattern["separation"]["conjunctions"][0]) == 3


def test_two_runs_and_a_baseline(work):
    assert work.run("small.yaml", "a", *NOISE, more=("--launches", "5")).code == OK
    assert work.run("small.yaml", "b", *NOISE, "--slow-if", "*.b4/*:40", more=("--launches", "5")).code == OK
    value = document(work, "a", "b")
    assert {row["metric"] for row in value["rows"]} >= {"throughput"}
    (pattern,) = [one for one in value["patterns"] if one["metric"] == "throughput"]
    assert [term["axis"] for term in pattern["separation"]["conjunctions"][0]] == ["batch"]
    assert "no traces were kept" in parts(value["rows"][0])["kernels"]["absent"]
    assert work("baseline", "save", "a", "--baselines", "bl").code == OK
    assert document(work, "baseline:small", "b", "--baselines", "bl")["rows"] == [], "a baseline of one session blocks nothing"
    against = document(work, "baseline:small", "b", "--baselines", "bl", "--all")
    assert {row["cell"] for row in against["rows"]} >= {row["cell"] for row in value["rows"]}


def test_nothing_worse_is_said(work):
    assert work.run("small.yaml", "a", *NOISE).code == OK
    done = work("why", "a", "a")
    assert done.code == OK and "nothing worse" in done.out, done
    assert document(work, "a", "a")["rows"] == []


def test_inconclusive_rows_when_asked_for(work):
    for out, seed in (("a", "1"), ("b", "2")):
        assert work.run("small.yaml", out, "--noise", "25%", "--seed-from-launch", "--seed", seed).code in (OK, 3)
    few = document(work, "a", "b")
    many = document(work, "a", "b", "--all")
    assert len(many["rows"]) > len(few["rows"])


def test_nothing_to_compare(work):
    work.run("small.yaml", "a", *NOISE)
    work.run("small.yaml", "dead", "--mode", "die")
    value = document(work, "dead", "dead", code=NOT_COMPARABLE)
    assert value["refusal"]
    run = json.loads((work.path / "a" / "run.json").read_text())
    run["fingerprint"]["cpu"]["model"] = "another"
    (work.path / "other").mkdir()
    (work.path / "other" / "run.json").write_text(json.dumps(run))
    (work.path / "other" / "records.jsonl").write_text((work.path / "a" / "records.jsonl").read_text())
    refused = work("why", "a", "other")
    assert refused.code == NOT_COMPARABLE and "another" in refused.out, refused


def test_bad_input(work):
    work.run("small.yaml", "a", *NOISE)
    for arguments, words in ((("nowhere",), "holds no gate"), (("a",), "why BASE HEAD"), (("a", "nowhere"), "no such run folder"),
                             (("a", "a", "--cell", "resnet19*"), "nearest"), (("a", "a", "a"), ""), ((), "")):
        done = work("why", *arguments)
        assert done.code == USAGE and words in done.err, done
    gate(work, arm("--slow-if", "*:30"))
    file = work.path / "g" / "gate.json"
    text = file.read_text()
    for broken, words in ((text[:100], "gate.json"), (text.replace('"stepgauge.gate"', '"stepgauge.run"'), "not the verdict"),
                          (text.replace('"regressed"', '"bad"'), "regressed")):
        file.write_text(broken)
        done = work("why", "g")
        assert done.code == USAGE and (words in done.err or "verdict" in done.err), done
    file.unlink()
    missing = work("why", "g")
    assert missing.code == USAGE and "--resume g" in missing.err, missing


def test_a_record_cannot_name_a_folder_outside_its_run(work):
    gate(work, arm("--slow-if", "*:30", "--exposed-comm", "20%"))
    for name in ("base", "head"):
        journal = work.path / "g" / name / "records.jsonl"
        lines = []
        for line in journal.read_text().splitlines():
            record = strict_json(line)
            record["evidence"]["folder"] = "../../elsewhere/" + record["evidence"]["folder"]
            lines.append(json.dumps(record))
        journal.write_text("\n".join(lines) + "\n")
    assert all("no traces were kept" in parts(row)["kernels"]["absent"] for row in document(work, "g")["rows"]
               if row["metric"] == "throughput")
