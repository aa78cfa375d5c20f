"""Shapes of tensors whose extents the program computes: an entry may be an array over cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from spyrelab.emulator.reference.views import kept_axes
from spyrelab.ktir import Operation, TensorType, Value
from spyrelab.timing.errors import UnknownValueError
from spyrelab.timing.scalars import Unknown, said

__all__ = ["Extent", "Shape", "Shapes", "shape_of", "shapes_of"]

Extent = Any
"""A number, or one for every core."""

Shape = tuple[Extent, ...]
Shapes = dict[Value, Shape]
Size = Callable[[Value], Any]
"""The value of a scalar: numbers per core, or Unknown."""


def shape_of(value: Value, shapes: Shapes) -> Shape:
    """Shape of a tensor.

    Raises
    ------
    UnknownValueError
        An extent that is not known.
    """
    if value in shapes:
        return shapes[value]
    kind = value.type
    assert isinstance(kind, TensorType)
    if None in kind.shape:
        raise UnknownValueError(
            Unknown(f"the shape of %{value.name}").ask("the work of an operation")
        )
    return tuple(kind.shape)


def shapes_of(operation: Operation, size: Size, shapes: Shapes) -> None:
    """Add the shapes of an operation's results that its types do not give."""
    for number, result in enumerate(operation.results):
        kind = result.type
        if isinstance(kind, TensorType) and None in kind.shape:
            found = _shape(operation, number, kind, _Sizes(operation, size), shapes)
            if found is None:
                shapes.pop(result, None)
            else:
                shapes[result] = tuple(
                    known if static is None else static
                    for known, static in zip(found, kind.shape, strict=True)
                )


class _Sizes:
    """Scalar operands as extents."""

    def __init__(self, operation: Operation, size: Size) -> None:
        self.operation, self.size = operation, size

    def of(self, value: Value) -> Any:
        found = self.size(value)
        if isinstance(found, Unknown):
            raise UnknownValueError(found.ask(f"a size in {said(self.operation)}"))
        return found

    def fill(self, entries: Sequence[int | None], dynamic: Iterator[Value]) -> Shape:
        """Entries with operands in place of those that are None."""
        return tuple(self.of(next(dynamic)) if n is None else n for n in entries)


def _shape(
    operation: Operation, number: int, kind: TensorType, sizes: _Sizes, shapes: Shapes
) -> Shape | None:
    name, operands, attributes = operation.name, operation.operands, operation.attributes
    if name in ("tensor.empty", "tensor.splat", "tensor.generate"):
        dynamic = iter(operands[1:] if name == "tensor.splat" else operands)
        return sizes.fill(kind.shape, dynamic)
    if name.startswith("linalg."):
        outs = operands[len(operands) - len(operation.results) :]
        return shape_of(outs[number], shapes)
    if name in _LIKE:
        return shape_of(operands[_LIKE[name]], shapes)
    if name == "tensor.extract_slice":
        dynamic = iter(operands[1:])
        for entries in ("offsets",):
            sizes.fill(attributes[entries], dynamic)
        return _kept(sizes.fill(attributes["sizes"], dynamic), kind)
    if name == "tensor.concat":
        return _joined([shape_of(v, shapes) for v in operands], attributes["dim"])
    if name == "tensor.pad":
        dynamic = iter(operands[1:])
        low, high = (sizes.fill(attributes[key], dynamic) for key in ("low", "high"))
        inner = shape_of(operands[0], shapes)
        return tuple(a + n + b for a, n, b in zip(low, inner, high, strict=True))
    if name.startswith("tensor."):
        return _reshaped(operation, kind, sizes, shapes)
    alike = [v for v in operands if _rank(v) == len(kind.shape)]
    return shape_of(alike[-1], shapes) if alike else None


_LIKE = {"tensor.insert_slice": 1, "tensor.insert": 1}


def _rank(value: Value) -> int:
    return len(value.type.shape) if isinstance(value.type, TensorType) else -1


def _kept(filled: Shape, kind: TensorType) -> Shape:
    plain = [n if isinstance(n, int) else 0 for n in filled]
    return tuple(filled[axis] for axis in kept_axes(plain, kind.shape))


def _joined(shapes: Sequence[Shape], axis: int) -> Shape:
    first = list(shapes[0])
    first[axis] = sum(shape[axis] for shape in shapes)
    return tuple(first)


def _reshaped(
    operation: Operation, kind: TensorType, sizes: _Sizes, shapes: Shapes
) -> Shape | None:
    source = operation.operands[0]
    if not isinstance(source.type, TensorType):
        return None
    inner = shape_of(source, shapes)
    groups = operation.attributes.get("reassociation")
    if operation.name in ("tensor.collapse_shape", "tensor.cast"):
        if groups is None:
            return inner
        return tuple(math.prod(inner[d] for d in group) for group in groups)
    if operation.attributes.get("output_shape") is not None:
        return sizes.fill(operation.attributes["output_shape"], iter(operation.operands[1:]))
    if kind.shape.count(None) != 1:
        return None
    known = math.prod(n for n in kind.shape if n is not None)
    whole: Any = math.prod(inner) if inner else 1
    return tuple(np.asarray(whole) // max(known, 1) if n is None else n for n in kind.shape)
