"""Llama decoder in Python: the same network, parameter names and order as llama.cpp (transformers' names).

It is what the compile modes compile, so it is written as one would write it for torch.compile: plain operations that the
compiler can fuse, no Python state in forward, the loss inside the module."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROPE_THETA = 10000.0
NORM_EPS = 1e-5

Tables = tuple[Tensor, Tensor]


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


class RMSNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.weight = nn.Parameter(torch.ones(size))
        self.work_type = torch.float32

    def forward(self, x: Tensor) -> Tensor:
        """Cast once here: under autocast each of the projections that follow would cast its input itself."""
        return F.rms_norm(x, (self.size,), self.weight, NORM_EPS).to(self.work_type)


def rotary_tables(sequence: int, head_dim: int, device: torch.device, dtype: torch.dtype) -> Tables:
    """Cosines and sines [sequence, 1, head_dim] of position * theta^(-2i / head_dim), both halves alike."""
    exponents = torch.arange(0, head_dim, 2, device=device, dtype=dtype) / head_dim
    angles = torch.arange(sequence, device=device, dtype=dtype).view(-1, 1, 1) * torch.pow(ROPE_THETA, exponents).reciprocal()
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, tables: Tables) -> Tensor:
    """x [batch, sequence, heads, head_dim]; element i pairs with i + head_dim / 2."""
    cos, sin = tables
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Attention(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        hidden = sizes["hidden"]
        self.head_dim = hidden // sizes["heads"]
        self.flash = False  # the flash kernel alone takes grouped heads as they are
        self.groups = sizes["heads"] // sizes["kv_heads"]
        self.q_proj = linear(hidden, hidden)
        self.k_proj = linear(hidden, sizes["kv_heads"] * self.head_dim)
        self.v_proj = linear(hidden, sizes["kv_heads"] * self.head_dim)
        self.o_proj = linear(hidden, hidden)

    def forward(self, x: Tensor, tables: Tables) -> Tensor:
        heads = (-1, self.head_dim)
        query = rotate(self.q_proj(x).unflatten(-1, heads), tables).transpose(1, 2)
        key = rotate(self.k_proj(x).unflatten(-1, heads), tables).transpose(1, 2)
        value = self.v_proj(x).unflatten(-1, heads).transpose(1, 2)
        if self.groups > 1 and not self.flash:
            key = key.repeat_interleave(self.groups, dim=1)
            value = value.repeat_interleave(self.groups, dim=1)
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=self.flash and self.groups > 1)
        return self.o_proj(out.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, hidden: int, ffn: int) -> None:
        super().__init__()
        self.gate_proj = linear(hidden, ffn)
        self.up_proj = linear(hidden, ffn)
        self.down_proj = linear(ffn, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.self_attn = Attention(sizes)
        self.mlp = Mlp(sizes["hidden"], sizes["ffn"])
        self.input_layernorm = RMSNorm(sizes["hidden"])
        self.post_attention_layernorm = RMSNorm(sizes["hidden"])

    def forward(self, x: Tensor, tables: Tables) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), tables)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(sizes["vocab"], sizes["hidden"])
        self.layers = nn.ModuleList(DecoderLayer(sizes) for _ in range(sizes["layers"]))
        self.norm = RMSNorm(sizes["hidden"])
        # No state of the model, so they are not saved; settle fills them in.
        self.register_buffer("cos", torch.empty(0), persistent=False)
        self.register_buffer("sin", torch.empty(0), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed_tokens(tokens)
        tables = self.cos, self.sin
        for layer in self.layers:
            x = layer(x, tables)
        return self.norm(x)


class Llama(nn.Module):
    """Tokens [batch, sequence] and the tokens that follow each -> mean cross entropy, in fp32 for half-precision logits."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.sizes = sizes
        self.model = Decoder(sizes)
        self.lm_head = linear(sizes["hidden"], sizes["vocab"])
        self.loss_type = torch.float32

    def forward(self, tokens: Tensor, following: Tensor) -> Tensor:
        logits = self.lm_head(self.model(tokens)).flatten(0, 1)
        return F.cross_entropy(logits.to(self.loss_type), following.flatten())


def build(sizes: dict[str, int]) -> nn.Module:
    """The model without storage, on the meta device."""
    with torch.device("meta"):
        return Llama(sizes)


def loss(model: nn.Module, tokens: Tensor, following: Tensor) -> Tensor:
    return model(tokens, following)


def blocks(model: nn.Module) -> list[nn.Module]:
    """The decoder layers in order: the units of activation checkpointing."""
    return list(model.model.layers)


def settle(model: nn.Module, device: torch.device, work_type: torch.dtype, eager: bool) -> None:
    """Fixes what depends on where and in what type it runs, before anything is compiled. work_type: of the matrix products,
    autocast's or the parameters'. The rotary tables are computed in fp32 (fp64 for fp64) and kept in it."""
    sizes = model.sizes
    wide = torch.promote_types(work_type, torch.float32)
    cos, sin = rotary_tables(sizes["sequence"], sizes["hidden"] // sizes["heads"], device, wide)
    model.model.cos, model.model.sin = cos.to(work_type), sin.to(work_type)
    model.loss_type = wide
    for module in model.modules():
        if isinstance(module, RMSNorm):
            module.work_type = work_type
        elif isinstance(module, Attention):
            module.flash = device.type == "cuda" and work_type in (torch.bfloat16, torch.float16)


def head(model: nn.Module) -> nn.Module:
    """The layer that stays in the parameters' precision under fp8."""
    return model.lm_head
