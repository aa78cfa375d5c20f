"""What chapter 3 hands out: an allocation to find things in, and a module that leaves the device.

The tests use the same functions and classes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class Allocation(NamedTuple):
    """Where the elements of a float16 matrix [rows, columns] lie in device memory.

    Stick after stick: first the sticks that hold columns 0 to 63 of every row, row by row, then
    those with columns 64 to 127, and so on. Whatever is left of the last sticks is padding.
    """

    address: int
    """Device byte address of the first stick."""
    rows: int
    columns: int


class MaskedMean(nn.Module):
    """The mean over the tokens of a sequence that are to be kept, after a projection.

    It is right, and it leaves the device: ask ``torch.spyre.op_counts()`` where.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        """Mean [batch, width] of x [batch, tokens, width] where keep [batch, tokens] is true."""
        projected = self.project(x)
        hidden = torch.zeros_like(projected)
        hidden[keep] = projected[keep]
        total = hidden.double().sum(1)
        return (total / keep.sum(1, keepdim=True)).float()
