"""Compile modes: same numbers as uncompiled, and an account of what the compiler did.

Only the last test generates code; the others stop at the compiler's graphs (conftest.no_codegen)."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from conftest import SOURCE, Run, largest_difference, make_batch, make_cell

from stepgauge_engine import Unsupported
from stepgauge_engine.cell import Cell
from stepgauge_engine.compiler import Compiler

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("family", ["llama", "resnet"])
@pytest.mark.parametrize("mode", ["compile.default", "compile.max-autotune-no-cudagraphs", "compile.export"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_same_losses_and_gradients_as_uncompiled(no_codegen, family: str, mode: str, precision: str) -> None:
    plain, ours = Run(family=family, precision=precision), Run(family=family, precision=precision, compile=mode)
    # The twin's blocks are not in place under a compiler, which changes no rounding but that of a bf16 sum.
    assert ours.losses == pytest.approx(plain.losses, rel=1e-5 if precision == "fp32" else 2e-3 if family == "llama" else 0.1)
    if precision == "fp32":
        assert largest_difference(ours.gradients(), plain.gradients()) < 1e-3
    assert [parameter.data_ptr() for _, parameter in ours.engine.parameters()] == [weight.data_ptr() for weight in ours.weights.values()]
    report = ours.report()
    assert (report["mode"], report["captures"], report["captures_late"]) == (mode, 1, 0)
    assert (report["graph_breaks"], report["recompiles"]) == ([], [])
    assert report["graph_nodes"] > 50
    assert (report["stages_s"]["trace"] is not None) == (mode == "compile.export")
    assert report["compile_s"] == pytest.approx(sum(value for value in report["stages_s"].values() if value))
    assert ours.engine.recomputed() is None


@pytest.mark.parametrize("value", ["full", "every_2", "selective", "full.reentrant"])
def test_checkpointing_under_the_compiler(no_codegen, value: str) -> None:
    plain, ours = Run(checkpointing=value), Run(checkpointing=value, compile="compile.default")
    assert ours.losses == pytest.approx(plain.losses, rel=1e-5)
    assert ours.report()["captures"] == 1
    assert ((json.loads(ours.engine.settings())["used"].get("selective_choices") or 0) > 0) == (value == "selective")


@pytest.mark.parametrize("precision", ["fp8", "fp8_delayed"])
def test_fp8_is_captured_whole(no_codegen, precision: str) -> None:
    plain = Run(precision=precision)
    ours = Run(precision=precision, compile="compile.default", compile_options={"fullgraph": True})
    assert ours.losses == pytest.approx(plain.losses, rel=1e-2)
    ours.restart()
    assert ours.steps(3) == ours.losses
    assert (ours.report()["captures"], ours.report()["recompiles"]) == (1, [])


def test_reset_keeps_the_compiled_program(no_codegen) -> None:
    run = Run(compile="compile.default")
    run.engine.mark_late()
    run.restart()
    assert run.steps(3) == run.losses
    assert run.report()["captures_late"] == 0


def test_a_graph_break_is_reported_with_its_line(no_codegen) -> None:
    report = Run(compile="compile.default", perturb={"wrong": "graph_break"}).report()
    found = next(item for item in report["graph_breaks"] if "graph_break()" in item["reason"])
    line = pathlib.Path(found["file"]).read_text().splitlines()[found["line"] - 1]
    assert "torch._dynamo.graph_break()" in line
    assert found["reason"].startswith("Call to `torch._dynamo.graph_break()`: User-inserted graph break.")
    assert (found["function"], found["in_torch"]) == ("forward_after_break", False)
    assert found["count"] >= 1
    assert report["captures"] > 1


def test_fullgraph_makes_a_graph_break_an_error(no_codegen) -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        Run(compile="compile.default", compile_options={"fullgraph": True}, perturb={"wrong": "graph_break"})


def test_export_refuses_what_it_cannot_capture_whole(no_codegen) -> None:
    """It reads no bytecode, so dynamo's graph breaks do not concern it; a choice by a tensor's value does."""

    class Choice(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x if x.sum() > 0 else y).sum()

    compiler = Compiler(Cell.parse(json.dumps(make_cell(compile="compile.export"))), lambda graph, inputs: None)
    with pytest.raises(Unsupported, match="torch.export cannot capture this program whole: .*GuardOnDataDependent"):
        compiler.export(Choice(), (torch.ones(3), torch.ones(3)))


def test_a_recompilation_names_its_guard_and_is_late(no_codegen) -> None:
    run = Run(steps=16, compile="compile.default", compile_options={"dynamic": "off"}, perturb={"wrong": "recompile"})
    run.engine.mark_late()
    run.steps(24)
    report = run.report()
    assert [item["late"] for item in report["recompiles"]] == [True, True]
    assert "size mismatch at index 0. expected 4, actual 3" in report["recompiles"][0]["guard"]
    assert report["recompiles"][0]["file"].endswith("workloads/llama/twin.py")
    assert (report["captures"], report["captures_late"]) == (3, 2)


def test_a_second_shape_before_mark_late_is_not_late(no_codegen) -> None:
    run = Run(compile="compile.default")
    run.engine.set_batch(*make_batch(run.cell, samples=3))
    run.steps(1)
    run.engine.mark_late()
    run.steps(1)
    report = run.report()
    assert ([item["late"] for item in report["recompiles"]], report["captures_late"]) == ([False], 0)


def test_compiled_autograd_and_optimizer(no_codegen) -> None:
    plain = Run()
    autograd = Run(compile="compile.default", compile_options={"compiled_autograd": True})
    assert autograd.losses == pytest.approx(plain.losses, rel=1e-5)
    assert autograd.report()["captures"] == 2
    optimizer = Run(compile="compile.default", compile_options={"compile_optimizer": True})
    assert optimizer.losses == pytest.approx(plain.losses, rel=1e-5)
    assert optimizer.report()["captures"] >= 2
    with pytest.raises(Unsupported, match="compile_optimizer has no effect"):
        Run(compile="compile.default", precision="fp16", compile_options={"compile_optimizer": True})


def test_tools_that_are_missing_are_named(no_codegen, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/opt/stepgauge-worker")
        with pytest.raises(RuntimeError, match='sys.executable is "/opt/stepgauge-worker"'):
            Run(compile="compile.default")
    from torch._inductor import cpp_builder, exc

    def none() -> str:
        raise exc.InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", none)
    with pytest.raises(Unsupported, match="needs a C"):
        Run(compile="compile.default")


def test_python_eager_loads_no_compiler(tmp_path: pathlib.Path) -> None:
    program = "import sys, conftest; conftest.Run(steps=1); sys.exit('torch._inductor.compile_fx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=pathlib.Path(__file__).parent, check=False)
    assert done.returncode == 0


PROGRAM = """
import json, sys, conftest
sizes = conftest.LLAMA | {"layers": 1}
cell = {"compile": "compile.default", "cache": sys.argv[1], "workload": {"name": "llama", "family": "llama", "sizes": sizes}}
run = conftest.Run(**cell)
run.engine.stamp_cache()
print(json.dumps({"losses": run.losses, "plain": conftest.Run(**cell | {"compile": "python_eager"}).losses, "report": run.report()}))
"""


def launch(asked: str, folder: pathlib.Path) -> dict:
    variables = {
        "STEPGAUGE_CACHE_DIR": str(folder), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton"),
        "TORCHINDUCTOR_VEC_ISA_OK": "0",  # scalar loops: else a dozen Pythons are started to try the instruction sets
        "STEPGAUGE_SOURCE_DIR": str(SOURCE),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM, asked], cwd=pathlib.Path(__file__).parent, env=os.environ | variables,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_generated_code_cold_and_warm(tmp_path: pathlib.Path) -> None:
    cold = launch("cold", tmp_path / "rank0")
    warm = launch("warm", tmp_path / "rank0")
    for result in (cold, warm):
        assert result["losses"] == pytest.approx(result["plain"], rel=1e-5)
    caches = cold["report"]["caches"]
    assert (caches["asked"], caches["entries_before"], caches["hits"]) == ("cold", 0, 0)
    assert caches["misses"] == 3  # AOT autograd's program, and inductor's forward and backward graphs
    assert caches["kinds"]["inductor"] == "cold, 2 files"
    assert warm["report"]["caches"]["misses"] == 0
    assert warm["report"]["caches"]["hits"] >= 1
    assert warm["report"]["caches"]["entries_before"] == caches["entries_after"] > 3
    assert cold["report"]["stages_s"]["inductor"] > warm["report"]["stages_s"]["inductor"]
