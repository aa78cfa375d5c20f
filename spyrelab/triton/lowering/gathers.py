"""Accesses element by element, or row by row: always right, and charged as what they are."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab.ktir.builder import Row, Scalar, Tensor, View
from spyrelab.ktir.types import INDEX
from spyrelab.triton.lowering.access import Access
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Iota, Lanes
from spyrelab.triton.lowering.masks import side_tensor
from spyrelab.triton.lowering.spread import spread
from spyrelab.triton.lowering.turned import Turned

__all__ = ["Elements", "elements_of", "load_elements", "store_elements"]


@dataclass(frozen=True)
class Elements:
    """Offsets into a view of everything behind an origin, and the rows that begin there.

    ``order``: axes of the tensor in the order of offsets and row.
    """

    view: View
    offsets: Tensor
    mask: Tensor | None
    row: Row | None
    order: tuple[int, ...]


def elements_of(kernel: Kernel, access: Access, rows: bool = True) -> Elements:
    """Offsets of an access in its simplest form; of whole rows if ``rows`` and there are some."""
    b = kernel.b
    extent = kernel.extent(access.origin, access.element)
    address = kernel.address(access.origin, access.element)
    view = kernel.view(access.origin, access.element, address, [(extent, 1)])
    axis = _row_axis(access) if rows else None
    axes = tuple(a for a in range(len(access.shape)) if a != axis)
    terms = [term for term in access.offset.terms if axis not in term.axes]
    shape = access.shape
    lanes = Lanes(b, shape, INDEX, access.offset.base, terms)
    offsets = lanes.along(axes) if axes else b.splat(b.scalar_of(lanes.base), (1,))
    mask = _mask(kernel, access, axes)
    if axis is None:
        return Elements(view, offsets, mask, None, axes)
    step: Index = next(term.factor for term in access.offset.terms if axis in term.axes)
    _, high = access.mask.limits(axis, shape[axis])
    limit = b.most(high, 0) if isinstance(high, Scalar) else max(high, 0)
    return Elements(view, offsets, mask, Row(shape[axis], step, limit), (*axes, axis))


def _row_axis(access: Access) -> int | None:
    """An axis along which all offsets move by one step, bounded from above at most."""
    rank = len(access.shape)
    if rank < 2:
        return None
    for axis in reversed(range(rank)):
        terms = [term for term in access.offset.terms if axis in term.axes]
        alone = len(terms) == 1 and isinstance(terms[0].source, Iota)
        masked = any(axis in piece.axes for piece in access.mask.pieces)
        low = any(side.axis == axis and side.is_low for side in access.mask.sides)
        if alone and not masked and not low and access.shape[axis] > 1:
            return axis
    return None


def _mask(kernel: Kernel, access: Access, axes: tuple[int, ...]) -> Tensor | None:
    """The mask over some axes, which its pieces and sides there depend on alone."""
    b, mask = kernel.b, access.mask
    shape = tuple(access.shape[axis] for axis in axes) or (1,)
    parts: list[Tensor] = []
    for piece in mask.pieces:
        places = [axes.index(axis) for axis in piece.axes]
        tensor = piece.tensor()
        parts.append(spread(b, tensor, places, shape) if places else b.splat(tensor.item(), shape))
    for side in mask.sides:
        if side.axis in axes:
            line = side_tensor(b, access.shape[side.axis], side)
            parts.append(spread(b, line, [axes.index(side.axis)], shape))
    if mask.conditions:
        parts.append(b.splat(b.all_of(mask.conditions), shape))
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total & part
    return total


def load_elements(kernel: Kernel, access: Access) -> Value:
    """The elements; masked ones are zero."""
    found = elements_of(kernel, access)
    tensor = kernel.b.gather_elements(found.view, found.offsets, found.mask, found.row)
    if not access.shape:
        return tensor.item(0)
    if found.order != tuple(range(len(found.order))):
        back = [found.order.index(axis) for axis in range(len(found.order))]
        return Turned(kernel.b, tensor, back)
    return tensor


def store_elements(kernel: Kernel, access: Access, value: Scalar | Tensor) -> None:
    """Write the elements; masked ones stay."""
    b = kernel.b
    found = elements_of(kernel, access)
    tensor = b.splat(value, (1,)) if isinstance(value, Scalar) else value
    if found.order != tuple(range(len(found.order))):
        tensor = b.transpose(tensor, found.order)
    b.scatter_elements(tensor, found.view, found.offsets, found.mask, found.row)
