"""Which unit an operation on tiles occupies, and with how many elements."""

from __future__ import annotations

import math

import numpy as np

from spyrelab.emulator.elementwise import TABLE, named_row
from spyrelab.ktir import Operation, Region, TensorType, Value
from spyrelab.ktir.affine import Dim
from spyrelab.timing.shapes import Extent, Shape, Shapes, shape_of

__all__ = [
    "PRODUCTS",
    "Extents",
    "body_work",
    "elements",
    "product_extents",
    "tile_work",
    "unit_work",
]

PRODUCTS = {
    # batched, left turned, right turned, left is a vector, right is a vector
    "matmul": (False, False, False, False, False),
    "batch_matmul": (True, False, False, False, False),
    "matmul_transpose_a": (False, True, False, False, False),
    "matmul_transpose_b": (False, False, True, False, False),
    "batch_matmul_transpose_a": (True, True, False, False, False),
    "batch_matmul_transpose_b": (True, False, True, False, False),
    "matvec": (False, False, False, False, True),
    "batch_matvec": (True, False, False, False, True),
    "vecmat": (False, False, False, True, False),
    "dot": (False, False, False, True, True),
}
"""The matmul family, without its prefix."""

Extents = tuple[Extent, Extent, Extent, Extent]
"""Batch, rows, columns, depth."""

_MOVES = {
    "linalg.transpose": 0,
    "tensor.extract_slice": None,
    "tensor.insert_slice": 0,
    "tensor.concat": None,
    "tensor.pad": None,
}
"""Operations that move elements: the operand that is counted, None for the result."""

_FREE = {"linalg.fill", "linalg.broadcast"}


def elements(value: Value, shapes: Shapes) -> Extent:
    """Elements of a tensor, per core where they differ; none of a scalar."""
    if not isinstance(value.type, TensorType):
        return 0
    return math.prod(shape_of(value, shapes))


def product_extents(name: str, left: Shape, right: Shape) -> Extents:
    """Extents of a member of the matmul family from the shapes of its operands."""
    batched, turned_left, turned_right, left_vector, right_vector = PRODUCTS[name]
    batch = left[0] if batched else 1
    first, second = tuple(left[batched:]), tuple(right[batched:])
    first = (1, *first) if left_vector else first
    second = (*second, 1) if right_vector else second
    rows, depth = first[::-1] if turned_left else first
    columns = second[0] if turned_right else second[1]
    return batch, rows, columns, depth


def body_work(region: Region) -> dict[str, int]:
    """How often each unit works per point of a body."""
    found: dict[str, int] = {}
    for operation in region.operations:
        row = TABLE.get(operation.name)
        if row is not None:
            found[row.cost.value] = found.get(row.cost.value, 0) + 1
    return found


def tile_work(region: Region, shapes: Shapes) -> dict[str, Extent]:
    """Elements of each unit's work in a body that is run on whole tiles."""
    found: dict[str, Extent] = {}
    for operation in region.operations:
        for unit, count in unit_work(operation, shapes).items():
            found[unit] = found.get(unit, 0) + count
    return found


def unit_work(operation: Operation, shapes: Shapes) -> dict[str, Extent]:
    """Elements of ``sfp``, ``special`` and ``move`` work, as ``emulator.Counters`` counts."""
    name = operation.name
    if name in _MOVES:
        place = _MOVES[name]
        counted = operation.result if place is None else operation.operands[place]
        found = _points(operation, elements(counted, shapes)) if operation.regions else {}
        return {**found, "move": elements(counted, shapes)}
    if name in _FREE or not operation.results:
        return {}
    result = operation.results[0]
    if not isinstance(result.type, TensorType) and not name.startswith("linalg."):
        return {}
    row = TABLE.get(name)
    if row is not None:
        return {row.cost.value: elements(result, shapes)} if _has_axes(result) else {}
    if name.startswith("spyrelab."):
        return _spyrelab_work(operation, shapes)
    if name == "tensor.generate":
        return _points(operation, elements(result, shapes) if _has_axes(result) else 0)
    return _linalg_work(operation, shapes)


def _has_axes(value: Value) -> bool:
    return isinstance(value.type, TensorType) and bool(value.type.shape)


def _points(operation: Operation, points: Extent) -> dict[str, Extent]:
    return {unit: n * points for unit, n in body_work(operation.regions[0]).items()}


def _spyrelab_work(operation: Operation, shapes: Shapes) -> dict[str, Extent]:
    name = operation.name.removeprefix("spyrelab.")
    if name == "take":
        return {"sfp": elements(operation.result, shapes)}
    if name == "histogram":
        source, *masks = operation.operands
        bins = elements(operation.result, shapes)
        return {"sfp": (2 * bins + len(masks)) * elements(source, shapes)}
    if name == "scan":
        shape = shape_of(operation.operands[0], shapes)
        length = int(np.max(shape[operation.attributes["axis"]]))
        distances = [1 << level for level in range((max(length, 1) - 1).bit_length())]
        combined = sum(length - distance for distance in distances)
        return _points(operation, combined * (math.prod(shape) // max(length, 1)))
    return {}


def _linalg_work(operation: Operation, shapes: Shapes) -> dict[str, Extent]:
    name = operation.name.removeprefix("linalg.")
    if name == "map":
        return _points(operation, elements(operation.result, shapes) * _has_axes(operation.result))
    if name == "reduce":
        return _points(operation, elements(operation.operands[0], shapes))
    if name == "generic":
        return _points(operation, _iteration_space(operation, shapes))
    if operation.name.startswith("linalg.") and name not in PRODUCTS:
        try:
            row = named_row(name, operation.result.type.element)  # type: ignore[union-attr]
        except (KeyError, AttributeError):
            return {}
        if not _has_axes(operation.result):
            return {}
        return {row.cost.value: elements(operation.results[0], shapes)}
    return {}


def _iteration_space(operation: Operation, shapes: Shapes) -> Extent:
    """Points of a ``linalg.generic``; without dimensions it counts as scalar code."""
    found: dict[int, Extent] = {}
    maps = operation.attributes["indexing_maps"]
    for indexing, operand in zip(maps, operation.operands, strict=True):
        if isinstance(operand.type, TensorType):
            for expr, extent in zip(indexing.results, shape_of(operand, shapes), strict=True):
                if isinstance(expr, Dim):
                    found.setdefault(expr.index, extent)
    return math.prod(found.values()) if maps[0].dims else 0
