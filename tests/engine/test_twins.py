"""The Python twins against the C++ workloads. If this fails, the compile modes are compared with another model."""

import json
import os
import pathlib
import subprocess

import pytest
import torch
from conftest import SOURCE, Run, make_batch, make_cell, make_tensors

from stepgauge_engine import Engine
from stepgauge_engine.twins import build_twin, load_twin, persistent_buffers

PROGRAM = pathlib.Path(os.environ.get("STEPGAUGE_BIN_DIR", SOURCE / "build" / "bin")) / "describe_workload"
FILES = sorted((SOURCE / "workloads").glob("*/workload.json"))
PRESETS = [(path.parent.name, preset) for path in FILES for preset in json.loads(path.read_text())["presets"]]
SMALL = [
    ("resnet", {"depth": 18, "width": 16, "classes": 10, "image": 40}),
    ("resnet", {"depth": 50, "width": 8, "classes": 10, "image": 33}),
    ("llama", {"layers": 3, "hidden": 48, "heads": 6, "kv_heads": 2, "ffn": 80, "vocab": 97, "sequence": 33}),
    ("llama", {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 4, "ffn": 176, "vocab": 256, "sequence": 64}),
]


def describe(*args: str) -> dict:
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("family", "preset"), PRESETS)
def test_names_shapes_and_order(family: str, preset: str) -> None:
    declared = json.loads((SOURCE / "workloads" / family / "workload.json").read_text())
    sizes = {key: size["default"] for key, size in declared["sizes"].items() if "default" in size} | declared["presets"][preset]
    cpp = describe("shapes", family, json.dumps(sizes))
    twin = load_twin(family).build(sizes)
    assert [[name, list(value.shape)] for name, value in twin.named_parameters()] == cpp["parameters"]
    assert [[name, list(value.shape)] for name, value in persistent_buffers(twin).items()] == cpp["buffers"]


@pytest.mark.parametrize(("family", "sizes"), SMALL, ids=[f"{family}-{index}" for index, (family, _) in enumerate(SMALL)])
@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
def test_loss_gradients_and_statistics(family: str, sizes: dict, eager: bool, tmp_path: pathlib.Path) -> None:
    cell = make_cell(family, workload={"name": family, "family": family, "sizes": sizes})
    weights, buffers = make_tensors(cell)
    if family == "llama":  # attention far from uniform, or positions would hardly matter
        weights = {name: value * (4 if value.dim() > 1 else 1) for name, value in weights.items()}
    inputs, target = make_batch(cell)
    state = {name: value.clone() for name, value in (weights | buffers).items()}
    torch.save({"state": state, "input": inputs, "target": target}, tmp_path / "state.pt")
    cpp = describe("evaluate", family, json.dumps(sizes), str(tmp_path / "state.pt"))

    model = build_twin(family, sizes, weights, buffers, None, eager=eager)
    loss = load_twin(family).loss(model, inputs, target)
    loss.backward()
    assert loss.item() == pytest.approx(cpp["loss"], rel=1e-5)
    assert {name: value.grad.norm().item() for name, value in model.named_parameters()} == pytest.approx(cpp["gradients"], rel=2e-4)
    ours = {name: value.double().sum().item() for name, value in persistent_buffers(model).items()}
    assert ours == pytest.approx(cpp["buffers"], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("family", ["llama", "resnet"])
def test_parameters_and_buffers_are_shared(family: str) -> None:
    run = Run(family=family)
    for name, parameter in run.engine.parameters():
        assert parameter.data_ptr() == run.weights[name].data_ptr()
        assert not torch.equal(run.weights[name], run.first[name]), f"{name} did not change"
    assert [buffer.data_ptr() for buffer in run.engine.buffers_list()] == [buffer.data_ptr() for buffer in run.buffers.values()]


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    cell = make_cell()
    weights, buffers = make_tensors(cell)
    weights["lm_heat.weight"] = weights.pop("lm_head.weight")
    with pytest.raises(ValueError, match="no parameter lm_heat.weight .nearest: lm_head.weight"):
        Engine(json.dumps(cell), "cpu", weights, buffers, "{}")


def test_a_wrong_shape_is_refused() -> None:
    cell = make_cell()
    weights, buffers = make_tensors(cell)
    weights["lm_head.weight"] = weights["lm_head.weight"].t().contiguous()
    with pytest.raises(ValueError, match=r"lm_head.weight has shape \[32, 64\], the twin's has \[64, 32\]"):
        Engine(json.dumps(cell), "cpu", weights, buffers, "{}")
