"""Linear layers in fp8: e4m3 forward, e5m2 gradients, one scale per tensor, by torch._scaled_mm.

Scaling is dynamic (from the tensor's own largest value) or delayed (from the largest of the last 16 steps, so that a tensor
is read once only). Plain operations in an autograd function: a compiler can trace them and fuse the casts."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .cell import Unsupported

FORWARD = torch.float8_e4m3fn
BACKWARD = torch.float8_e5m2
FORWARD_MAX = torch.finfo(FORWARD).max
BACKWARD_MAX = torch.finfo(BACKWARD).max
HISTORY = 16
TINY = 1e-12  # the largest value of a tensor of zeros, so that its scale is finite
TILE = 16  # the products take sides that are multiples of it


def largest(x: Tensor) -> Tensor:
    """The largest magnitude, fp32."""
    return torch.linalg.vector_norm(x, float("inf"), dtype=torch.float32)


def own_scale(largest_value: Tensor, most: float) -> Tensor:
    return most / largest_value.clamp(min=TINY)


def cast(x: Tensor, scale: Tensor, dtype: torch.dtype, most: float) -> Tensor:
    """x * scale in fp8, row-major. Clamped: a delayed scale may be too large for this step's values, and beyond the largest value e4m3
    has nothing but NaN."""
    return (x * scale).clamp(-most, most).to(dtype, memory_format=torch.contiguous_format)


def product(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, dtype: torch.dtype, fast: bool) -> Tensor:
    """a @ b with a row-major and b column-major, as the hardware wants them. `fast`: sums are kept in fewer bits, which is enough
    for the forward pass."""
    return torch._scaled_mm(a, b, scale_a=scale_a.reciprocal(), scale_b=scale_b.reciprocal(), out_dtype=dtype, use_fast_accum=fast)


def column_major(x: Tensor) -> Tensor:
    return x.t().contiguous().t()


class Fp8Product(torch.autograd.Function):
    """x [rows, in] @ weight [out, in]^T. `scales`: of x, the weight and the gradient, or None for their own. The gradient of
    `probe` carries the three largest values out: a compiler need not see a buffer change, and a recomputed block may run
    twice."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, probe: Tensor, scales: Tensor | None) -> Tensor:
        largest_x, largest_weight = largest(x), largest(weight)
        if scales is None:
            scale_x, scale_weight = own_scale(largest_x, FORWARD_MAX), own_scale(largest_weight, FORWARD_MAX)
        else:
            scale_x, scale_weight = scales[0], scales[1]
        x8 = cast(x, scale_x, FORWARD, FORWARD_MAX)
        weight8 = cast(weight, scale_weight, FORWARD, FORWARD_MAX)
        ctx.save_for_backward(x8, weight8, scale_x, scale_weight, largest_x, largest_weight, scales)
        ctx.weight_type = weight.dtype
        return product(x8, weight8.t(), scale_x, scale_weight, x.dtype, fast=True)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        x8, weight8, scale_x, scale_weight, largest_x, largest_weight, scales = ctx.saved_tensors
        largest_gradient = largest(gradient)
        scale = own_scale(largest_gradient, BACKWARD_MAX) if scales is None else scales[2]
        gradient8 = cast(gradient, scale, BACKWARD, BACKWARD_MAX)
        of_x = product(gradient8, column_major(weight8), scale, scale_weight, gradient.dtype, fast=False)
        of_weight = product(gradient8.t().contiguous(), column_major(x8), scale, scale_x, ctx.weight_type, fast=False)
        return of_x, of_weight, torch.stack((largest_x, largest_weight, largest_gradient)), None


class Fp8Linear(nn.Linear):
    """A Linear whose three products are in fp8; its parameter keeps its type and name."""

    scales: Tensor | None
    probe: Tensor

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, self.in_features)
        return Fp8Product.apply(rows, self.weight, self.probe, self.scales).view(*x.shape[:-1], self.out_features)


class Fp8Layers:
    """All Linear layers of a model but its head, and the history of their largest values."""

    def __init__(self, model: nn.Module, head: nn.Module, delayed: bool, device: torch.device) -> None:
        self.layers = [module for module in model.modules() if type(module) is nn.Linear and module is not head]
        if not self.layers:
            raise Unsupported("fp8 is for matrix products; this model has no Linear layer besides its head")
        for layer in self.layers:
            check_layer(layer)
        self._delayed = delayed
        self._histories = torch.zeros(HISTORY, len(self.layers), 3, device=device)
        self._scales = torch.ones(len(self.layers), 3, device=device)
        self._most = torch.tensor([FORWARD_MAX, FORWARD_MAX, BACKWARD_MAX], device=device)
        self._step = 0
        self._install(device)

    def _install(self, device: torch.device) -> None:
        """The class is changed in place, so that names, parameters and hooks stay."""
        for index, layer in enumerate(self.layers):
            layer.__class__ = Fp8Linear
            layer.probe = torch.zeros(3, device=device, requires_grad=self._delayed)
            layer.register_buffer("scales", self._scales[index] if self._delayed else None, persistent=False)

    @property
    def buffer_names(self) -> set[str]:
        return {"scales"} if self._delayed else set()

    def calibrate(self, loss: Callable[[], Tensor]) -> None:
        """Before the first step there is no history: one pass with the tensors' own scales makes it. Gradients of 1e-5 would
        vanish in e5m2 with a scale of one."""
        if not self._delayed or self._step > 0:
            return
        for layer in self.layers:
            layer.scales = None
        probes = [layer.probe for layer in self.layers]
        gradients = torch.autograd.grad(loss(), probes)
        for index, layer in enumerate(self.layers):
            layer.scales = self._scales[index]
        self._take(torch.stack(gradients))

    def after_backward(self) -> None:
        """Takes this step's largest values into the history; the next step's scales come from it."""
        if self._delayed:
            self._take(torch.stack([layer.probe.grad for layer in self.layers]))

    def _take(self, largest_values: Tensor) -> None:
        with torch.no_grad():
            self._histories[self._step % HISTORY].copy_(largest_values)
            torch.div(self._most, self._histories.amax(0).clamp_(min=TINY), out=self._scales)
        self._step += 1

    def clear(self) -> None:
        for layer in self.layers:
            layer.probe.grad = None

    def restart(self) -> None:
        self._histories.zero_()
        self._scales.fill_(1.0)
        self._step = 0
        self.clear()


def check_layer(layer: nn.Linear) -> None:
    if layer.bias is not None:
        raise Unsupported("fp8 products are made for Linear layers without bias")
    for side in (layer.in_features, layer.out_features):
        if side % TILE:
            raise Unsupported(f"fp8 products need sides that are multiples of {TILE}; a Linear layer of this workload has {side}")
