"""What one step does: precision, checkpointing, the way back to the start, and planted faults."""

import json

import pytest
import torch
from conftest import Run, largest_difference, make_batch, make_cell, make_tensors

from stepgauge_engine import Engine, Unsupported
from stepgauge_engine.fp8 import HISTORY, Fp8Layers, Fp8Product, cast, own_scale

# Relative error of the gradients of a first step against fp32, measured 0.019, 0.02, 0.002, 0.22 and 0.25; twice that is allowed.
GRADIENT_ERROR = {"bf16": 0.04, "bf16_pure": 0.05, "fp16": 0.005, "fp8": 0.45, "fp8_delayed": 0.5}
LOSS_ERROR = {"bf16": 2e-3, "bf16_pure": 5e-3, "fp16": 5e-4, "fp8": 2e-2, "fp8_delayed": 2e-2}


@pytest.mark.parametrize("precision", GRADIENT_ERROR)
def test_precision_agrees_with_fp32_and_learns(precision: str) -> None:
    reference = Run(steps=1)
    ours = Run(steps=1, precision=precision)
    assert ours.losses[0] == pytest.approx(reference.losses[0], rel=LOSS_ERROR[precision])
    error = largest_difference(ours.gradients(), reference.gradients())
    assert 0 < error < GRADIENT_ERROR[precision]
    assert ours.steps(5)[-1] < 0.8 * ours.losses[0]


@pytest.mark.parametrize("precision", ["bf16", "bf16_pure", "fp16"])
def test_resnet_in_half_precision(precision: str) -> None:
    """Coarse: the last batch norms see four values a channel."""
    assert Run(family="resnet", precision=precision).losses[0] == pytest.approx(Run(family="resnet").losses[0], rel=0.1)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "fp8", "fp8_delayed"])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_reset_gives_the_first_losses_back(precision: str, optimizer: str) -> None:
    run = Run(steps=4, precision=precision, optimizer={"name": optimizer, "lr": 0.01, "momentum": 0.9, "weight_decay": 0.1})
    run.restart()
    assert run.steps(4) == run.losses


def test_resnet_reset_restores_statistics() -> None:
    run = Run(family="resnet")
    run.restart()
    assert all(torch.equal(buffer, run.first_buffers[name]) for name, buffer in run.buffers.items())
    assert run.steps(3) == run.losses


@pytest.mark.parametrize("family", ["llama", "resnet"])
@pytest.mark.parametrize(("value", "recomputed"), [
    ("full", 1.0), ("every_2", 0.5), ("selective", 1.0), ("full.reentrant", 1.0), ("every_2.reentrant", 0.5)])
def test_checkpointing_changes_no_gradient(family: str, value: str, recomputed: float) -> None:
    plain, ours = Run(family=family), Run(family=family, checkpointing=value)
    used = json.loads(ours.engine.settings())["used"]
    assert used.get("selective_choices") == (3 * used["checkpointed_blocks"] if value == "selective" else None)  # 3 steps
    assert ours.losses == plain.losses
    assert largest_difference(ours.gradients(), plain.gradients()) == 0
    blocks = {"llama": 2, "resnet": 8}[family]
    assert ours.engine.recomputed() == recomputed * blocks
    assert plain.engine.recomputed() == 0


@pytest.mark.parametrize("value", ["ful", "every_", "every_0", "selective.reentrant", "none.reentrant", "full.x", "full_3"])
def test_unknown_checkpointing_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="checkpointing"):
        Run(checkpointing=value)


@pytest.mark.parametrize("precision", ["fp8", "fp8_delayed"])
@pytest.mark.parametrize("value", ["full", "selective"])
def test_fp8_recomputes_the_same_scales(precision: str, value: str) -> None:
    assert Run(precision=precision, checkpointing=value).losses == Run(precision=precision).losses


def test_fp8_product_against_fp32() -> None:
    generator = torch.Generator().manual_seed(3)
    x, weight, gradient = (torch.randn(shape, generator=generator) for shape in ((32, 64), (48, 64), (32, 48)))
    reference = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    torch.nn.functional.linear(*reference).backward(gradient)
    ours = [x.to(torch.bfloat16).requires_grad_(), weight.to(torch.bfloat16).requires_grad_()]
    probe = torch.zeros(3, requires_grad=True)
    out = Fp8Product.apply(*ours, probe, None)
    out.backward(gradient.to(torch.bfloat16))
    assert out.float().sub(x @ weight.t()).norm() / out.float().norm() < 0.06  # e4m3 has three bits: 2^-4 at most, 2.6 % rms each
    for tensor, expected in zip(ours, reference):
        assert 0 < (tensor.grad.float() - expected.grad).norm() / expected.grad.norm() < 0.1  # e5m2 has two
    assert probe.grad.tolist() == pytest.approx([tensor.abs().max().item() for tensor in (x, weight, gradient)], rel=1e-2)


