"""What a precision means for one step: autocast's type and whether the loss is scaled. The parameters' type and TF32 are
set by the C++ side before the engine is made."""

import contextlib

import torch
from torch import Tensor

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
KNOWN = ("fp32", "tf32", "bf16", "bf16_pure", "fp16", "fp8", "fp8_delayed")
FIRST_SCALE = 65536.0
RESTART_SCALE = 1024.0  # as worker/precision/precision.hpp


class Precision:
    def __init__(self, name: str, device: torch.device) -> None:
        if name not in KNOWN:
            raise ValueError(f'precision "{name}" is none of {", ".join(KNOWN)}')
        self.name = name
        self._device = device.type
        self.autocast_type = AUTOCAST.get(name)
        self.scaler = torch.amp.GradScaler(self._device, init_scale=FIRST_SCALE) if name == "fp16" else None

    @property
    def fp8(self) -> bool:
        return self.name.startswith("fp8")

    def autocast(self) -> contextlib.AbstractContextManager:
        if self.autocast_type is None:
            return contextlib.nullcontext()
        return torch.autocast(self._device, dtype=self.autocast_type)

    def scaled(self, loss: Tensor) -> Tensor:
        return loss if self.scaler is None else self.scaler.scale(loss)

    def restart(self) -> None:
        """The scaler's values behind a restart, in place; before its first use it has none."""
        if self.scaler is None or self.scaler._scale is None:
            return
        self.scaler._scale.fill_(RESTART_SCALE)
        self.scaler._growth_tracker.zero_()
