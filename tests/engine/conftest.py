"""Engines over small twins, made as the worker makes them: tensors in, one cell as JSON."""

import copy
import json
import os
import pathlib
import sys

import pytest
import torch
import torch._dynamo

SOURCE = pathlib.Path(os.environ.get("STEPGAUGE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
sys.path[:0] = [str(SOURCE / "harness" / "worker" / "python"), str(SOURCE)]

from stepgauge_engine import Engine  # noqa: E402
from stepgauge_engine.twins import load_twin, persistent_buffers  # noqa: E402

torch.set_num_threads(1)

LLAMA = {"layers": 2, "hidden": 32, "heads": 4, "kv_heads": 2, "ffn": 48, "vocab": 64, "sequence": 16}
RESNET = {"depth": 18, "width": 8, "classes": 10, "image": 32}
SIZES = {"llama": LLAMA, "resnet": RESNET}
BATCH = 4
HALF_PARAMETERS = ("bf16_pure", "fp8", "fp8_delayed")


def make_cell(family: str = "llama", **changes) -> dict:
    adamw = {"name": "adamw", "lr": 0.01, "momentum": 0.9, "weight_decay": 0.0}
    sgd = {"name": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 0.0}
    cell = {
        "id": f"{family}/test-00c0ffee", "hash": "00c0ffee", "workload": {"name": family, "family": family, "sizes": SIZES[family]},
        "precision": "fp32", "compile": "python_eager", "checkpointing": "none", "memory_format": "contiguous", "batch": BATCH,
        "optimizer": adamw if family == "llama" else sgd, "perturb": None,
        "ddp": {"ranks": 1, "bucket_cap_mb": 25, "first_bucket_mb": 1, "gradient_as_bucket_view": True, "find_unused": False,
                "static_graph": False},
    }
    return copy.deepcopy(cell | changes)


def make_tensors(cell: dict) -> tuple[dict, dict]:
    """Weights and buffers as C++ would hand them over, the same in every call."""
    generator = torch.Generator().manual_seed(0)
    model = load_twin(cell["workload"]["family"]).build(cell["workload"]["sizes"])
    half = cell["precision"] in HALF_PARAMETERS
    weights = {}
    for name, parameter in model.named_parameters():
        value = torch.randn(parameter.shape, generator=generator) * 0.1 + (parameter.dim() == 1 and name.endswith("weight"))
        norm = "bn" in name or "downsample.1" in name  # a batch norm keeps its parameters in fp32
        weights[name] = value.to(torch.bfloat16) if half and not norm else value
    buffers = {name: (torch.ones if name.endswith("running_var") else torch.zeros)(buffer.shape, dtype=buffer.dtype)
               for name, buffer in persistent_buffers(model).items()}
    return weights, buffers


def make_batch(cell: dict, samples: int = BATCH) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    sizes = cell["workload"]["sizes"]
    if cell["workload"]["family"] == "llama":
        tokens = torch.randint(sizes["vocab"], (samples, sizes["sequence"] + 1), generator=generator)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    images = torch.randn(samples, 3, sizes["image"], sizes["image"], generator=generator)
    dtype = torch.bfloat16 if cell["precision"] in HALF_PARAMETERS else torch.float32
    return images.to(dtype), torch.randint(sizes["classes"], (samples,), generator=generator)


class Run:
    """An engine after its first steps."""

    def __init__(self, steps: int = 3, options: dict | None = None, **cell) -> None:
        self.cell = make_cell(**cell)
        self.weights, self.buffers = make_tensors(self.cell)
        self.first = {name: tensor.clone() for name, tensor in self.weights.items()}
        self.first_buffers = {name: tensor.clone() for name, tensor in self.buffers.items()}
        if self.cell["compile"].startswith("compile."):  # or a program of an engine before would be taken
            torch._dynamo.reset()
        self.engine = Engine(json.dumps(self.cell), "cpu", self.weights, self.buffers, json.dumps(options or {}))
        self.engine.set_batch(*make_batch(self.cell))
        self.engine.prepare()
        self.losses = self.steps(steps)

    def steps(self, count: int) -> list[float]:
        return [self.engine.step().item() for _ in range(count)]

    def gradients(self) -> dict[str, torch.Tensor]:
        return {name: parameter.grad.clone() for name, parameter in self.engine.parameters()}

    def restart(self) -> None:
        self.engine.reset(self.first, self.first_buffers)

    def report(self) -> dict:
        return json.loads(self.engine.report())


def largest_difference(ours: dict, reference: dict) -> float:
    """Relative, over the norm of each tensor."""
    return max(float((ours[name].float() - value.float()).norm() / value.float().norm()) for name, value in reference.items())


@pytest.fixture
def no_codegen(monkeypatch):
    """The compiler up to its graphs, which then run as they are: generating code takes a minute on a small machine."""
    from torch._dynamo.backends.debugging import aot_eager

    from stepgauge_engine.compiler import LookingInductor

    def call(self, graph, inputs):
        self._look(graph, inputs)
        return aot_eager(graph, inputs)

    monkeypatch.setattr(LookingInductor, "__call__", call)
