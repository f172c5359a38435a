"""Snapshots and census of the compiler's graphs."""

import json
import pathlib

import pytest
from conftest import LLAMA, Run

pytestmark = pytest.mark.filterwarnings("ignore")
ONE_LAYER = {"name": "llama", "family": "llama", "sizes": LLAMA | {"layers": 1}}  # tracemalloc makes the census slow


@pytest.fixture
def snapshot(no_codegen, tmp_path: pathlib.Path):
    def make(**cell) -> tuple[Run, dict]:
        path = tmp_path / "rank0.graphs.json"
        run = Run(options={"graphs_path": str(path)}, compile="compile.default", **cell)
        run.engine.mark_late()
        run.engine.write_graphs()
        return run, json.loads(path.read_text())

    return make


@pytest.mark.parametrize("family", ["llama", "resnet"])
def test_one_region_each_for_capture_forward_and_backward(snapshot, family: str) -> None:
    run, graphs = snapshot(family=family)
    assert (graphs["schema"], graphs["version"]) == ("stepgauge.graphs", 1)
    assert (graphs["cell_id"], graphs["mode"]) == (run.cell["id"], "compile.default")
    assert [(region["name"], region["kind"], region["ended"]) for region in graphs["regions"]] == [
        ("0/0", "dynamo", "whole frame"), ("0/0", "aot_forward", "whole frame"), ("0/0", "aot_backward", "whole frame")]
    for region in graphs["regions"]:
        assert region["file"].endswith(f"workloads/{family}/twin.py")
        assert region["function"] == "forward"
        names = [node["name"] for node in region["nodes"]]
        assert len(set(names)) == len(names)
        assert all(source in names for node in region["nodes"] for source in node["inputs"])


def test_nodes_say_where_they_come_from(snapshot) -> None:
    _, graphs = snapshot()
    products = [node for node in graphs["regions"][1]["nodes"] if node["target"] == "aten.mm.default"]
    assert len(products) == 7 * 2 + 1
    assert all(node["file"].endswith("workloads/llama/twin.py") for node in products)
    query = next(node for node in products if node["shape"] == [64, 32])
    line = pathlib.Path(query["file"]).read_text().splitlines()[query["line"] - 1]
    assert (query["dtype"], "q_proj" in line) == ("float32", True)


def test_writing_changes_neither_report_nor_training(snapshot) -> None:
    run, _ = snapshot(family="resnet")
    before = run.report()
    buffers = {name: buffer.clone() for name, buffer in run.buffers.items()}
    run.engine.write_graphs()
    assert run.report() == before
    assert all(buffer.equal(buffers[name]) for name, buffer in run.buffers.items())
    run.restart()
    assert run.steps(3) == run.losses
    assert run.report()["captures_late"] == 0


def test_a_graph_break_ends_a_region(snapshot) -> None:
    _, graphs = snapshot(family="resnet", perturb={"wrong": "graph_break"})
    dynamo = [region for region in graphs["regions"] if region["kind"] == "dynamo"]
    assert len(dynamo) > 1
    assert any(region["ended"].startswith("graph break: Call to `torch._dynamo.graph_break()`") for region in dynamo)


def test_checkpointed_blocks_are_in_the_snapshot(snapshot) -> None:
    _, plain = snapshot()
    _, recomputed = snapshot(checkpointing="full")
    count = [sum(node["target"].endswith("linear") for node in graphs["regions"][0]["nodes"]) for graphs in (plain, recomputed)]
    assert count == [15, 15]
    backward = [sum(node["target"] == "aten.mm.default" for node in graphs["regions"][2]["nodes"]) for graphs in (plain, recomputed)]
    assert backward[1] > backward[0]


def test_census(no_codegen) -> None:
    rows = {row["ir"]: row for row in json.loads(Run(steps=1, compile="compile.default", workload=ONE_LAYER).engine.census())}
    assert list(rows) == ["fx.symbolic", "dynamo", "aot.forward", "aot.backward", "export"]
    for row in rows.values():
        assert row["nodes"] == sum(row["kinds"].values()) > 0
        assert row["seconds"] > 0
        assert "tracemalloc" in row["method"]
    assert rows["fx.symbolic"]["kinds"]["Linear"] == 8
    assert rows["export"]["kinds"]["aten.linear.default"] == 8
    assert rows["aot.forward"]["kinds"]["aten.mm.default"] == 8
    assert rows["fx.symbolic"]["nodes"] < rows["aot.forward"]["nodes"] < rows["aot.backward"]["nodes"]
    assert rows["aot.forward"]["memory_mib"] > rows["fx.symbolic"]["memory_mib"] > 0


def test_census_of_an_uncompiled_cell_and_what_it_cannot_express() -> None:
    rows = {row["ir"]: row for row in json.loads(Run(steps=1, precision="fp8", workload=ONE_LAYER).engine.census())}
    assert rows["fx.symbolic"]["absent"].startswith("TraceError: ")  # fp8's product looks at its input's shape
    assert rows["fx.symbolic"]["nodes"] is None
    assert rows["dynamo"]["nodes"] > 0
