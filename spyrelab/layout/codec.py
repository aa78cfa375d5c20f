"""Between host arrays and sticks: pack, unpack, and the two for any view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from spyrelab.emulator.formats import decode, encode, storage_dtype
from spyrelab.layout.access import Access, Located, access, element_offsets
from spyrelab.layout.element import element_type
from spyrelab.layout.errors import LayoutError
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides

__all__ = ["convert", "pack", "read", "unpack", "write"]

Elements = NDArray[Any]


def pack(
    array: Elements, layout: SpyreTensorLayout, host_stride: Sequence[int] | None = None
) -> Elements:
    """The device elements of a host array, in memory order, with zeros for padding.

    Parameters
    ----------
    array : ndarray
        Elements of the layout's item size; their bits are moved, not their values.
    host_stride : sequence of int, optional
        The strides that the layout was made for; default contiguous.

    Raises
    ------
    LayoutError
        The layout does not describe the array.
    """
    _same_size(array, layout)
    packed = np.zeros(layout.numel, array.dtype)
    write(packed, _whole(layout, array.shape, host_stride), array)
    return packed


def unpack(
    elements: Elements,
    layout: SpyreTensorLayout,
    host_size: Sequence[int],
    host_stride: Sequence[int] | None = None,
) -> Elements:
    """The host array that lies in device ``elements``; the inverse of :func:`pack`."""
    _same_size(elements, layout)
    return read(elements, _whole(layout, host_size, host_stride))


def read(elements: Elements, located: Located) -> Elements:
    """A fresh row-major array of the elements of a view of device memory."""
    result = np.empty(located.access.size, elements.dtype)
    for piece in located.access.pieces if result.size else ():
        box = _box(elements, located, piece.shape, piece.strides, piece.offset)
        result[piece.slices] = box.reshape(piece.size)
    return result


def write(elements: Elements, located: Located, array: Elements) -> None:
    """Put a host array into a view of device memory; what lies beside it stays."""
    for piece in located.access.pieces if array.size else ():
        box = _box(elements, located, piece.shape, piece.strides, piece.offset)
        box[...] = array[piece.slices].reshape(piece.shape)


def convert(bits: Elements, source: str, target: str) -> Elements:
    """Bit patterns of float type ``target`` nearest to those of float type ``source``.

    >>> convert(np.float16([1]).view(np.uint16), "f16", "df16")
    array([15872], dtype=uint16)
    """
    old, new = element_type(source), element_type(target)
    if old == new:
        return bits
    return encode(decode(bits.view(storage_dtype(old)), old), new)


def _box(
    elements: Elements,
    located: Located,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> Elements:
    start = located.start + offset
    steps = [stride * elements.itemsize for stride in strides]
    return as_strided(elements[start:], shape, steps)


def _same_size(array: Elements, layout: SpyreTensorLayout) -> None:
    if array.itemsize != layout.itemsize:
        raise LayoutError(
            f"elements of {array.itemsize} bytes do not fit {layout}, whose elements have"
            f" {layout.itemsize}"
        )


def _whole(layout: SpyreTensorLayout, size: Sequence[int], stride: Sequence[int] | None) -> Located:
    shape = tuple(size)
    if 0 in shape:
        return Located(Access(shape, ((),) * len(shape)), 0)
    steps = tuple(stride) if stride is not None else contiguous_strides(shape)
    found = access(layout, shape, steps)
    if found is None:
        element_offsets(layout, shape, steps)
        raise LayoutError(f"{layout} does not describe a tensor of size {list(shape)}")
    return found
