"""Tensors that come from nothing: empty, resized, set to a storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.device.allocations import ENTRIES
from spyrelab.device.cards import check_device
from spyrelab.device.forms import contiguous_form, form_of, form_with_layout, span
from spyrelab.device.internals import CPU_KEYS, cpu_kernel
from spyrelab.device.library import implement, replace
from spyrelab.device.memory import MEMORY
from spyrelab.device.relayout import claim
from spyrelab.device.transfer import from_host, to_host
from spyrelab.device.views import require_linear
from spyrelab.layout import SpyreTensorLayout, contiguous_strides

__all__ = ["allocate", "open_for_all", "register"]


def allocate(
    size: Sequence[int],
    stride: Sequence[int] | None,
    dtype: torch.dtype,
    layout: SpyreTensorLayout | None = None,
) -> torch.Tensor:
    """A fresh device tensor, in the default layout or in ``layout``.

    Raises
    ------
    torch.OutOfMemoryError
    LayoutError
        The layout does not describe a contiguous tensor of this size.
    """
    if layout is not None:
        return MEMORY.tensor(form_with_layout(tuple(size), dtype, layout))
    if stride is None:
        return MEMORY.tensor(contiguous_form(tuple(size), dtype))
    return MEMORY.tensor(form_of(tuple(size), tuple(stride), dtype))


def register() -> None:
    """Enter the kernels of factories."""
    implement("resize_", _resize)
    implement("set_.source_Storage", _set_storage)
    implement("set_.source_Storage_storage_offset", _set_storage_view)
    implement("set_.source_Tensor", _set_tensor)
    implement("set_", _set_nothing)


def open_for_all() -> None:
    """Let ``torch.empty`` no longer stop to load the kernels."""
    replace("empty.memory_format", _empty)
    replace("empty_strided", _empty_strided)


def _empty(
    size: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    _check(size, device)
    if pin_memory:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    kind = dtype or torch.get_default_dtype()
    if memory_format is None or memory_format is torch.contiguous_format:
        return _settled(MEMORY.tensor(contiguous_form(tuple(size), kind)))
    like = torch.empty(size, device="meta", memory_format=memory_format)
    return _settled(MEMORY.tensor(form_of(tuple(size), like.stride(), kind)))


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    _check(size, device)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides"
            f" ({len(stride)})"
        )
    if any(step < 0 for step in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got"
            f" strides: {list(stride)}"
        )
    kind = dtype or torch.get_default_dtype()
    return _settled(MEMORY.tensor(form_of(tuple(size), tuple(stride), kind)))


def _check(size: Sequence[int], device: torch.device | None) -> None:
    if device is not None and device.index:
        check_device(device)
    for extent in size:
        if extent < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {extent}: {list(size)}"
            )


def _settled(made: torch.Tensor) -> torch.Tensor:
    """Fill a fresh tensor as torch's deterministic mode asks for."""
    if (
        torch.are_deterministic_algorithms_enabled()
        and torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    ):
        if made.is_floating_point() or made.is_complex():
            made.fill_(float("nan"))
        else:
            made.fill_(True if made.dtype is torch.bool else torch.iinfo(made.dtype).max)
    return made


_SET_STORAGE = cpu_kernel("set_.source_Storage")
_SET_VIEW = cpu_kernel("set_.source_Storage_storage_offset")
_SET_TENSOR = cpu_kernel("set_.source_Tensor")


def _set_storage(tensor: torch.Tensor, storage: Any) -> torch.Tensor:
    _admit(tensor, storage, None, 0)
    return _SET_STORAGE(CPU_KEYS, tensor, storage)


def _set_storage_view(
    tensor: torch.Tensor, storage: Any, offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> torch.Tensor:
    steps = tuple(stride) if len(stride) == len(size) else contiguous_strides(size)
    _admit(tensor, storage, (tuple(size), steps), offset)
    return _SET_VIEW(CPU_KEYS, tensor, storage, offset, size, steps)


def _set_tensor(tensor: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    return _SET_TENSOR(CPU_KEYS, tensor, source)


def _set_nothing(tensor: torch.Tensor) -> torch.Tensor:
    return _SET_TENSOR(CPU_KEYS, tensor, MEMORY.tensor(contiguous_form((0,), tensor.dtype)))


def _admit(
    tensor: torch.Tensor,
    storage: Any,
    view: tuple[tuple[int, ...], tuple[int, ...]] | None,
    offset: int,
) -> None:
    """Refuse elements of another size on tiled memory; tile raw memory that is taken whole."""
    entry = ENTRIES.get(storage.data_ptr())
    if entry is None or storage.nbytes() == 0:
        return
    if entry.form.raw and offset == 0:
        count = storage.nbytes() // tensor.dtype.itemsize
        size, stride = view if view is not None else ((count,), (1,))
        claim(entry, tensor.dtype, size, stride)
    if entry.form.sticks and entry.form.dtype.itemsize != tensor.dtype.itemsize:
        whole = torch.empty(0, dtype=entry.form.dtype, device="spyre")
        require_linear(_SET_STORAGE(CPU_KEYS, whole, storage), tensor.dtype)


def _resize(
    tensor: torch.Tensor, size: Sequence[int], memory_format: torch.memory_format | None = None
) -> torch.Tensor:
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        stride = contiguous_strides(size)
    else:
        stride = torch.empty(size, device="meta", memory_format=memory_format).stride()
    if tuple(size) == tensor.shape and stride == tensor.stride():
        return tensor
    storage, offset = tensor.untyped_storage(), tensor.storage_offset()
    needed = (span(size, stride) + offset) * tensor.element_size()
    if span(size, stride) == 0 or needed <= storage.nbytes():
        return _SET_VIEW(CPU_KEYS, tensor, storage, offset, size, stride)
    grown = allocate(size, stride, tensor.dtype)
    _keep(tensor, grown)
    return _SET_VIEW(CPU_KEYS, tensor, grown.untyped_storage(), 0, size, stride)


def _keep(old: torch.Tensor, new: torch.Tensor) -> None:
    """Carry the elements of the old storage over: in storage order, as torch does."""
    count = old.untyped_storage().nbytes() // old.element_size() - old.storage_offset()
    if count <= 0:
        return
    flat = (count,), (1,)
    content = to_host(torch.as_strided(old, *flat, old.storage_offset()))
    from_host(content, torch.as_strided(new, *flat, 0))
