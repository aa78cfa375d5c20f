"""Histograms and what masks write: sums of ones, and ranks among what a mask lets through.

What a mask reads (`nonzero`, ``x[mask]``) has a size that is data; that stays with the host.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.results import prepared
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Optional = torch.Tensor | None
_broadcast: Any = torch.broadcast_tensors
_EXACT = 1 << 24
"""Counts are summed up in float32, which counts so far."""


def register() -> None:
    """Enter all of them."""
    enter("histc", _histogram)
    enter("histc.out", _histogram)
    enter("bincount", _bins)
    enter("masked_scatter", _masked_scatter_into_copy)
    enter("masked_scatter_", _masked_scatter)


def _into(out: Optional, result: torch.Tensor) -> torch.Tensor:
    if out is None:
        return result
    if out.dtype != result.dtype:
        raise Unsupported("a result of another type")
    return prepared(out, result.shape, result.dtype, "out").copy_(result)


# ---- counts ------------------------------------------------------------------------------------


def _counted(places: torch.Tensor, bins: int) -> torch.Tensor:
    """How often each number below ``bins`` occurs (float32); ``bins`` itself is left out."""
    if places.numel() > _EXACT:
        raise Unsupported("more elements than float32 can count")
    counts = torch.zeros(bins + 1, dtype=torch.float32, device="spyre")
    ones = torch.ones(places.numel(), dtype=torch.float32, device="spyre")
    run("index_add", [places, ones], [counts], dim=0)
    return counts[:bins]


def _histogram(
    x: torch.Tensor, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Optional = None
) -> torch.Tensor:
    if bins < 1 or not x.is_floating_point() or x.dtype == torch.float64:
        raise Unsupported("a histogram without bins or of whole numbers")
    low, high = float(min), float(max)
    if low == high and x.numel():
        low, high = (float(end.item()) for end in x.aminmax())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise Unsupported("a histogram without bounds: torch says so")
    low, high = _rounded(low, x.dtype), _rounded(high, x.dtype)
    if not x.numel():
        return _into(out, torch.zeros(bins, dtype=x.dtype, device="spyre"))
    flat = x.reshape(-1)
    inside = (flat >= low) & (flat <= high)
    place = ((flat - low) * bins / _rounded(high - low, x.dtype)).to(torch.int64).clamp(0, bins - 1)
    counts = _counted(torch.where(inside, place, bins), bins)
    return _into(out, counts.to(x.dtype, copy=True))


def _rounded(value: float, dtype: torch.dtype) -> float:
    """As the CPU takes a bound, which it compares and computes with in the elements' type."""
    return float(torch.tensor(value, dtype=dtype, device="cpu"))


def _bins(x: torch.Tensor, weights: Optional = None, minlength: int = 0) -> torch.Tensor:
    if x.dim() != 1 or x.numel() == 0 or x.dtype not in (torch.int64, torch.int32):
        raise Unsupported("counts of anything but a vector of whole numbers")
    if weights is not None or minlength < 0 or int(x.min().item()) < 0:
        raise Unsupported("weighed counts, or of negative numbers")
    count = max(minlength, int(x.max().item()) + 1)
    return _counted(x, count).to(torch.int64)


# ---- masks ------------------------------------------------------------------------------------


def _masked_scatter_into_copy(
    x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor
) -> torch.Tensor:
    if mask.device.type != "spyre":
        raise Unsupported("a mask or source that does not fit")
    wide, mask = _broadcast(x, mask)
    return _masked_scatter(wide.clone(memory_format=torch.contiguous_format), mask, source)


def _masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    if mask.dtype != torch.bool or source.dtype != x.dtype or x.dtype == torch.float64:
        raise Unsupported("a mask or source that does not fit")
    if {mask.device.type, source.device.type} != {"spyre"} or x.dim() < mask.dim():
        raise Unsupported("a mask or source that does not fit")
    mask = mask.expand(x.shape)
    if not mask.numel():
        return x
    rank = mask.reshape(-1).cumsum(0) - 1
    if not source.numel() or int(rank[-1].item()) >= source.numel():
        raise Unsupported("too few elements in the source: torch says so")
    taken = allocate(rank.shape, None, x.dtype)
    run("index_select", [source.reshape(-1), rank.clamp_min(0)], [taken], dim=0)
    return x.copy_(torch.where(mask, taken.reshape(x.shape), x))
