"""Order of 64-bit whole numbers: sorted by their lower halves, then by their upper ones.

The sorting network packs 32 bits of a number with its index; equal numbers keep their order, so
two passes sort all 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from spyrelab.device.eager.launch import run
from spyrelab.device.factories import allocate

__all__ = ["sort_longs"]

_LOWER = (1 << 32) - 1
_HALF = 1 << 31


def sort_longs(
    x: torch.Tensor, along: int, descending: bool, results: Sequence[torch.Tensor]
) -> None:
    """Put the sorted elements of ``x`` (int64, at least one dimension) and their indices into
    ``results``."""
    first = _order(((x & _LOWER) - _HALF).to(torch.int32), along, descending)
    halfway = _picked(x, first, along)
    second = _order((halfway >> 32).to(torch.int32), along, descending)
    run("gather", [halfway, second], [results[0]], dim=along)
    run("gather", [first, second], [results[1]], dim=along)


def _order(keys: torch.Tensor, along: int, descending: bool) -> torch.Tensor:
    indices = allocate(keys.shape, None, torch.int64)
    ordered = allocate(keys.shape, None, keys.dtype)
    run("sort", [keys], [ordered, indices], dim=along, descending=descending)
    return indices


def _picked(x: torch.Tensor, indices: torch.Tensor, along: int) -> torch.Tensor:
    result = allocate(x.shape, None, x.dtype)
    run("gather", [x, indices], [result], dim=along)
    return result
