"""Values that row operations start from: wide types, identities of folds, indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.affine import identity_map
from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.types import F32, I64, INDEX, ScalarType, TensorType

__all__ = ["count_up", "identity_of", "wide_type"]


def wide_type(kind: ScalarType) -> ScalarType:
    """The type in which elements are computed."""
    return F32 if kind.is_float else I64


def identity_of(kind: str, dtype: ScalarType) -> float | int:
    """What a fold starts with."""
    if kind in ("add", "mul"):
        return int(kind == "mul")
    if dtype.is_float:
        return -math.inf if kind == "max" else math.inf
    return -(1 << 63) if kind == "max" else (1 << 63) - 1


def count_up(b: Builder, lengths: Sequence[int], weights: Sequence[int], first: Any) -> Tensor:
    """``first + sum(index_d * weight_d)`` over a box, as a line of i64."""
    shape = TensorType(tuple(lengths), I64)
    start = first.to(I64) if isinstance(first, Scalar) else first
    out = Value(b.unique("old"), I64)
    operations: list[Operation] = []
    total: Value | None = None

    def apply(name: str, *operands: Value, kind: ScalarType = INDEX, **attributes: Any) -> Value:
        made = Value(b.unique("at"), kind)
        operations.append(Operation(name, operands, (made,), attributes))
        return made

    for axis, weight in enumerate(weights):
        at = apply("linalg.index", dim=axis)
        scaled = apply("arith.muli", at, b.use(b.constant(weight)))
        total = scaled if total is None else apply("arith.addi", total, scaled)
    assert total is not None
    number = apply("arith.index_cast", total, kind=I64)
    placed = apply("arith.addi", number, b.use(start), kind=I64)
    operations.append(Operation("linalg.yield", (placed,)))
    rank = len(lengths)
    attributes = {
        "inputs": 0,
        "indexing_maps": (identity_map(rank),),
        "iterator_types": ("parallel",) * rank,
    }
    region = Region((out,), operations)
    made = b.emit("linalg.generic", [b.empty(shape)], [shape], attributes, [region], "count")
    return b.reshape(b.tensor(made[0]), (math.prod(lengths),))
