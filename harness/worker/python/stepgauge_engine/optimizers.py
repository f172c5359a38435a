"""The optimizer of a cell, PyTorch's own, and the way back to its first step."""

import torch
from torch import nn

from .cell import Cell, Unsupported


def make_optimizer(cell: Cell, model: nn.Module) -> torch.optim.Optimizer:
    """Fused, as in the C++ modes. One that is compiled is left to the compiler to fuse: a fused operator would be a single
    node that it calls."""
    wanted = cell.optimizer
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    common = {"lr": wanted["lr"], "weight_decay": wanted["weight_decay"]}
    common |= {"foreach": True} if cell.options.compile_optimizer else {"fused": True}
    if wanted["name"] == "sgd":
        return torch.optim.SGD(parameters, momentum=wanted["momentum"], **common)
    if wanted["name"] == "adamw":
        # The step counts stay on the device, or each step would wait for them.
        capturable = cell.options.compile_optimizer and parameters[0].is_cuda
        return torch.optim.AdamW(parameters, capturable=capturable, **common)
    raise Unsupported(f'this engine does not know optimizer "{wanted["name"]}" (it knows sgd, adamw)')


def restart(optimizer: torch.optim.Optimizer) -> None:
    """The state before the first step, in place: compiled programs and captured graphs hold on to these tensors. A momentum
    of zero equals a missing one, since the first step takes it as momentum * 0 + gradient."""
    with torch.no_grad():
        for state in optimizer.state.values():
            for value in state.values():
                if isinstance(value, torch.Tensor):
                    value.zero_()
