"""The program traced once more, up to the graphs that inductor would be given, without generating code.

A warm cache hands out finished programs and never shows its graphs, and a compilation that is timed should not be watched;
so the forward and backward graphs after AOT autograd are made again, after all measurement, by the compiler's own passes."""

import contextlib
from collections.abc import Callable

import torch
import torch._dynamo
import torch._functorch.config
import torch._inductor.config
from functorch.compile import make_boxed_func
from torch import Tensor, nn
from torch._inductor.compile_fx import compile_fx

MANY_RECOMPILATIONS = 64

# kind ("dynamo", "aot_forward", "aot_backward"), index of the captured graph, graph
Found = Callable[[str, int, torch.fx.GraphModule], None]


class Tracer:
    """A backend that shows each graph and then runs it as it is."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._captured = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list):
        index = self._captured
        self._captured += 1
        self._found("dynamo", index, graph)

        def keep(lowered: torch.fx.GraphModule, lowered_inputs: list, is_backward: bool = False, **_: object):
            self._found("aot_backward" if is_backward else "aot_forward", index, lowered)
            return make_boxed_func(lowered.forward)

        return compile_fx(graph, inputs, inner_compile=keep)


@contextlib.contextmanager
def untouched(model: nn.Module):
    """Buffers, such as running statistics, are put back."""
    with torch.no_grad():
        saved = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in saved:
                buffer.copy_(value)


def retrace(model: nn.Module, loss: Callable[[nn.Module], Tensor], found: Found) -> None:
    """loss: called with the model as it shall run, gives the loss of one step under the cell's autocast. Needs one forward and one
    backward pass; no gradient is left behind."""
    settings = (
        torch._dynamo.config.patch(recompile_limit=MANY_RECOMPILATIONS),
        torch._inductor.config.patch(fx_graph_cache=False),
        torch._functorch.config.patch(enable_autograd_cache=False),
    )
    traced = torch._dynamo.optimize(backend=Tracer(found))(model)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with contextlib.ExitStack() as stack:
        for setting in settings:
            stack.enter_context(setting)
        stack.enter_context(untouched(model))
        torch.autograd.grad(loss(traced), parameters, allow_unused=True)
