"""One training iteration of a Python twin, as the C++ step loop drives it."""

import contextlib
import dataclasses
import json
from collections.abc import Callable

import torch
from torch import Tensor, nn

from . import checkpointing, optimizers, parallel
from .caches import Caches
from .cell import Cell, Unsupported, first_line
from .faults import Faults
from .fp8 import TILE, Fp8Layers
from .precision import Precision
from .twins import build_twin, load_twin, persistent_buffers

MODES = ("python_eager", "compile.default", "compile.reduce-overhead", "compile.max-autotune",
         "compile.max-autotune-no-cudagraphs", "compile.export")

Mark = Callable[[str], None]


class Engine:
    """The twin over tensors made in C++ and everything that a step needs. A step does not wait for the device and keeps no
    books beyond a counter."""

    def __init__(self, cell_json: str, device: str, weights: dict[str, Tensor], buffers: dict[str, Tensor], options_json: str) -> None:
        self._cell = Cell.parse(cell_json)
        if self._cell.compile not in MODES:
            raise Unsupported(f"the Python engine does not do compile mode {self._cell.compile} (it does {', '.join(MODES)})")
        self._device = torch.device(device)
        self._graphs_path: str | None = json.loads(options_json).get("graphs_path")
        # Before anything can use them: refused caches must not have been read.
        self._caches = Caches(self._cell.cache if self._cell.compiled else "", self._cell.program, self._device)
        self._faults = Faults(self._cell.wrong)
        self._precision = Precision(self._cell.precision, self._device)
        self._twin = load_twin(self._cell.family)
        self._model = build_twin(
            self._cell.family, self._cell.sizes, weights, buffers, self._precision.autocast_type, eager=not self._cell.compiled
        )
        self._fp8 = self._make_fp8()
        self._shape_model()
        self._optimizer = optimizers.make_optimizer(self._cell, self._model)
        self._parameters = list(self._model.named_parameters())
        self._watch = None
        self._compiler = self._make_compiler()
        self._group: object = None
        self._ddp: nn.parallel.DistributedDataParallel | None = None
        self._batch: tuple[Tensor, Tensor] | None = None
        self._call: nn.Module | Callable = self._model
        self._optimizer_call: Callable[[], None] = self._optimizer.step

    def _make_fp8(self) -> Fp8Layers | None:
        if not self._precision.fp8:
            return None
        return Fp8Layers(self._model, self._twin.head(self._model), self._precision.name == "fp8_delayed", self._device)

    def _shape_model(self) -> None:
        """What changes the blocks: checkpointing outermost, so that a planted graph break lies inside a recomputed block."""
        blocks = self._twin.blocks(self._model)
        self._faults.plant(blocks)
        wanted = self._cell.checkpointing if self._faults.recomputes else checkpointing.Checkpointing()
        self._recomputation = checkpointing.apply(blocks, wanted, counted=not self._cell.compiled)

    def _make_compiler(self):
        """Nothing of the compiler is loaded for python_eager."""
        if not self._cell.compiled:
            return None
        from .compiler import Compiler
        from .graphs import graph_data
        from .watch import Watch

        self._watch = Watch(self._device, graph_data if self._graphs_path else None)
        return Compiler(self._cell, self._watch.look)

    # Before the first step

    def set_batch(self, batch_input: Tensor, target: Tensor) -> None:
        if self._fp8 is not None and batch_input.numel() % TILE:
            raise Unsupported(f"fp8 products need batch x sequence to be a multiple of {TILE}, it is {batch_input.numel()}")
        if self._faults.takes_batch():
            self._batch = (batch_input, target)

    def wrap(self, process_group: "torch.distributed.ProcessGroup") -> None:
        """PyTorch's DDP over a group made in C++. An exported program is wrapped after its export, which cannot see through DDP."""
        self._group = process_group
        if self._compiler is None or not self._compiler.exports:
            self._wrap(self._model)

    def _wrap(self, model: nn.Module) -> None:
        if self._group is not None:
            own_buffers = set() if self._fp8 is None else self._fp8.buffer_names
            self._ddp = parallel.wrap_ddp(model, self._group, self._cell.ddp, self._device, own_buffers)
        self._call = self._ddp or model

    def prepare(self) -> None:
        """Work ahead of time. The compilation itself happens in the first steps, as for every user of torch.compile."""
        if self._compiler is None:
            return
        self._compiler.configure(self._device)
        if self._compiler.exports:
            with self._precision.autocast():
                self._wrap(self._compiler.export(self._model, self._needed_batch()))
        self._call = self._compiler.compile(self._call)
        if self._cell.options.compile_optimizer:
            if self._precision.scaler is not None:
                raise Unsupported("with fp16 the loss scaler calls the optimizer itself: compile_optimizer has no effect there")
            self._optimizer_call = self._compiler.compile(self._optimizer.step)

    def _needed_batch(self) -> tuple[Tensor, Tensor]:
        if self._batch is None:
            raise RuntimeError("set_batch has not been called yet")
        return self._batch

    # The step and its parts

    def step(self, mark: Mark | None = None) -> Tensor:
        """One iteration; the detached loss."""
        self._faults.begin_step()
        self.clear_gradients()
        if mark is not None:
            mark("forward")
        with self._compiled_autograd():
            loss = self._forward()
            if mark is not None:
                mark("backward")
            if not self._faults.skips_backward:
                self._precision.scaled(loss).backward()
        if mark is not None:
            mark("optimizer")
        self.optimizer_step()
        return self._result(loss)

    def forward(self) -> Tensor:
        """Forward pass and loss, for a caller that runs backward itself."""
        self._faults.begin_step()
        return self._forward()

    def scaled(self, loss: Tensor) -> Tensor:
        """What backward starts from: the loss, scaled where the precision asks for it."""
        return self._precision.scaled(loss)

    def optimizer_step(self) -> None:
        if self._fp8 is not None:
            self._fp8.after_backward()
        scaler = self._precision.scaler
        if scaler is None:
            self._optimizer_call()
        else:
            scaler.step(self._optimizer)
            scaler.update()

    def clear_gradients(self) -> None:
        if not self._faults.skips_backward:
            self._optimizer.zero_grad(set_to_none=True)
            if self._fp8 is not None:
                self._fp8.clear()

    def _forward(self) -> Tensor:
        self._recomputation.restart()
        batch = self._faults.input_of_step(self._needed_batch())
        if self._fp8 is not None:
            self._fp8.calibrate(lambda: self._twin.loss(self._model, *self._calibration_batch()))
        if self._compiler is not None:
            self._compiler.begin_step()
        with self._precision.autocast():
            return self._twin.loss(self._call, *batch)

    def _calibration_batch(self) -> tuple[Tensor, Tensor]:
        """Fewest samples whose tokens fill the tiles of the products: the pass is not compiled and should cost no memory to
        speak of. Their gradients are larger than those of the whole batch, which e5m2's range can spare."""
        batch, target = self._needed_batch()
        samples = next(count for count in range(1, len(batch) + 1) if count * batch[0].numel() % TILE == 0)
        return batch[:samples], target[:samples]

    def _compiled_autograd(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext() if self._compiler is None else self._compiler.autograd()

    def _result(self, loss: Tensor) -> Tensor:
        loss = loss.detach()
        return loss if self._compiler is None else self._compiler.result(loss)

    # State

    def parameters(self) -> list[tuple[str, Tensor]]:
        return self._parameters

    def buffers_list(self) -> list[Tensor]:
        return list(persistent_buffers(self._model).values())

    def reset(self, weights: dict[str, Tensor], buffers: dict[str, Tensor]) -> None:
        """Training starts anew with the same compiled program: every value is restored in place."""
        with torch.no_grad():
            for name, parameter in self._parameters:
                parameter.copy_(weights[name])
                if not self._faults.keeps_gradients:
                    parameter.grad = None
            for name, buffer in persistent_buffers(self._model).items():
                buffer.copy_(buffers[name])
        self._faults.restart()
        optimizers.restart(self._optimizer)
        self._precision.restart()
        if self._fp8 is not None:
            self._fp8.restart()

    # What came of it

    def recomputed(self) -> int | None:
        """Blocks computed again in the last step; unknown under a compiler."""
        return None if self._cell.compiled else self._recomputation.of_last_step()

    def _selective_choices(self) -> int | None:
        """How often PyTorch asked what the selective policy keeps; unknown where a compiled program came from a cache. DDPOptimizer
        (torch 2.11) drops the policy when it splits a program at DDP's buckets, and everything is recomputed."""
        asked = self._recomputation.choices_asked
        if asked == 0 and self._watch is not None:
            from .watch import cache_counts

            if cache_counts()["autograd_hits"] > 0:
                return None
        return asked

    def settings(self) -> str:
        """`set` and `used` of the record's settings, as read back."""
        parameter = self._parameters[0][1]
        used = {
            "parameter_type": type_name(parameter.dtype),
            "gradient_type": None if parameter.grad is None else type_name(parameter.grad.dtype),
            "optimizer": type(self._optimizer).__name__,
            "fused_optimizer": bool(self._optimizer.param_groups[0].get("fused")),
            "checkpointed_blocks": self._recomputation.blocks,
        }
        if self._batch is not None:
            used |= describe_input(self._batch[0])
        if self._cell.checkpointing.policy == "selective":
            used["selective_choices"] = self._selective_choices()
        if sizes := parallel.bucket_bytes(self._ddp):
            used["bucket_bytes"] = sizes
        if self._precision.scaler is not None:
            used["loss_scale"] = self._precision.scaler.get_scale()
        autocast = self._precision.autocast_type
        chosen = {"autocast": None if autocast is None else type_name(autocast), "loss_scaling": self._precision.scaler is not None}
        return json.dumps({"set": chosen, "used": used})

    def mark_late(self) -> None:
        """From here on, captures and recompilations are those of measured steps."""
        self._faults.mark_late()
        if self._watch is not None:
            self._watch.mark_late()

    def report(self) -> str:
        """`compile` of the rank record; empty for python_eager."""
        if self._watch is None:
            return json.dumps({})
        from .watch import cache_counts

        out = self._watch.report(self._cell.compile, dataclasses.asdict(self._cell.options), self._compiler.export_s)
        return json.dumps(out | {"caches": self._caches.report(cache_counts())})

    def stamp_cache(self) -> None:
        """After a launch that went well: its caches may be used by others."""
        self._caches.stamp()

    def census(self) -> str:
        """`ir_census` of the rank record. After all measurement: it takes time and memory."""
        from .census import census

        with self._uncounted():
            return json.dumps(census(self._model, self._needed_batch(), self._loss_of, self._precision.autocast))

    def write_graphs(self) -> None:
        """The snapshot of this rank's compiled regions, to the path of the options. After all measurement."""
        if self._graphs_path is None or self._watch is None:
            return
        from . import graphs
        from .retrace import retrace
        from .watch import frames

        regions = graphs.captured(self._watch.regions, frames())
        # The retraced program is not split at DDP's buckets, so its graphs belong to none of these regions.
        split = self._ddp is not None and self._cell.options.ddp_optimizer
        captured = [] if split else list(regions)

        def found(kind: str, index: int, graph: torch.fx.GraphModule) -> None:
            if kind != "dynamo":
                regions.append(graphs.lowered(kind, captured[index] if index < len(captured) else None, index, graph))

        failed = ""
        try:
            with self._uncounted():
                retrace(self._model, self._loss_of, found)
        except Exception as error:  # e.g. no memory for an uncompiled pass: what was captured is kept
            failed = f"the graphs after AOT autograd are absent: {first_line(error)}"
        graphs.write(self._graphs_path, self._cell.id, self._cell.compile, regions, failed)

    def _loss_of(self, model: nn.Module) -> Tensor:
        with self._precision.autocast():
            return self._twin.loss(model, *self._needed_batch())

    def _uncounted(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext() if self._watch is None else self._watch.paused()

    def close(self) -> None:
        """Lets go of the tensors that C++ lent, and of DDP's hold on the group."""
        self._call = self._model
        self._group = self._ddp = None
        self._batch = None


def type_name(dtype: torch.dtype) -> str:
    """As C++ names it: Float, BFloat16, Half, Double."""
    names = {torch.float32: "Float", torch.bfloat16: "BFloat16", torch.float16: "Half", torch.float64: "Double", torch.int64: "Long"}
    return names.get(dtype, str(dtype).removeprefix("torch."))


def describe_input(batch_input: Tensor) -> dict[str, str]:
    out = {"input_type": type_name(batch_input.dtype)}
    if batch_input.dim() == 4:
        channels_last = batch_input.is_contiguous(memory_format=torch.channels_last)
        out["memory_format"] = "channels_last" if channels_last else "contiguous"
    return out
