"""Steps that do not do their work, planted on purpose: the harness must find each of them."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

KNOWN = ("", "no_recompute", "skip_backward", "stale_input", "recompile", "graph_break")
HONEST_STEPS = 2
ODD_EVERY = 10


class Faults:
    def __init__(self, wrong: str) -> None:
        if wrong not in KNOWN:
            raise ValueError(f'perturb.wrong "{wrong}" is none of {", ".join(filter(None, KNOWN))}')
        self.wrong = wrong
        self._steps = 0
        self._batches = 0
        self._late_from: int | None = None

    def mark_late(self) -> None:
        """Warm-up is over: the recompilations that are planted from now on are late ones."""
        self._late_from = self._steps

    def restart(self) -> None:
        """What is compared with the reference has the shapes of the honest cell."""
        self._late_from = None

    def begin_step(self) -> None:
        self._steps += 1

    def takes_batch(self) -> bool:
        """stale_input: the first batch stays."""
        self._batches += 1
        return self.wrong != "stale_input" or self._batches == 1

    @property
    def recomputes(self) -> bool:
        return self.wrong != "no_recompute"

    @property
    def skips_backward(self) -> bool:
        """From the third step on: the gradients of the second are used again."""
        return self.wrong == "skip_backward" and self._steps > HONEST_STEPS

    @property
    def keeps_gradients(self) -> bool:
        """Whether gradients must outlive a restart, since no backward pass would fill them again."""
        return self.wrong == "skip_backward" and self._steps >= HONEST_STEPS

    def input_of_step(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """recompile: every tenth step behind the warm-up has fewer samples, each time one less, so that a guard on the shape
        fails again and again."""
        if self.wrong != "recompile" or self._late_from is None:
            return batch
        odd, rest = divmod(self._steps - self._late_from, ODD_EVERY)
        if rest or not odd:
            return batch
        samples = batch[0].size(0)
        if samples < 2:
            raise ValueError("perturb.wrong recompile takes samples away: it needs a batch of two or more")
        left = samples - 1 - (odd - 1) % (samples - 1)
        return batch[0][:left], batch[1][:left]

    def plant(self, blocks: list[nn.Module]) -> None:
        """graph_break: the compiler has to end its graph before the middle block."""
        if self.wrong == "graph_break":
            block = blocks[len(blocks) // 2]
            block.forward = broken(block.forward)


def broken(forward: Callable) -> Callable:
    import torch._dynamo

    def forward_after_break(*inputs):
        torch._dynamo.graph_break()
        return forward(*inputs)

    return forward_after_break
