"""Copies and fills on the card."""

from __future__ import annotations

import math
from typing import Any

import torch

from spyrelab.device import copies
from spyrelab.device.eager.launch import run
from spyrelab.opspec import Unsupported

__all__ = ["register"]

_BITS = {torch.float64: torch.int64, torch.complex64: torch.int64, torch.uint8: torch.int8}
"""Types that programs do not know, and as what they can still be moved."""


def register() -> None:
    """Let the device's own copies and fills run as programs."""
    copies.NATIVE["copy"] = copy
    copies.NATIVE["fill"] = fill


def copy(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Copy, with a change of type if need be; False if there is no program."""
    if source.dtype == target.dtype and source.dtype in _BITS:
        if source.is_neg() or target.is_neg() or source.is_conj() or target.is_conj():
            return False
        source, target = (t.view(_BITS[t.dtype]) for t in (source, target))
    elif target.dtype.is_complex or source.dtype.is_complex:
        return False
    try:
        run("copy", [source], [target])
    except Unsupported:
        return False
    return True


def fill(tensor: torch.Tensor, value: Any) -> bool:
    """Put one number everywhere; False if there is no program."""
    if tensor.dtype in _BITS and not (tensor.is_neg() or tensor.is_conj()):
        one = torch.empty((), dtype=tensor.dtype, device="cpu").fill_(value)
        bits = _BITS[tensor.dtype]
        tensor, value = tensor.view(bits), one.view(bits).item()
    if isinstance(value, complex) or not isinstance(value, bool | int | float):
        return False
    if tensor.dtype == torch.bool:
        value = bool(value)
    elif not tensor.is_floating_point() and not math.isfinite(value):
        return False
    number: float | int = float(value) if tensor.is_floating_point() else int(value)
    try:
        run("fill", [number], [tensor])
    except Unsupported:
        return False
    return True
