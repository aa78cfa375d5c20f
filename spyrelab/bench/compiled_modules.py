"""Modules of torch.nn at a hidden size of 1024, as people write them, and what they are fed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["COMPILED_MODULES", "made_module"]

Made = tuple[Any, Any]
"""A module and its input, float32, on the CPU."""

HIDDEN, HEADS, RANK = 1024, 16, 64


def _mlp(rows: int) -> Made:
    import torch
    from torch import nn

    layers = nn.Sequential(nn.Linear(HIDDEN, 4 * HIDDEN), nn.GELU(), nn.Linear(4 * HIDDEN, HIDDEN))
    return layers, torch.randn(rows, HIDDEN)


def _gated_mlp(rows: int) -> Made:
    import torch
    from torch import nn

    class GatedMLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(HIDDEN, 2816, bias=False)
            self.up = nn.Linear(HIDDEN, 2816, bias=False)
            self.down = nn.Linear(2816, HIDDEN, bias=False)

        def forward(self, x: torch.Tensor) -> Any:
            return self.down(nn.functional.silu(self.gate(x)) * self.up(x))

    return GatedMLP(), torch.randn(rows, HIDDEN)


def _attention(rows: int) -> Made:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mixed = nn.Linear(HIDDEN, 3 * HIDDEN)
            self.out = nn.Linear(HIDDEN, HIDDEN)

        def forward(self, x: torch.Tensor) -> Any:
            parts = self.mixed(x).unflatten(-1, (3, HEADS, HIDDEN // HEADS)).permute(2, 0, 3, 1, 4)
            query, key, value = parts
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.out(mixed.transpose(1, 2).flatten(2))

    return Attention(), torch.randn(1, rows, HIDDEN)


def _norm_linear(rows: int) -> Made:
    import torch
    from torch import nn

    return nn.Sequential(nn.RMSNorm(HIDDEN), nn.Linear(HIDDEN, HIDDEN)), torch.randn(rows, HIDDEN)


def _residual_norm(rows: int) -> Made:
    import torch
    from torch import nn

    class ResidualNorm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.out, self.norm = nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN)

        def forward(self, x: torch.Tensor) -> Any:
            return self.norm(x + self.out(x))

    return ResidualNorm(), torch.randn(rows, HIDDEN)


def _classifier(rows: int) -> Made:
    import torch
    from torch import nn

    layers = nn.Sequential(nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, 1024), nn.Softmax(-1))
    return layers, torch.randn(rows, HIDDEN)


def _convolution(rows: int) -> Made:
    import torch
    from torch import nn

    layers = nn.Sequential(nn.Conv2d(64, HIDDEN, 3, padding=1), nn.BatchNorm2d(HIDDEN), nn.ReLU())
    return layers, torch.randn(1, 64, 16, rows // 16)


def _adapter(rows: int) -> Made:
    import torch
    from torch import nn

    class LoRA(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(HIDDEN, HIDDEN)
            self.down = nn.Linear(HIDDEN, RANK, bias=False)
            self.up = nn.Linear(RANK, HIDDEN, bias=False)

        def forward(self, x: torch.Tensor) -> Any:
            return self.base(x) + 0.5 * self.up(self.down(x))

    return LoRA(), torch.randn(rows, HIDDEN)


def _highway(rows: int) -> Made:
    import torch
    from torch import nn

    class Highway(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.new = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)

        def forward(self, x: torch.Tensor) -> Any:
            return x + self.gate(x).sigmoid() * (self.new(x).tanh() - x)

    return Highway(), torch.randn(rows, HIDDEN)


def _encoder_layer(rows: int) -> Made:
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(HIDDEN, HEADS, 4 * HIDDEN, batch_first=True)
    return layer, torch.randn(1, rows, HIDDEN)


COMPILED_MODULES: Mapping[str, Callable[[int], Made]] = {
    "mlp": _mlp,
    "gated_mlp": _gated_mlp,
    "attention": _attention,
    "norm_linear": _norm_linear,
    "residual_norm": _residual_norm,
    "classifier": _classifier,
    "convolution": _convolution,
    "adapter": _adapter,
    "highway": _highway,
    "encoder_layer": _encoder_layer,
}
"""Makers by name; each takes the number of rows, tokens or positions."""


def made_module(name: str, rows: int) -> Made:
    """A module for inference and its input, with the f16 values that the card gets, in f32."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module, given = COMPILED_MODULES[name](rows)
    return module.half().float().eval(), given.half().float()