def test_fp8_leaves_head_embedding_and_norms_alone() -> None:
    run = Run(precision="fp8")
    assert type(run.engine._model.lm_head) is torch.nn.Linear
    assert len(run.engine._fp8.layers) == 7 * 2
    assert {parameter.dtype for _, parameter in run.engine.parameters()} == {torch.bfloat16}


def test_delayed_scales_follow_the_largest_of_the_history() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False), torch.nn.Linear(16, 16, bias=False))
    layers = Fp8Layers(model, head=model[1], delayed=True, device=torch.device("cpu"))
    for value in (8.0, *[2.0] * (HISTORY - 1)):
        model[0].probe.grad = torch.full((3,), value)
        layers.after_backward()
    assert model[0].scales.tolist() == [448 / 8, 448 / 8, 57344 / 8]
    model[0].probe.grad = torch.full((3,), 4.0)
    layers.after_backward()  # the eight has left
    assert model[0].scales.tolist() == [448 / 4, 448 / 4, 57344 / 4]


def test_values_beyond_a_delayed_scale_saturate() -> None:
    assert cast(torch.tensor([1000.0, -1000.0]), torch.tensor(1.0), torch.float8_e4m3fn, 448.0).float().tolist() == [448.0, -448.0]
    assert own_scale(torch.tensor(0.0), 448.0).isfinite()


@pytest.mark.parametrize(("sizes", "why"), [
    ({"ffn": 40}, "a Linear layer of this workload has 40"), ({"sequence": 15}, "multiple of 16, it is 60")])
def test_fp8_refuses_sides_the_hardware_does_not_take(sizes: dict, why: str) -> None:
    workload = make_cell()["workload"]
    with pytest.raises(Unsupported, match=why):
        Run(precision="fp8", workload=workload | {"sizes": workload["sizes"] | sizes})


def test_fp8_needs_linear_layers() -> None:
    with pytest.raises(Unsupported, match="no Linear layer besides its head"):
        Run(family="resnet", precision="fp8")


def wrong(name: str) -> dict:
    return {"wrong": name}


def test_no_recompute_is_seen_in_the_count() -> None:
    run = Run(checkpointing="full", perturb=wrong("no_recompute"))
    assert (run.engine.recomputed(), json.loads(run.engine.settings())["used"]["checkpointed_blocks"]) == (0, 0)


def test_skip_backward_uses_old_gradients_from_the_third_step_on() -> None:
    run = Run(steps=2, perturb=wrong("skip_backward"))
    assert run.losses == Run(steps=2).losses
    before = run.gradients()
    run.steps(1)
    assert largest_difference(run.gradients(), before) == 0
    run.restart()
    assert run.steps(3) != Run(steps=3).losses


def test_stale_input_keeps_the_first_batch() -> None:
    run = Run(steps=1, perturb=wrong("stale_input"))
    run.restart()
    inputs, target = make_batch(run.cell)
    run.engine.set_batch(inputs.flip(0) + 0, target)
    assert run.steps(1) == run.losses


def test_the_parts_make_the_step() -> None:
    whole, parts = Run(steps=3, precision="fp16"), Run(steps=0, precision="fp16")
    losses = []
    for _ in range(3):
        parts.engine.clear_gradients()
        loss = parts.engine.forward()
        parts.engine.scaled(loss).backward()
        parts.engine.optimizer_step()
        losses.append(loss.item())
    assert losses == whole.losses


def test_marks_are_set_in_order() -> None:
    marks = []
    Run(steps=0).engine.step(marks.append)
    assert marks == ["forward", "backward", "optimizer"]


def test_a_step_needs_a_batch() -> None:
    cell = make_cell()
    engine = Engine(json.dumps(cell), "cpu", *make_tensors(cell), "{}")
    with pytest.raises(RuntimeError, match="set_batch has not been called"):
        engine.step()


@pytest.mark.parametrize(("change", "error"), [
    ({"compile": "torchscript"}, Unsupported), ({"precision": "fp4"}, ValueError), ({"perturb": wrong("x")}, ValueError)])
def test_unknown_values_are_refused(change: dict, error: type) -> None:
    with pytest.raises(error, match="torchscript|fp4|x"):
        Run(**change)
