"""Accesses through tables: the card reads the index itself while it moves the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spyrelab.ktir.builder import Scalar, Tensor, View
from spyrelab.ktir.builder_values import Index as Expression
from spyrelab.ktir.builder_values import Place
from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.access import Access, zero_sized
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Divided, Iota, Lanes, Source, Term
from spyrelab.triton.lowering.loaded import Loaded, places_of
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import Origin
from spyrelab.triton.lowering.turned import Turned

__all__ = ["load_indirect", "store_indirect"]

Subscript = Place | Expression | Scalar | int
_Seen = tuple[View, Callable[[Sequence[Expression]], list[Subscript]]]
"""A view, and the subscripts in it for the variables of a tile."""


def load_indirect(kernel: Kernel, access: Access) -> Value:
    """The elements; masked ones, and those behind an index out of range, are zero."""
    order = _order(access)
    places = [order.index(axis) for axis in range(len(order))]
    view, subscript = _tile(kernel, access)
    shape = tuple(access.shape[axis] for axis in order)
    tensor = kernel.b.gather(view, shape, lambda *v: subscript([v[place] for place in places]))
    return tensor if places == sorted(places) else Turned(kernel.b, tensor, places)


def store_indirect(kernel: Kernel, access: Access, value: Tensor) -> None:
    """Write the elements; masked ones stay."""
    view, subscript = _tile(kernel, access)
    kernel.b.scatter(value, view, lambda *variables: subscript(variables))


def _order(access: Access) -> tuple[int, ...]:
    """Axes as the tile walks them: that along which memory is contiguous comes last."""
    rank = len(access.shape)
    plain = tuple(range(rank))
    for axis in reversed(range(max(rank - 2, 0), rank)):
        terms = [term for term in access.offset.terms if axis in term.axes]
        if len(terms) == 1 and isinstance(terms[0].source, Iota) and terms[0].factor == 1:
            return (*(other for other in plain if other != axis), axis)
    return plain


def _tile(kernel: Kernel, access: Access) -> _Seen:
    dims = _dimensions(
        kernel, access.origin, access.element, access.offset, access.mask, access.shape
    )
    return _view(kernel, access.origin, access.element, access.offset, dims)


class _Dimension:
    """One dimension of a view: a term of the offset, or a bound on an axis alone."""

    def __init__(self, term: Term, size: Index, low: Index = 0) -> None:
        self.term = term
        self.size = size
        self.low = low


def _dimensions(
    kernel: Kernel,
    origin: Origin,
    element: ScalarType,
    offset: Lanes,
    mask: Mask,
    shape: tuple[int, ...],
) -> list[_Dimension]:
    b = kernel.b
    dims: list[_Dimension] = []
    bounded: set[int] = set()
    for term in offset.terms:
        if isinstance(term.source, Iota):
            axis = term.axes[0]
            low: Index = 0
            high: Index = shape[axis]
            if axis not in bounded:
                low, high = mask.limits(axis, shape[axis])
                bounded.add(axis)
            size = kernel.limit(b.most(b.minus(high, low), 0), low, shape[axis])
            dims.append(_Dimension(term, size, low))
        else:
            dims.append(_Dimension(term, _reach(kernel, origin, element, offset, term)))
    for axis, extent in enumerate(shape):
        if axis not in bounded and mask.bounds(axis):
            low, high = mask.limits(axis, extent)
            term = Term(Iota(b, extent), (axis,), 0)
            size = kernel.limit(b.most(b.minus(high, low), 0), low, extent)
            dims.append(_Dimension(term, size, low))
    if not dims:
        dims = [_Dimension(Term(Iota(b, 1), (0,), 1), 1)]
    if mask.conditions:
        first = next((d for d in dims if isinstance(d.term.source, Iota)), dims[0])
        first.size = zero_sized(kernel, mask, first.size)
    return dims


def _reach(kernel: Kernel, origin: Origin, element: ScalarType, offset: Lanes, term: Term) -> Index:
    """How many values a subscript may take."""
    b, source = kernel.b, term.source
    if isinstance(source, Divided):
        if source.is_rest:
            return source.divisor
        return b.plus(b.floor_divided(_largest(kernel, source.inner), source.divisor), 1)
    extent = b.minus(kernel.extent(origin, element), offset.base)
    return b.ceil_divided(extent, b.most(term.factor, 1))


def _largest(kernel: Kernel, lanes: Lanes) -> Index:
    b, total = kernel.b, lanes.base
    for term in lanes.terms:
        assert isinstance(term.factor, int)
        if term.factor > 0:
            reach = b.minus(_count(kernel, term.source), 1)
            total = b.plus(total, b.times(reach, term.factor))
    return b.most(total, 0)


def _count(kernel: Kernel, source: Source) -> Index:
    if isinstance(source, Divided) and not source.is_rest:
        b = kernel.b
        return b.plus(b.floor_divided(_largest(kernel, source.inner), source.divisor), 1)
    return source.divisor if isinstance(source, Divided) else source.shape[0]


def _view(
    kernel: Kernel,
    origin: Origin,
    element: ScalarType,
    offset: Lanes,
    dims: list[_Dimension],
) -> _Seen:
    b = kernel.b
    start = b.plus(kernel.address(origin, element), offset.base)
    for dim in dims:
        start = b.plus(start, b.times(dim.low, dim.term.factor))
    view = kernel.view(origin, element, start, [(dim.size, dim.term.factor) for dim in dims])
    tables = [_table(kernel, dim.term) for dim in dims]

    def subscript(variables: Sequence[Expression]) -> list[Subscript]:
        return [_subscript(dim, table, variables) for dim, table in zip(dims, tables, strict=True)]

    return view, subscript


def _table(kernel: Kernel, term: Term) -> _Seen | None:
    """The view of an index table and its own subscripts; None for other terms."""
    source = term.source
    if not isinstance(source, Loaded):
        return None
    shape = source.value.shape
    dims = _dimensions(kernel, source.origin, source.element, source.offset, source.mask, shape)
    return _view(kernel, source.origin, source.element, source.offset, dims)


def _subscript(dim: _Dimension, table: _Seen | None, variables: Sequence[Expression]) -> Subscript:
    term = dim.term
    source = term.source
    if isinstance(source, Iota):
        return variables[term.axes[0]] - dim.low
    if isinstance(source, Divided):
        return _divided(source, term.axes, variables)
    assert isinstance(source, Loaded)
    assert table is not None
    view, subscript = table
    own = [
        variables[place] if place >= 0 else Expression.of(0)
        for place in places_of(source, term.axes)
    ]
    return view[tuple(subscript(own))]


def _divided(source: Divided, axes: Sequence[int], variables: Sequence[Expression]) -> Expression:
    own = [
        variables[place] if place >= 0 else Expression.of(0) for place in places_of(source, axes)
    ]
    total = Expression.of(source.inner.base)
    for term in source.inner.terms:
        assert isinstance(term.factor, int)
        if isinstance(term.source, Divided):
            part = _divided(term.source, term.axes, own)
        else:
            part = own[term.axes[0]]
        total = total + part * term.factor
    return total % source.divisor if source.is_rest else total // source.divisor
