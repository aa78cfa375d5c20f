"""Rules of views, access tiles, loads and stores."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.affine import AffineMap, AffineSet
from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.bounds import (
    Range,
    constant_ranges,
    expression_range,
    extents,
    set_ranges,
    view_ranges,
    visited_shape,
)
from spyrelab.ktir.dialects.lists import dynamic
from spyrelab.ktir.ir import Operation, Subscript, Value
from spyrelab.ktir.matching import compatible_shapes, element_count
from spyrelab.ktir.types import (
    INDEX,
    AccessTileType,
    Dimension,
    MemRefType,
    RuntimeArgType,
    ScalarType,
    TensorType,
)

_LARGEST = 10**15
RUNTIME_FIELDS = ("value", "granularity", "upperbound")
"""What ktdp.runtime_arg_extract can take from a runtime argument."""


def _shown(shape: Sequence[Dimension]) -> str:
    return "x".join("?" if extent is None else str(extent) for extent in shape) or "()"


def tile_id(check: Check, operation: Operation) -> None:
    """One to three index results."""
    if not 1 <= len(operation.results) <= 3:
        check.fail(operation, f"{len(operation.results)} results; a grid has 1 to 3 dimensions")
    for value in operation.results:
        check.same(operation, f"%{value.name}", value.type, INDEX)


def _view_type(check: Check, operation: Operation, value: Value) -> MemRefType:
    if not isinstance(value.type, MemRefType):
        check.fail(operation, f"%{value.name} is a {value.type}, not a memref")
    return value.type


def memory_view(check: Check, operation: Operation) -> None:
    """Sizes, strides, coordinate set and type must describe one region."""
    sizes, strides = operation.attributes["sizes"], operation.attributes["strides"]
    kind = _view_type(check, operation, operation.result)
    address, *values = operation.operands
    check.integers(operation, "address", address)
    check.integers(operation, "size or stride", *values)
    for name, entries in (("sizes", sizes), ("strides", strides)):
        if len(entries) != len(kind.shape):
            check.fail(operation, f"{len(entries)} {name} for a {kind}", "give one per dimension")
        if any(entry is not None and abs(entry) > _LARGEST for entry in entries):
            check.fail(operation, f"{name} {_shown(entries)} are beyond every memory")
    if dynamic(sizes) + dynamic(strides) != len(values):
        check.fail(operation, "its sizes, strides and operands do not match")
    static = _static_sizes(check, operation, sizes, values)
    if any(size is not None and size < 0 for size in static):
        check.fail(operation, f"sizes {_shown(static)}: a size must not be negative")
    if not compatible_shapes(static, kind.shape):
        check.fail(operation, f"sizes {_shown(static)} do not fit {kind}")
    _coordinates(check, operation, static, dynamic(sizes))
    space = operation.attributes.get("memory_space")
    if space is not None and kind.space not in (None, space):
        check.fail(operation, f"memory_space is {space}, but its type says {kind.space}")


def _static_sizes(
    check: Check, operation: Operation, sizes: Sequence[Dimension], values: list[Value]
) -> list[Dimension]:
    rest = iter(values)
    return [check.constant(next(rest)) if size is None else size for size in sizes]


def _coordinates(
    check: Check, operation: Operation, sizes: Sequence[Dimension], symbols: int
) -> None:
    points: AffineSet | None = operation.attributes.get("coordinate_set")
    if points is None:
        return
    if points.dims != len(sizes):
        check.fail(operation, f"coordinate_set has {points.dims} dimensions, the view {len(sizes)}")
    if points.symbols > symbols:
        check.fail(
            operation,
            f"coordinate_set has {points.symbols} symbols, but sizes has {symbols} values",
            "symbols are bound, left to right, to the values in sizes",
        )
    for axis, (pair, size) in enumerate(zip(set_ranges(points) or [], sizes, strict=False)):
        if pair is not None and size is not None and pair[1] - pair[0] + 1 > size:
            check.fail(
                operation,
                f"coordinate_set holds {pair[1] - pair[0] + 1} places in dimension {axis}, "
                f"which has size {size}",
            )


def distributed_view(check: Check, operation: Operation) -> None:
    """Parts with the elements and the rank of the whole."""
    kind = _view_type(check, operation, operation.result)
    if not operation.operands:
        check.fail(operation, "it needs at least one part")
    for value in operation.operands:
        part = _view_type(check, operation, value)
        if part.element != kind.element or len(part.shape) != len(kind.shape):
            check.fail(operation, f"%{value.name} is a {part}, which cannot be part of {kind}")


def _base(check: Check, operation: Operation) -> MemRefType | TensorType:
    base = operation.operands[0] if operation.operands else None
    if base is None or not isinstance(base.type, MemRefType | TensorType):
        check.fail(operation, "its base must be a memref or a tensor")
    return base.type


def _point_set(
    check: Check,
    operation: Operation,
    prefix: str,
    rank: int,
) -> list[Range]:
    """Checks the set, the order and the result's shape; returns the set's ranges."""
    points: AffineSet | None = operation.attributes.get(f"{prefix}_set")
    order: AffineMap | None = operation.attributes.get(f"{prefix}_order")
    symbols = operation.attributes.get("symbol_operands", 0)
    kind = operation.result.type
    if not isinstance(kind, AccessTileType):
        check.fail(operation, f"the result is a {kind}, not an access tile")
    for what, affine in ((f"{prefix}_set", points), (f"{prefix}_order", order)):
        if affine is not None and affine.dims != rank:
            check.fail(operation, f"{what} has {affine.dims} dimensions, but {rank} are needed")
    if points is None:
        return [None] * rank
    if points.symbols != symbols:
        check.fail(
            operation,
            f"{prefix}_set has {points.symbols} symbols, but symbols(..) gives {symbols} values",
        )
    ranges = set_ranges(points)
    _tile_shape(check, operation, kind, ranges, order, rank)
    return ranges or [None] * rank


def _tile_shape(
    check: Check,
    operation: Operation,
    kind: AccessTileType,
    ranges: list[Range] | None,
    order: AffineMap | None,
    rank: int,
) -> None:
    shape = extents(ranges) if ranges is not None else [None] * rank
    for axis, extent in enumerate(shape):
        if extent is not None and extent < 1:
            check.fail(operation, f"its set holds no point in dimension {axis}")
    visited = visited_shape(shape, order)
    if visited is None:
        total, wanted = element_count(shape), element_count(kind.shape)
        if total is not None and wanted is not None and total != wanted:
            check.fail(operation, f"its set holds {total} points, {kind} holds {wanted}")
    elif not compatible_shapes(visited, kind.shape):
        hint = "the order map permutes the shape" if list(visited) != list(shape) else None
        check.fail(operation, f"its set has shape {_shown(visited)}, the result is {kind}", hint)


def access_tile(check: Check, operation: Operation) -> None:
    """One subscript per dimension; the tile must not be known to leave the view."""
    base = _base(check, operation)
    subscripts: AffineMap = operation.attributes["base_map"]
    rank = len(base.shape)
    check.integers(operation, "subscript", *operation.operands[1:])
    if len(subscripts.results) != rank:
        check.fail(operation, f"{len(subscripts.results)} subscripts for a {base}")
    symbols = operation.attributes.get("symbol_operands", 0)
    captures = operation.operands[1 : len(operation.operands) - symbols]
    if subscripts.dims != len(captures):
        check.fail(operation, "its subscripts and its operands do not match")
    ranges = _point_set(check, operation, "access_tile", rank)
    known = constant_ranges(check, captures)
    starts = [expression_range(e, known, ()) for e in subscripts.results]
    limits = view_ranges(check, operation.operands[0])
    for axis in range(rank):
        _inside(check, operation, axis, starts[axis], ranges[axis], limits[axis])


def _inside(
    check: Check, operation: Operation, axis: int, start: Range, points: Range, limit: Range
) -> None:
    if points is None or limit is None:
        return
    extent, room = points[1] - points[0] + 1, limit[1] - limit[0] + 1
    if extent > room:
        check.fail(
            operation,
            f"the tile has {extent} places in dimension {axis}, but the view only {room}",
            "make the tile smaller or the view larger",
        )
    if start is None:
        return
    first, last = start[0] + points[0], start[1] + points[1]
    if first < limit[0] or last > limit[1]:
        check.fail(
            operation,
            f"the tile covers {first} to {last} in dimension {axis}, "
            f"but the view {limit[0]} to {limit[1]}",
            "move the subscript or make the tile smaller",
        )


def indirect_tile(check: Check, operation: Operation) -> None:
    """Subscripts over variables of the tile and captured values."""
    base = _base(check, operation)
    attributes = operation.attributes
    variables, views = attributes["intermediate_variables"], attributes["index_views"]
    subscripts: tuple[Subscript, ...] = attributes["subscripts"]
    if len(subscripts) != len(base.shape):
        check.fail(operation, f"{len(subscripts)} subscripts for a {base}")
    ranges = _point_set(check, operation, "variables_space", variables)
    end = len(operation.operands) - attributes.get("symbol_operands", 0)
    captures = operation.operands[1 + views : end]
    check.integers(operation, "subscript", *operation.operands[1 + views :])
    known = constant_ranges(check, captures)
    for axis, subscript in enumerate(subscripts):
        if (subscript.map.dims, subscript.map.symbols) != (variables, len(captures)):
            check.fail(operation, f"subscript {axis} does not match the variables and operands")
        places = [expression_range(e, ranges, known) for e in subscript.map.results]
        if subscript.view is None:
            what, target = f"subscript {axis}", operation.operands[0]
            limits = view_ranges(check, target)[axis : axis + 1]
        else:
            target = operation.operands[1 + subscript.view]
            what = f"%{target.name}[..]"
            _index_view(check, operation, target, len(places))
            limits = view_ranges(check, target)
        _places_inside(check, operation, what, places, limits)


def _index_view(check: Check, operation: Operation, view: Value, subscripts: int) -> None:
    kind = view.type
    if not isinstance(kind, MemRefType | TensorType):
        check.fail(operation, f"index view %{view.name} is a {kind}, not a memref")
    if not kind.element.is_integer:
        check.fail(operation, f"index view %{view.name} holds {kind.element}, not whole numbers")
    if len(kind.shape) != subscripts:
        check.fail(operation, f"{subscripts} subscripts for the index view %{view.name}: {kind}")


def _places_inside(
    check: Check,
    operation: Operation,
    what: str,
    places: Sequence[Range],
    limits: Sequence[Range],
) -> None:
    if len(places) != len(limits):
        check.fail(operation, f"{what} has {len(places)} expressions, not {len(limits)}")
    for place, limit in zip(places, limits, strict=True):
        if place is None or limit is None:
            continue
        if place[0] < limit[0] or place[1] > limit[1]:
            check.fail(
                operation,
                f"{what} covers {place[0]} to {place[1]}, but the view {limit[0]} to {limit[1]}",
                "move the subscript or make the tile smaller",
            )


def _transfer(check: Check, operation: Operation, data: Value, tile: Value) -> None:
    if not isinstance(tile.type, AccessTileType):
        check.fail(operation, f"%{tile.name} is a {tile.type}, not an access tile")
    kind = check.tensor(operation, "data", data)
    if not compatible_shapes(kind.shape, tile.type.shape):
        check.fail(
            operation, f"%{data.name} is a {kind}, but the tile a {tile.type}", "use equal shapes"
        )
    definition = check.definitions.get(tile)
    base = definition.operands[0].type if definition is not None and definition.operands else None
    if isinstance(base, MemRefType | TensorType) and base.element != kind.element:
        check.fail(
            operation,
            f"%{data.name} holds {kind.element}, but the view {base.element}",
            "cast the tensor, or make a view of its type",
        )


def load(check: Check, operation: Operation) -> None:
    """Result and tile have one shape, result and view one element type."""
    _transfer(check, operation, operation.result, operation.operands[0])


def store(check: Check, operation: Operation) -> None:
    """Data and tile have one shape, data and view one element type."""
    data, tile = operation.operands
    _transfer(check, operation, data, tile)


def runtime_extract(check: Check, operation: Operation) -> None:
    """A field that the runtime argument has."""
    (argument,) = operation.operands
    kind, field = argument.type, operation.attributes.get("field")
    if not isinstance(kind, RuntimeArgType):
        check.fail(operation, f"%{argument.name} is a {kind}, not a runtime argument")
    if field not in RUNTIME_FIELDS:
        check.fail(operation, f"unknown field {field}", f"use {', '.join(RUNTIME_FIELDS)}")
    if field != "value" and getattr(kind, field) is None:
        check.fail(operation, f"{kind} promises no {field}", f"add {field}=N to its type")
    result = operation.result.type
    if not isinstance(result, ScalarType):
        check.fail(operation, f"the result is a {result}, not a number")
