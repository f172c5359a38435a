"""Finds a workload's Python twin and puts it over the tensors that C++ made."""

import difflib
import importlib.util
import pathlib
import sys
import types

import torch
from torch import Tensor, nn


def folders() -> list[pathlib.Path]:
    """Beside this package as installed; in the source tree, wherever sys.path leads to a folder `workloads`."""
    return [pathlib.Path(__file__).resolve().parents[1], *(pathlib.Path(entry) for entry in sys.path)]


def load_twin(family: str) -> types.ModuleType:
    """The module workloads/<family>/twin.py."""
    name = f"stepgauge_twins.{family}"
    if name in sys.modules:
        return sys.modules[name]
    tried = [folder / "workloads" / family / "twin.py" for folder in folders()]
    path = next((path for path in tried if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"workload family {family} has no Python twin (looked for {tried[0]} and along sys.path)")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def check_names(what: str, expected: dict[str, Tensor], given: dict[str, Tensor]) -> None:
    """Names and shapes must be those of the twin, or another model would be measured."""
    for name in given:
        if name not in expected:
            near = difflib.get_close_matches(name, expected, 1)
            raise ValueError(f"the twin has no {what} {name}" + (f" (nearest: {near[0]})" if near else ""))
    for name, tensor in expected.items():
        if name not in given:
            raise ValueError(f"{what} {name} of the twin was not given")
        if tensor.shape != given[name].shape:
            raise ValueError(f"{what} {name} has shape {list(given[name].shape)}, the twin's has {list(tensor.shape)}")


def persistent_buffers(model: nn.Module) -> dict[str, Tensor]:
    kept = model.state_dict(keep_vars=True)
    return {name: buffer for name, buffer in model.named_buffers() if name in kept}


def adopt(model: nn.Module, weights: dict[str, Tensor], buffers: dict[str, Tensor]) -> None:
    """Gives a model on the meta device its tensors, sharing their storage: parameters of its own, so that their gradients
    are Python's, over the values of the given ones."""
    check_names("parameter", dict(model.named_parameters()), weights)
    check_names("buffer", persistent_buffers(model), buffers)
    for name, tensor in weights.items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, nn.Parameter(tensor.detach()))
    for name, tensor in buffers.items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, tensor.detach())


def build_twin(
    family: str, sizes: dict[str, int], weights: dict[str, Tensor], buffers: dict[str, Tensor], autocast: torch.dtype | None, eager: bool
) -> nn.Module:
    """A training model over the given tensors; no parameter is copied. eager: no compiler will see it."""
    twin = load_twin(family)
    model = twin.build(sizes)
    adopt(model, weights, buffers)
    main = weights[next(name for name, tensor in weights.items() if tensor.dim() > 1)]
    with torch.no_grad():
        twin.settle(model, main.device, autocast or main.dtype, eager)
    return model.train()
