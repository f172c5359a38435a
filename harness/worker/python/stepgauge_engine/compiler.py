"""torch.compile and torch.export of a twin, as a user would call them, with a look at every graph on its way."""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .cell import Cell, Unsupported, first_line

MODES = ("compile.default", "compile.reduce-overhead", "compile.max-autotune", "compile.max-autotune-no-cudagraphs", "compile.export")
CUDAGRAPH_MODES = ("compile.reduce-overhead", "compile.max-autotune")
DYNAMIC = {"auto": None, "on": True, "off": False}

# Called with each graph that dynamo hands to the backend and its example inputs.
Look = Callable[[torch.fx.GraphModule, list], None]


class LookingInductor(torch._TorchCompileInductorWrapper):
    """What torch.compile(mode=...) makes of its default backend, and a look at each graph before it is compiled. The backend
    is called while compiling only, so a steady step does not know of it."""

    def __init__(self, mode: str, dynamic: bool | None, look: Look) -> None:
        super().__init__(mode, None, dynamic)
        self._look = look

    def __call__(self, graph: torch.fx.GraphModule, inputs: list):
        self._look(graph, inputs)
        return super().__call__(graph, inputs)


class Compiler:
    """The compile mode of one cell."""

    def __init__(self, cell: Cell, look: Look) -> None:
        if cell.compile not in MODES:
            raise ValueError(f'compile mode "{cell.compile}" is none of {", ".join(MODES)}')
        self._options = cell.options
        self._cache = cell.cache
        self._dynamic = DYNAMIC[cell.options.dynamic]
        self._mode = "default" if cell.compile == "compile.export" else cell.compile.removeprefix("compile.")
        self._look = look
        self.captures_graphs = cell.compile in CUDAGRAPH_MODES
        self.exports = cell.compile == "compile.export"
        self.export_s: float | None = None

    def configure(self, device: torch.device) -> None:
        """Switches that torch.compile takes from a global."""
        import torch._dynamo

        check_tools(device)

        torch._dynamo.config.optimize_ddp = self._options.ddp_optimizer
        if self._cache:
            # Precompiled C++ headers lie in a folder that no variable moves: a cold cache would not be cold.
            import torch._inductor.config

            torch._inductor.config.cpp_cache_precompile_headers = False

    def compile(self, function: Callable) -> Callable:
        """torch.compile(function, mode=..., dynamic=..., fullgraph=...): the same call that it makes itself, since a backend of
        one's own cannot be given together with a mode."""
        import torch._dynamo

        backend = LookingInductor(self._mode, self._dynamic, self._look)
        return torch._dynamo.optimize(backend=backend, nopython=self._options.fullgraph, dynamic=self._dynamic)(function)

    def export(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> nn.Module:
        """The whole forward pass and loss as one graph that can still be trained, or a refusal."""
        start = time.perf_counter()
        try:
            program = torch.export.export(model, batch).module()
        except Exception as error:
            raise Unsupported(f"torch.export cannot capture this program whole: {first_line(error)}") from error
        self.export_s = time.perf_counter() - start
        return program

    def autograd(self) -> contextlib.AbstractContextManager:
        """Around forward and backward: with compiled autograd, the backward graph is captured when it runs."""
        if not self._options.compiled_autograd:
            return contextlib.nullcontext()
        import torch._dynamo.compiled_autograd

        return torch._dynamo.compiled_autograd._enable(self.compile, dynamic=self._dynamic is not False)

    def begin_step(self) -> None:
        """Tells the graph pools that the results of the last step are no longer needed."""
        if self.captures_graphs:
            torch.compiler.cudagraph_mark_step_begin()

    def result(self, loss: Tensor) -> Tensor:
        """A loss that the next replay does not overwrite."""
        return loss.clone() if self.captures_graphs else loss


def check_tools(device: torch.device) -> None:
    """What the compiler will start or load, so that a machine without it is told so before anything is compiled."""
    if not os.path.basename(sys.executable or "").startswith("python"):
        raise RuntimeError(f'sys.executable is "{sys.executable}": the compiler starts its helpers with it, so it must be a Python')
    if device.type == "cuda":
        from torch.utils._triton import has_triton

        if not has_triton():
            raise Unsupported("torch.compile on a GPU needs triton, and this Python has none that works")
        if shutil.which(os.environ.get("CC") or "gcc") is None and shutil.which("clang") is None and shutil.which("cc") is None:
            raise Unsupported("triton needs a C compiler (gcc, clang, cc or the variable CC), and there is none in PATH")
        return
    from torch._inductor import cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler as error:
        raise Unsupported("torch.compile on a CPU needs a C++ compiler (g++, clang++ or the variable CXX), and there is none") from error
