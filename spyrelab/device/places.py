"""Where one view of an allocation lies in device memory, and how the host reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from spyrelab.device.dtypes import KTIR_NAMES
from spyrelab.layout import Access, SpyreTensorLayout, access, element_offsets
from spyrelab.opspec.operand import Operand

if TYPE_CHECKING:
    from spyrelab.device.forms import Form

__all__ = ["Box", "Place", "find_place"]


class Box(NamedTuple):
    """A strided block of device memory and where it lies in the view; in bytes."""

    slices: tuple[slice | EllipsisType, ...]
    size: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    reach: int


@dataclass(frozen=True)
class Place:
    """A view of an allocation.

    Attributes
    ----------
    dtype : str or None
        KTIR name of the elements on the device; None where device programs have no such type.
    access : Access or None
        None where the view is not affine in device memory.
    start : int
        Bytes from the allocation's address to the first element.
    tiled : bool
        Whether the allocation is: the host cannot alias its elements then.
    """

    dtype: str | None
    access: Access | None
    start: int
    tiled: bool
    itemsize: int
    layout: SpyreTensorLayout | None
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @cached_property
    def operand(self) -> Operand | None:
        """What programs see; None where they can see nothing."""
        if self.dtype is None or self.access is None:
            return None
        return Operand(self.dtype, self.access)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Dimensions by descending host stride: the order in which the host keeps a copy."""
        steps = [-step for step in self.stride]
        return tuple(sorted(range(len(self.size)), key=steps.__getitem__))

    @cached_property
    def compact(self) -> tuple[int, ...]:
        """The view's size, with one element in place of every broadcast dimension."""
        pairs = zip(self.size, self.stride, strict=True)
        return tuple(1 if step == 0 and extent else extent for extent, step in pairs)

    @cached_property
    def restore(self) -> tuple[int, ...]:
        """The permutation from the host's copy back to the view."""
        return tuple(int(d) for d in np.argsort(self.order, kind="stable"))

    @cached_property
    def in_order(self) -> bool:
        """Whether the host's copy needs neither permuting nor expanding."""
        return self.order == tuple(range(len(self.size))) and self.compact == self.size

    @cached_property
    def ordered_size(self) -> tuple[int, ...]:
        """Size of the host's copy."""
        return tuple(self.compact[d] for d in self.order)

    @cached_property
    def boxes(self) -> tuple[Box, ...] | None:
        """Blocks that cover the host's copy; None if there are none: see :attr:`offsets`."""
        if self.layout is None or 0 in self.size:
            return ()
        stride = tuple(self.stride[d] for d in self.order)
        found = access(self.layout, self.ordered_size, stride, self.offset)
        if found is None:
            return None
        width, boxes = self.itemsize, []
        for piece in found.access.pieces:
            strides = tuple(step * width for step in piece.strides)
            pairs = zip(piece.shape, strides, strict=True)
            reach = sum((extent - 1) * step for extent, step in pairs) + width
            start = (found.start + piece.offset) * width
            # The ellipsis keeps a view of no dimensions an array.
            boxes.append(Box((*piece.slices, ...), piece.size, piece.shape, strides, start, reach))
        return tuple(boxes)

    @property
    def offsets(self) -> np.ndarray:
        """Device element of every element of the host's copy, for views that are not affine."""
        assert self.layout is not None
        stride = tuple(self.stride[d] for d in self.order)
        return element_offsets(self.layout, self.ordered_size, stride, self.offset)


def find_place(
    form: Form, dtype: torch.dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> Place:
    """Locate a view of an allocation of this form."""
    name = KTIR_NAMES.get(dtype)
    layout = form.layout if form.tiled else None
    if layout is not None:
        if layout.dtype == "df16":
            name = "df16"
        located = access(layout, size, stride, offset) if 0 not in size else None
        if located is None:
            return Place(name, None, 0, True, dtype.itemsize, layout, size, stride, offset)
        start = located.start * dtype.itemsize
        return Place(
            name, located.access, start, True, dtype.itemsize, layout, size, stride, offset
        )
    found = None
    if name is not None and 0 not in size:
        found = _linear_access(form, dtype, name, size, stride, offset)
    start = offset * dtype.itemsize
    return Place(name, found, start, False, dtype.itemsize, None, size, stride, offset)


def _linear_access(
    form: Form,
    dtype: torch.dtype,
    name: str,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
) -> Access | None:
    """The access of a view where device order is host order: by sticks if the layout has them."""
    if form.sticks and form.layout is not None:
        located = access(form.layout, size, stride, offset)
        if located is not None:
            return located.access
    linear = SpyreTensorLayout.linear((form.host_bytes // dtype.itemsize,), name)
    located = access(linear, size, stride, offset)
    return located.access if located is not None else None
