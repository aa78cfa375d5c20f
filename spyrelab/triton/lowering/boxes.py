"""Accesses that are boxes: one memory view, one access tile."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.builder_values import Place
from spyrelab.triton.lowering.access import Access, zero_sized
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.turned import Turned

__all__ = ["Box", "box_of", "load_box", "store_box"]


@dataclass(frozen=True)
class Box:
    """Where a tile lies: a view, the tile's corner in it, its extents.

    ``order`` maps the axes of the tile to those of the tensor, fastest memory axis last.
    ``repeated`` are axes of the tensor along which every element is the same: not in the view.
    """

    place: Place
    shape: tuple[int, ...]
    order: tuple[int, ...]
    repeated: tuple[int, ...]


def box_of(kernel: Kernel, access: Access, loads: bool) -> Box:
    """The box of an access of form `Form.BOX`."""
    b = kernel.b
    steps: dict[int, Index] = {term.axes[0]: term.factor for term in access.offset.terms}
    start = b.plus(kernel.address(access.origin, access.element), access.offset.base)
    order = _order(access, steps, loads)
    sizes: list[Index] = []
    corner: list[Index] = []
    for axis in order:
        low, high = access.mask.limits(axis, access.shape[axis])
        if low != 0:
            start = b.plus(start, b.times(low, steps.get(axis, 0)))
        sizes.append(kernel.limit(_size(kernel, low, high), low, access.shape[axis]))
        corner.append(b.minus(0, low))
    repeated = tuple(axis for axis in range(len(access.shape)) if axis not in order)
    shape = tuple(access.shape[axis] for axis in order)
    strides: list[Index] = [steps.get(axis, 0) for axis in order]
    if not order:
        sizes, corner, shape, strides = [1], [0], (1,), [1]
    if access.mask.conditions:
        sizes[0] = zero_sized(kernel, access.mask, sizes[0])
    dims = list(zip(sizes, strides, strict=True))
    view = kernel.view(access.origin, access.element, start, dims)
    place = view[tuple(b.constant(c) if isinstance(c, int) else c for c in corner)]
    return Box(place, shape, order, repeated)


def _order(access: Access, steps: dict[int, Index], loads: bool) -> tuple[int, ...]:
    """Axes of the view: matrices that are read by columns are read by rows and turned."""
    rank = len(access.shape)
    kept = [
        axis
        for axis in range(rank)
        if not loads or axis in steps or access.mask.bounds(axis) or access.shape[axis] == 1
    ]
    if loads and not steps and access.mask.conditions and not kept:
        return ()
    by_columns = len(kept) == rank >= 2 and access.shape[rank - 1] > 1
    if loads and by_columns and steps.get(rank - 2) == 1 and steps.get(rank - 1) != 1:
        return (*range(rank - 2), rank - 1, rank - 2)
    return tuple(kept)


def _size(kernel: Kernel, low: Index, high: Index) -> Index:
    b = kernel.b
    if low == 0 and isinstance(high, int):
        return max(high, 0)
    return b.most(b.minus(high, low), 0)


def load_box(kernel: Kernel, access: Access) -> Value:
    """The elements; masked ones are zero."""
    b = kernel.b
    box = box_of(kernel, access, loads=True)
    tensor = b.load(box.place, box.shape)
    if not access.shape:
        return tensor.item(0)
    if not box.order:
        return b.splat(tensor.item(0), access.shape)
    if box.repeated:
        return b.broadcast(tensor, access.shape, box.repeated)
    if box.order != tuple(range(len(box.order))):
        return Turned(b, tensor, [box.order.index(axis) for axis in range(len(box.order))])
    return tensor


def store_box(kernel: Kernel, access: Access, value: Scalar | Tensor) -> None:
    """Write the elements; masked ones stay."""
    b = kernel.b
    box = box_of(kernel, access, loads=False)
    tensor = b.splat(value, (1,)) if isinstance(value, Scalar) else value
    b.store(b.reshape(tensor, box.shape), box.place)
