"""Tensors of offsets that a program makes from scalars: splats, counts along axes, reshapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spyrelab.emulator.elementwise import TABLE
from spyrelab.ktir import Operation, TensorType, Value
from spyrelab.ktir.affine import AffineMap, Dim
from spyrelab.ktir.types import element_of
from spyrelab.timing.motion import Moving, plain
from spyrelab.timing.scalars import Unknown, said

__all__ = ["MAKERS", "make_tensor"]

MOST_ELEMENTS = 1 << 22
"""Of a tensor, over all cores, that is evaluated."""

Get = Callable[[Value], Any]
"""What a value is for every core: an array [cores, *shape], or Unknown."""


def make_tensor(operation: Operation, get: Get, cores: int) -> Any:
    """The only result of one of `MAKERS` as an array [cores, *shape]; Unknown where it is not."""
    kind = operation.result.type
    unknown = Unknown(f"the result of {said(operation)}")
    if not isinstance(kind, TensorType) or None in kind.shape:
        return unknown
    shape = tuple(extent or 0 for extent in kind.shape)
    if cores * math.prod(shape) > MOST_ELEMENTS:
        return unknown
    causes: list[Any] = []

    def seen(value: Value) -> Any:
        found = get(value)
        causes.append(found)
        return plain(found)

    made = MAKERS[operation.name](operation, seen, shape)
    missing = next((cause for cause in causes if isinstance(cause, Unknown)), None)
    if missing is not None:
        return missing
    if made is None:
        return unknown
    made = np.broadcast_to(made, (cores, *shape))
    course = next((cause.course for cause in causes if isinstance(cause, Moving)), None)
    return made if course is None else course.hide(made, causes)


def _splat(operation: Operation, seen: Get, shape: tuple[int, ...]) -> Any:
    value = seen(operation.operands[0])
    return _against(value, 0, len(shape))


def _against(value: Any, rank: int, points: int) -> Any:
    """An array [cores, *shape] with unit axes for ``points - rank`` more dimensions."""
    if isinstance(value, Unknown):
        return None
    array = np.asarray(value)
    return array.reshape(*array.shape, *(1,) * (points - rank))


def _reshape(operation: Operation, seen: Get, shape: tuple[int, ...]) -> Any:
    value = seen(operation.operands[0])
    return None if isinstance(value, Unknown) else value.reshape(len(value), *shape)


def _broadcast(operation: Operation, seen: Get, shape: tuple[int, ...]) -> Any:
    value = seen(operation.operands[0])
    if isinstance(value, Unknown):
        return None
    axes = tuple(axis + 1 for axis in operation.attributes["dimensions"])
    return np.expand_dims(value, axes)


def _transpose(operation: Operation, seen: Get, shape: tuple[int, ...]) -> Any:
    value = seen(operation.operands[0])
    if isinstance(value, Unknown):
        return None
    return value.transpose(0, *(axis + 1 for axis in operation.attributes["permutation"]))


def _generic(operation: Operation, seen: Get, shape: tuple[int, ...]) -> Any:
    """A body over parallel loops, of operands that are walked straight."""
    maps: Sequence[AffineMap] = operation.attributes["indexing_maps"]
    count = operation.attributes["inputs"]
    straight = maps[-1].permutation == tuple(range(len(shape)))
    if len(operation.results) != 1 or not straight or maps[-1].dims != len(shape):
        return None
    (region,) = operation.regions
    inner: dict[Value, Any] = {}
    for argument, operand, indexing in zip(
        region.arguments[:count], operation.operands[:count], maps, strict=False
    ):
        inner[argument] = _arranged(seen(operand), indexing, len(shape))
    return _body(operation, inner, seen, shape)


def _arranged(value: Any, indexing: AffineMap, rank: int) -> Any:
    """An operand over the loops, with unit axes where it does not move."""
    dims = [r.index if isinstance(r, Dim) else -1 for r in indexing.results]
    if isinstance(value, Unknown) or -1 in dims or len(set(dims)) != len(dims):
        return None
    array = np.asarray(value)
    order = sorted(range(len(dims)), key=dims.__getitem__)
    array = array.transpose(0, *(axis + 1 for axis in order))
    missing = [d + 1 for d in range(rank) if d not in dims]
    return np.expand_dims(array, tuple(missing))


def _body(operation: Operation, inner: dict[Value, Any], seen: Get, shape: tuple[int, ...]) -> Any:
    (region,) = operation.regions

    def value_of(value: Value) -> Any:
        if value not in inner:
            inner[value] = _against(seen(value), 0, len(shape))
        return inner[value]

    for step in region.operations[:-1]:
        if step.name == "linalg.index":
            axis = step.attributes["dim"]
            line = np.arange(shape[axis], dtype=np.int64)
            inner[step.result] = line.reshape(1, -1, *(1,) * (len(shape) - axis - 1))
            inner[step.result] = np.expand_dims(inner[step.result], tuple(range(1, axis + 1)))
            continue
        row = TABLE.get(step.name)
        operands = [value_of(value) for value in step.operands]
        if row is None or any(operand is None for operand in operands):
            return None
        kinds = [element_of(value.type) for value in step.operands]
        kind = element_of(step.result.type)
        with np.errstate(all="ignore"):
            inner[step.result] = row.reference(operands, kind, kinds, step.attributes)
    return value_of(region.operations[-1].operands[0])


MAKERS: dict[str, Callable[[Operation, Get, tuple[int, ...]], Any]] = {
    "tensor.splat": _splat,
    "tensor.expand_shape": _reshape,
    "tensor.collapse_shape": _reshape,
    "linalg.broadcast": _broadcast,
    "linalg.transpose": _transpose,
    "linalg.generic": _generic,
}
"""Operations that make a tensor of offsets out of others, or of scalars."""
