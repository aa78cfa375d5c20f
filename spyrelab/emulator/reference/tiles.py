"""Access tiles: which coordinates of a view a tile covers, in which order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spyrelab.emulator.errors import LoweringError, place
from spyrelab.emulator.points import Points, enumerate_set
from spyrelab.emulator.reference.core import Array, Core, concrete_shape, scalar
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.views import View
from spyrelab.ktir.affine import AffineMap, AffineSet, Binary, Constant, Dim, Expr, add
from spyrelab.ktir.ir import Operation, Subscript
from spyrelab.ktir.types import AccessTileType, ScalarType, TensorType, element_of


class IndexView(NamedTuple):
    """A view that supplies subscripts, with the type of its elements."""

    view: View
    element: ScalarType


@dataclass(frozen=True)
class AccessTile:
    """Points of a view (or tensor) in visiting order.

    Attributes
    ----------
    base : View or array
        What is accessed; an array for a tile of a tensor value.
    points : Points
        Points of the variable space: offsets, or values of the intermediate variables.
    subscripts : tuple of Subscript
        One for each dimension of the base, over variables (dims) and captures (symbols).
    """

    base: View | Array
    points: Points
    order: AffineMap | None
    shape: tuple[int, ...]
    subscripts: tuple[Subscript, ...]
    captures: tuple[int, ...]
    index_views: tuple[IndexView, ...]

    @property
    def inside(self) -> Any:
        """Which points of the variables' box belong to the tile."""
        return True if self.points.mask is None else self.points.mask

    def arrange(self, values: Any) -> Array:
        """Bring values over the box of the variable space into the tile's order and shape."""
        over_box = np.broadcast_to(values, self.points.shape)
        if self.order is None:
            return over_box.reshape(self.shape)
        if self.order.permutation is not None:
            return over_box.transpose(self.order.permutation).reshape(self.shape)
        keys = [
            np.broadcast_to(key, self.points.shape).ravel()
            for key in self.order(self.points.coordinates())
        ]
        return over_box.ravel()[np.lexsort(keys[::-1])].reshape(self.shape)

    def visit(self, values: Array, used: Collection[int]) -> Array:
        """Values over the box of the ``used`` variables (extent 1 elsewhere), in visiting order."""
        permutation = None if self.order is None else self.order.permutation
        if permutation is not None:
            return values.transpose(permutation).ravel()
        return (self.arrange(values) if len(used) == values.ndim else values).ravel()


def variables_of(expressions: Sequence[Expr]) -> set[int]:
    """Numbers of the dimensions that occur in expressions."""
    found: set[int] = set()
    for expression in expressions:
        match expression:
            case Dim(index):
                found.add(index)
            case Binary(_, left, right):
                found |= variables_of((left, right))
    return found


@reference("ktdp.construct_access_tile")
def access_tile(core: Core, operation: Operation, base: Any, *rest: Any) -> AccessTile:
    captures, symbols = _split_symbols(operation, rest)
    corner = operation.attributes["base_map"](captures)
    points = _points(operation, "access_tile_set", symbols, len(corner))
    order = operation.attributes.get("access_tile_order")
    shape = _tile_shape(operation, points, order)
    rank = len(corner)
    subscripts = tuple(
        Subscript(None, AffineMap(rank, 0, (add(Dim(d), Constant(int(start))),)))
        for d, start in enumerate(corner)
    )
    return AccessTile(base, points, order, shape, subscripts, (), ())


@reference("ktdp.construct_indirect_access_tile")
def indirect_access_tile(core: Core, operation: Operation, base: Any, *rest: Any) -> AccessTile:
    attributes = operation.attributes
    count = attributes["index_views"]
    captures, symbols = _split_symbols(operation, rest[count:])
    points = _points(
        operation, "variables_space_set", symbols, attributes["intermediate_variables"]
    )
    order = attributes.get("variables_space_order")
    elements = (element_of(value.type) for value in operation.operands[1 : 1 + count])
    index_views = tuple(map(IndexView, rest[:count], elements))
    shape = _tile_shape(operation, points, order)
    return AccessTile(base, points, order, shape, attributes["subscripts"], captures, index_views)


def _split_symbols(
    operation: Operation, operands: Sequence[Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    values = tuple(map(scalar, operands))
    first = len(values) - operation.attributes.get("symbol_operands", 0)
    return values[:first], values[first:]


def _points(operation: Operation, name: str, symbols: Sequence[int], rank: int) -> Points:
    points: AffineSet | None = operation.attributes.get(name)
    if points is not None:
        return enumerate_set(points, symbols)
    shape = tuple(extent for extent in _tile_type(operation).shape if extent is not None)
    if len(shape) != rank:
        raise LoweringError(f"{place(operation)} has no {name}, and its type does not imply one")
    return Points((0,) * rank, shape)


def _tile_type(operation: Operation) -> AccessTileType:
    kind = operation.result.type
    assert isinstance(kind, AccessTileType)
    return kind


def _tile_shape(operation: Operation, points: Points, order: AffineMap | None) -> tuple[int, ...]:
    kind = _tile_type(operation)
    shape = points.shape
    if order is not None and order.permutation is not None:
        shape = tuple(shape[d] for d in order.permutation)
    elif order is not None:
        size = int(np.prod(points.shape))
        shape = concrete_shape(TensorType(kind.shape, ScalarType("index")), size, operation)
    wanted = tuple(
        have if want is None else want for have, want in zip(shape, kind.shape, strict=False)
    )
    if wanted != shape or len(shape) != len(kind.shape) or np.prod(shape) != np.prod(points.shape):
        raise LoweringError(f"{place(operation)}: the set has shape {list(shape)}, not {kind}")
    return shape
