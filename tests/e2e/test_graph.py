"""Snapshots of compiled graphs from outside: show, diff, and files that are none."""

import json

import pytest
from conftest import OK, strict_json

TWIN = "/somewhere/workloads/llama/twin.py"


def node(name: str, target: str, line: int) -> dict:
    return {"name": name, "op": "call_function", "target": target, "file": TWIN, "line": line, "function": "forward",
            "shape": [4, "s0"], "dtype": "float32", "inputs": []}


def snapshot(*regions: tuple[str, list[dict]]) -> dict:
    return {"schema": "stepgauge.graphs", "version": 1, "cell_id": "llama.tiny/compile.default-00000000", "mode": "compile.default",
            "regions": [{"name": name, "function": "forward", "file": TWIN, "line": 10, "kind": "dynamo", "ended": ended, "nodes": nodes}
                        for name, ended, nodes in regions]}


NODES = [node("mm", "aten.mm", 11), node("add", "aten.add", 12), node("relu", "aten.relu", 13)]
WHOLE = snapshot(("0/0", "whole frame", NODES))
CUT = snapshot(("0/0", "graph break: print", NODES[:1]), ("1/0", "whole frame", NODES[1:]))


def test_show_names_regions_and_breaks(work):
    (work.path / "launch").mkdir()
    work.write("launch/rank0.graphs.json", json.dumps(CUT))
    done = work("graph", "show", "launch", "--region", "1/0")
    assert done.code == OK, done
    assert "ended at a graph break: print" in done.out and "llama/twin.py:12 (forward)" in done.out
    assert [region["calls"] for region in strict_json(work("graph", "show", "launch", "--json").out)["regions"]] == [1, 2]


def test_diff_names_what_moved(work):
    work.write("a.json", json.dumps(WHOLE))
    work.write("b.json", json.dumps(CUT))
    done = work("graph", "diff", "a.json", "b.json", "--json")
    assert done.code == OK, done
    found = strict_json(done.out)
    assert (found["same"], found["moved"], found["vanished"], found["appeared"]) == (1, 2, 0, 0)
    assert {change["to"] for change in found["changes"]} == {"dynamo:1/0"}


@pytest.mark.parametrize(("text", "complaint"), [
    ("{", "not valid JSON"),
    ("{}", "not a graph snapshot"),
    (json.dumps({**WHOLE, "version": 9}), "snapshot version 9, this program reads up to 1"),
    (json.dumps({**WHOLE, "regions": [{"name": "0/0"}]}), 'regions[0]: "kind" is missing'),
])
def test_files_that_are_none(work, text, complaint):
    work.write("bad.json", text)
    for command in (("show", "bad.json"), ("diff", "bad.json", "bad.json")):
        done = work("graph", *command)
        assert done.code == 2 and complaint in done.err and "bad.json" in done.err, done


def test_a_folder_without_a_snapshot_says_how_to_get_one(work):
    done = work("graph", "show", ".")
    assert done.code == 2 and "measure: {graphs: true}" in done.err, done
