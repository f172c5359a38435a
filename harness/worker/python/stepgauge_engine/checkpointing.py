"""Activation checkpointing of a twin's blocks with PyTorch's own utilities."""

from collections.abc import Callable

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from .cell import Checkpointing

aten = torch.ops.aten

# Their results are kept under the selective policy, all else is computed again: what is expensive per byte kept.
KEPT = [
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten.baddbmm.default,
    aten._scaled_mm.default,
    aten.convolution.default,
    aten._scaled_dot_product_flash_attention.default,
    aten._scaled_dot_product_efficient_attention.default,
    aten._scaled_dot_product_cudnn_attention.default,
    aten._scaled_dot_product_flash_attention_for_cpu.default,
    aten._scaled_dot_product_attention_math.default,
]


class Recomputation:
    """Counts how often the checkpointed blocks ran (eager steps alone: under a compiler the count would be a side effect inside the
    graph), and how often PyTorch asked the selective policy: each eager block does, and the compiler while it traces."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.choices_asked = 0
        self._runs = 0

    def selective(self) -> Callable:
        """`context_fn` of checkpoint()."""

        def contexts():
            self.choices_asked += 1
            return create_selective_checkpoint_contexts(KEPT)

        # AOT autograd's cache needs a name for the choice, else it leaves the program out.
        contexts.cache_hash = ",".join(map(str, KEPT))
        return contexts

    def count(self) -> None:
        self._runs += 1

    def of_last_step(self) -> int:
        """Blocks run beyond once each since the last call to restart."""
        return max(0, self._runs - self.blocks)

    def restart(self) -> None:
        self._runs = 0


def chosen(blocks: list[nn.Module], wanted: Checkpointing) -> list[nn.Module]:
    """Blocks k - 1, 2k - 1, ..., as the C++ modes."""
    return [] if wanted.policy == "none" else blocks[wanted.every - 1 :: wanted.every]


def apply(blocks: list[nn.Module], wanted: Checkpointing, counted: bool) -> Recomputation:
    """Makes the chosen blocks forget their activations. `counted`: see Recomputation."""
    selected = chosen(blocks, wanted)
    recomputation = Recomputation(len(selected))
    options = {"use_reentrant": wanted.reentrant, "preserve_rng_state": True}
    if wanted.policy == "selective":
        options["context_fn"] = recomputation.selective()
    for block in selected:
        block.forward = wrapped(block.forward, options, recomputation if counted else None)
    return recomputation


def wrapped(forward: Callable, options: dict, recomputation: Recomputation | None) -> Callable:
    """`forward` as a checkpointed region."""

    def compute(*inputs):
        if recomputation is not None:
            recomputation.count()
        return forward(*inputs)

    def checkpointed(*inputs):
        return checkpoint(compute, *inputs, **options)

    return checkpointed
