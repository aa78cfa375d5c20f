"""Copies: host to device, device to host, device to device; fills and single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device import counts
from spyrelab.device.allocations import entry_of
from spyrelab.device.eager.recording import active
from spyrelab.device.forms import require_distinct
from spyrelab.device.internals import conjugate_keys
from spyrelab.device.library import implement
from spyrelab.device.memory import MEMORY
from spyrelab.device.overlap import refuse_partial
from spyrelab.device.policy import leave_device
from spyrelab.device.transfer import copy_to_host, from_host, is_whole, same_bytes, to_host

__all__ = ["NATIVE", "copy_from", "register"]

NATIVE: dict[str, Callable[..., bool]] = {}
"""Kernels that run on the device, tried before the host does the work: ``"copy"`` takes (source,
target), ``"fill"`` takes (tensor, number). They return False where they do not apply."""


def register() -> None:
    """Enter the kernels of copies."""
    implement("_copy_from", copy_from)
    implement("_copy_from_and_resize", _copy_from_and_resize)
    implement("_local_scalar_dense", _item)
    implement("fill_.Scalar", _fill)
    implement("fill_.Tensor", _fill_tensor)
    implement("zero_", _zero)
    # copy_ of a conjugated tensor would resolve it with clone, which calls copy_, without end.
    for key in conjugate_keys:
        implement("_copy_from", torch.library.fallthrough_kernel, key)


def copy_from(
    source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False
) -> torch.Tensor:
    """Copy between any two tensors of which at least one is on the device."""
    if target.numel() == 0:
        return target
    if target.device.type == "spyre":
        require_distinct(target)
        refuse_partial([source], target)
    if source.shape != target.shape:
        source = source.expand(target.shape)
    if source.device.type != "spyre":
        entry = entry_of(target)
        from_host(source, target, fresh=is_whole(target, entry))
    elif target.device.type != "spyre":
        copy_to_host(source, target)
    else:
        _on_device(source, target)
    return target


def _on_device(source: torch.Tensor, target: torch.Tensor) -> None:
    name = "aten::_copy_from"
    if active() is None and same_bytes(source, target):
        counts.native(name)
        return
    kernel = NATIVE.get("copy")
    if kernel is not None and kernel(source, target):
        counts.native(name)
        return
    leave_device(name)
    from_host(to_host(source), target)


def _copy_from_and_resize(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if source.shape != target.shape:
        target.resize_(source.shape)
    return copy_from(source, target)


def _item(tensor: torch.Tensor) -> Any:
    return to_host(tensor, shared=True).item()


def _fill(tensor: torch.Tensor, value: Any) -> torch.Tensor:
    if tensor.numel() == 0:
        return tensor
    tensor, filled = _once(tensor), tensor
    kernel = NATIVE.get("fill")
    if kernel is not None and kernel(tensor, value):
        counts.native("aten::fill_.Scalar")
        return filled
    leave_device("aten::fill_.Scalar")
    one = torch.empty((), dtype=tensor.dtype, device="cpu").fill_(value)
    from_host(one.expand(tensor.shape), tensor)
    return filled


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """One element in place of every broadcast dimension: to fill is to fill those."""
    pairs = list(zip(tensor.shape, tensor.stride(), strict=True))
    if all(step or extent == 1 for extent, step in pairs):
        return tensor
    size = [extent if step else 1 for extent, step in pairs]
    return tensor.as_strided(size, tensor.stride())


def _fill_tensor(tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    if value.dim() > 0:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with"
            f" {value.dim()} dimensions."
        )
    return _fill(tensor, value.item())


def _zero(tensor: torch.Tensor) -> torch.Tensor:
    entry = entry_of(tensor)
    if is_whole(tensor, entry) and active() is None:
        # Zero bits are zero in every type: the whole allocation, padding included.
        memory, count = MEMORY.device, entry.form.device_bytes
        memory.bytes[entry.address : entry.address + count] = 0
        memory.mark_written(entry.address, count)
        counts.native("aten::zero_")
        return tensor
    return _fill(tensor, 0)
