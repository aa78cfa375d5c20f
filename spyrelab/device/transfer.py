"""Between host tensors and device memory: one pair of functions, for any view of any layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from spyrelab.device.allocations import Entry, entry_of
from spyrelab.device.dtypes import BITS, bits_of
from spyrelab.device.eager.recording import refuse
from spyrelab.device.internals import WithoutModes, negated_view
from spyrelab.device.memory import MEMORY
from spyrelab.device.places import Place
from spyrelab.device.relayout import host_bytes
from spyrelab.layout import convert

__all__ = [
    "alias",
    "copy_to_host",
    "from_host",
    "is_whole",
    "mark_written",
    "place_of",
    "same_bytes",
    "to_host",
]


def place_of(tensor: torch.Tensor) -> tuple[Entry, Place]:
    """The allocation of a tensor, and where in it the tensor lies."""
    entry = entry_of(tensor)
    offset: Any = tensor.storage_offset()
    place = entry.form.place(tensor.dtype, tensor.shape, tensor.stride(), offset)
    return entry, place


def to_host(tensor: torch.Tensor, shared: bool = False) -> torch.Tensor:
    """A CPU tensor with the elements of a device tensor, in the same order of dimensions.

    Parameters
    ----------
    shared : bool
        Allow a result that aliases device memory, which linear allocations can give at no cost.
    """
    refuse("the host reads elements")
    entry, place = place_of(tensor)
    if place.itemsize != entry.form.dtype.itemsize and place.tiled:
        host = _retyped(entry, place, tensor.dtype)
    elif place.tiled:
        host = _gather(entry, place, tensor.dtype)
    else:
        host = alias(entry, place, tensor.dtype)
        if not shared:
            host = host.clone()
    if tensor.is_conj():
        host = host.conj()
    return negated_view(host) if tensor.is_neg() else host


def copy_to_host(tensor: torch.Tensor, target: torch.Tensor) -> None:
    """Copy a device tensor into a CPU tensor of the same size and any type."""
    entry, place = place_of(tensor)
    plain = tensor.dtype == target.dtype and not (tensor.is_neg() or target.is_neg())
    if plain and place.tiled and place.itemsize == entry.form.dtype.itemsize and place.in_order:
        _read(entry, place, bits_of(target.detach()))
    else:
        target.copy_(to_host(tensor, shared=True))


def from_host(host: torch.Tensor, tensor: torch.Tensor, fresh: bool = False) -> None:
    """Write the elements of a CPU tensor into a device tensor of the same size.

    Parameters
    ----------
    fresh : bool
        The device tensor fills a new allocation: its padding becomes zero.
    """
    refuse("the host writes elements")
    if host.dtype != tensor.dtype:
        host = host.to(tensor.dtype)
    if tensor.is_conj():
        host = host.conj()
    if tensor.is_neg():
        host = -host
    if tensor.numel() == 0:
        return
    entry, place = place_of(tensor)
    if place.tiled:
        _scatter(host.detach().resolve_conj().resolve_neg(), entry, place, fresh)
    else:
        alias(entry, place, tensor.dtype).copy_(host)
    mark_written(entry, place)


def mark_written(entry: Entry, place: Place) -> None:
    """Tell the sanitizer that the host wrote a view."""
    memory = MEMORY.device
    if place.size == entry.form.size or not place.tiled:
        memory.mark_written(entry.address, entry.form.device_bytes)
        return
    for box in place.boxes or ():
        memory.mark_written(entry.address + box.offset, box.reach)
    if place.boxes is None:
        width = place.itemsize
        low, high = int(place.offsets.min()), int(place.offsets.max())
        memory.mark_written(entry.address + low * width, (high - low + 1) * width)


def alias(entry: Entry, place: Place, dtype: torch.dtype) -> torch.Tensor:
    """A CPU tensor that shares the memory of a view of a linear allocation."""
    if 0 in place.size:
        return torch.empty_strided(place.size, place.stride, dtype=dtype)
    start = (entry.address + place.start) // dtype.itemsize
    return _everything(dtype).as_strided(place.size, place.stride, start)


def same_bytes(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Copy one whole allocation onto another of the same form; False if they are not that."""
    if source.dtype != target.dtype or source.is_conj() != target.is_conj():
        return False
    if source.is_neg() != target.is_neg() or source.numel() == 0:
        return False
    old, new = entry_of(source), entry_of(target)
    if not (is_whole(source, old) and is_whole(target, new)):
        return False
    if old.form is not new.form and (
        old.form.layout != new.form.layout
        or old.form.size != new.form.size
        or old.form.stride != new.form.stride
    ):
        return False
    count, memory = old.form.device_bytes, MEMORY.device
    if old.address != new.address:
        taken = memory.bytes[old.address : old.address + count]
        memory.bytes[new.address : new.address + count] = taken
        memory.mark_written(new.address, count)
    return True


