"""Which unit an operation on tiles occupies, and with how many elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spyrelab.emulator.elementwise import TABLE, named_row
from spyrelab.ktir import Operation, Region, TensorType, Value

__all__ = ["PRODUCTS", "Extents", "body_work", "elements", "product_extents", "unit_work"]

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

Extents = tuple[int, int, int, int]
"""Batch, rows, columns, depth."""

_MOVES = {
    "linalg.transpose": 0,
    "tensor.extract_slice": None,
    "tensor.insert_slice": 0,
    "tensor.concat": None,
    "tensor.pad": None,
}
"""Operations that move elements: the operand that is counted, None for the result."""

_FREE = {"linalg.fill", "linalg.copy", "linalg.broadcast"}


def elements(value: Value, shapes: dict[Value, tuple[int, ...]] | None = None) -> int:
    """Elements of a tensor; extents that are not known count as one."""
    if shapes and value in shapes:
        return math.prod(shapes[value])
    kind = value.type
    if not isinstance(kind, TensorType):
        return 0
    return math.prod(extent if extent is not None else 1 for extent in kind.shape)


def product_extents(name: str, left: Sequence[int], right: Sequence[int]) -> Extents:
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


def unit_work(
    operation: Operation, shapes: dict[Value, tuple[int, ...]] | None = None
) -> dict[str, int]:
    """Elements of ``sfp``, ``special`` and ``move`` work, as ``emulator.Counters`` counts."""
    name = operation.name
    if name in _MOVES:
        place = _MOVES[name]
        counted = operation.result if place is None else operation.operands[place]
        return {"move": elements(counted, shapes)}
    if name in _FREE or not operation.results:
        return {}
    result = operation.results[0]
    if not isinstance(result.type, TensorType) and not name.startswith("linalg."):
        return {}
    row = TABLE.get(name)
    if row is not None:
        return {row.cost.value: elements(result, shapes)} if _has_axes(result) else {}
    return _linalg_work(operation, shapes)


def _has_axes(value: Value) -> bool:
    return isinstance(value.type, TensorType) and bool(value.type.shape)


def _linalg_work(
    operation: Operation, shapes: dict[Value, tuple[int, ...]] | None
) -> dict[str, int]:
    name = operation.name.removeprefix("linalg.")
    if name in ("generic", "map", "reduce"):
        first = operation.operands[0]
        points = elements(first if name == "reduce" else operation.results[0], shapes)
        if name == "generic":
            points = max(elements(value, shapes) for value in operation.operands)
        return {unit: n * points for unit, n in body_work(operation.regions[0]).items()}
    if operation.name.startswith("linalg.") and name not in PRODUCTS:
        try:
            row = named_row(name, operation.result.type.element)  # type: ignore[union-attr]
        except (KeyError, AttributeError):
            return {}
        return {row.cost.value: elements(operation.results[0], shapes)}
    return {}
