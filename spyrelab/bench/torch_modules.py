"""Modules of torch.nn that a bench trains for a step, and what they are fed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from spyrelab.kernels.arrays import Array

if TYPE_CHECKING:
    import torch

__all__ = ["MODULES", "Trained"]

Made = tuple[Any, Any]
"""A module and its input, on the CPU."""


def _tokens() -> torch.Tensor:
    import torch

    return torch.randn(4, 16, 64)


def _linear() -> Made:
    from torch import nn

    return nn.Linear(64, 128), _tokens()


def _layer_norm() -> Made:
    from torch import nn

    return nn.LayerNorm(64), _tokens()


def _attention() -> Made:
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = nn.MultiheadAttention(64, 4, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.attend(x, x, x, need_weights=False)[0]
            return result

    return Attention(), _tokens()


def _encoder_layer() -> Made:
    from torch import nn

    return nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), _tokens()


def _lstm() -> Made:
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.LSTM(64, 32, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.cells(x)[0]
            return result

    return Recurrent(), _tokens()


def _conv2d() -> Made:
    import torch
    from torch import nn

    return nn.Conv2d(8, 16, 3, padding=1), torch.randn(2, 8, 16, 16)


def _embedding() -> Made:
    import torch
    from torch import nn

    return nn.Embedding(100, 64), torch.arange(64).reshape(4, 16)


def _gpt_block() -> Made:
    from torch import nn
    from torch.nn.functional import scaled_dot_product_attention

    class Block(nn.Module):
        """Pre-norm, causal attention, an MLP with tanh-GELU: as GPT-2 has it."""

        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(64), nn.LayerNorm(64)])
            self.mixed, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
            self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            parts = self.mixed(self.norms[0](x)).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
            query, key, value = parts
            mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            wide = nn.functional.gelu(self.up(self.norms[1](x)), approximate="tanh")
            result: torch.Tensor = x + self.down(wide)
            return result

    return Block(), _tokens()


MODULES: dict[str, Callable[[], Made]] = {
    "Linear": _linear,
    "LayerNorm": _layer_norm,
    "MultiheadAttention": _attention,
    "TransformerEncoderLayer": _encoder_layer,
    "LSTM": _lstm,
    "Conv2d": _conv2d,
    "Embedding": _embedding,
    "gpt_block": _gpt_block,
}
"""Makers by name."""


class Trained:
    """A module on a device with an input, ready for forward and backward."""

    def __init__(self, make: Callable[[], Made], device: str) -> None:
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module, given = make()
        self.module, self.given = module.to(device), given.to(device)

    def step(self) -> torch.Tensor:
        """One forward and one backward pass; the output."""
        self.module.zero_grad(set_to_none=True)
        output: torch.Tensor = self.module(self.given)
        loss: Any = output.square().mean()
        loss.backward()
        return output

    def result(self) -> Array:
        """Output and all gradients, one after the other."""
        parts = [self.step(), *(parameter.grad for parameter in self.module.parameters())]
        flat = [part.detach().cpu().float().numpy().ravel() for part in parts]
        return np.concatenate(flat)