def is_whole(tensor: torch.Tensor, entry: Entry) -> bool:
    """Whether a tensor is the one that its allocation was made for."""
    form = entry.form
    return (
        form.dtype == tensor.dtype
        and form.size == tensor.shape
        and form.stride == tensor.stride()
        and tensor.storage_offset() == 0
    )


_VIEWS: dict[torch.dtype, torch.Tensor] = {}


def _everything(dtype: torch.dtype) -> torch.Tensor:
    """All of device memory as one CPU tensor."""
    found = _VIEWS.get(dtype)
    if found is None:
        with torch.inference_mode(False), WithoutModes():
            every = torch.from_numpy(MEMORY.device.bytes)
            found = _VIEWS[dtype] = every[: every.numel() // 16 * 16].view(dtype)
    return found


def _block(entry: Entry, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, width: int):  # type: ignore[no-untyped-def]
    return np.ndarray(shape, BITS[width], MEMORY.device.bytes, entry.address + offset, strides)


def _gather(entry: Entry, place: Place, dtype: torch.dtype) -> torch.Tensor:
    host = torch.empty(place.ordered_size, dtype=dtype, device="cpu")
    _read(entry, place, bits_of(host))
    return host if place.in_order else host.permute(place.restore).expand(place.size)


def _read(entry: Entry, place: Place, bits: np.ndarray) -> None:
    """Fill an array of the host's order of dimensions with the elements of a tiled view."""
    width = place.itemsize
    if place.boxes is None:
        bits[...] = _elements(entry, width)[place.offsets]
    else:
        for box in place.boxes:
            block = _block(entry, box.shape, box.strides, box.offset, width)
            # Splitting dimensions makes a view, where joining the block's would make a copy.
            bits[box.slices].reshape(box.shape)[...] = block
    if place.dtype == "df16":
        bits[...] = convert(bits, "df16", "f16").view(bits.dtype)


def _retyped(entry: Entry, place: Place, dtype: torch.dtype) -> torch.Tensor:
    """Elements of another size than the layout's: torch's C++ side makes such views of storages."""
    content = torch.from_numpy(host_bytes(entry)).view(dtype)
    return content.as_strided(place.size, place.stride, place.offset)


def _scatter(host: torch.Tensor, entry: Entry, place: Place, fresh: bool) -> None:
    form, width = entry.form, place.itemsize
    if fresh and form.device_bytes > host.numel() * width:
        MEMORY.device.bytes[entry.address : entry.address + form.device_bytes] = 0
    bits = bits_of(host.expand(place.size))
    if not place.in_order:
        bits = bits.transpose(place.order)
        keep = (size == 1 for size in place.ordered_size)
        bits = bits[tuple(slice(0, 1) if one else slice(None) for one in keep)]
    if place.dtype == "df16":
        bits = convert(np.ascontiguousarray(bits), "f16", "df16").view(bits.dtype)
    if place.boxes is None:
        _elements(entry, width)[place.offsets] = bits
        return
    for box in place.boxes:
        block = _block(entry, box.shape, box.strides, box.offset, width)
        block[...] = bits[box.slices].reshape(box.shape)


def _elements(entry: Entry, width: int) -> np.ndarray:
    count = entry.form.device_bytes // width
    return np.ndarray((count,), BITS[width], MEMORY.device.bytes, entry.address)
