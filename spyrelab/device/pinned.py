"""Pinned memory: all host memory is as good as pinned, since nothing is really transferred.

Hooks written in Python cannot provide a pinned allocator, so the two operations are replaced.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from spyrelab.device.internals import CPU_KEYS, cpu_kernel
from spyrelab.device.library import implement

__all__ = ["register"]

_pinned: set[int] = set()


def register() -> None:
    """Enter ``pin_memory`` and ``is_pinned`` for CPU tensors."""
    implement("_pin_memory", _pin, "CPU")
    implement("is_pinned", _is_pinned, "CPU")
    implement("_to_copy", _to_copy)


_TO_COPY = cpu_kernel("_to_copy")


def _to_copy(tensor: torch.Tensor, **wanted: Any) -> torch.Tensor:
    """torch's own, but never into pinned memory: copies are over when they return."""
    wanted["non_blocking"] = False
    copied: torch.Tensor = _TO_COPY(CPU_KEYS, tensor, **wanted)
    return copied


def _pin(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    if _is_pinned(tensor):
        return tensor
    copy = torch.empty_like(tensor).copy_(tensor)
    storage = copy.untyped_storage()
    address = storage.data_ptr()
    _pinned.add(address)
    weakref.finalize(storage, _pinned.discard, address)
    return copy


def _is_pinned(tensor: torch.Tensor, device: Any = None) -> bool:
    return tensor.untyped_storage().data_ptr() in _pinned
