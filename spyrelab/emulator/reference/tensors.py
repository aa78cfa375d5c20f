"""Tensor values: making, cutting and reshaping them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import LoweringError, TensorIndexError, UnsupportedError, place
from spyrelab.emulator.groups import static_shape
from spyrelab.emulator.points import open_grid
from spyrelab.emulator.reference.core import Array, Core, concrete_shape, scalar, tensor_type, zeros
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.views import fill_dynamic, kept_axes
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import element_of


def _filled_shape(operation: Operation, dynamic: Sequence[Any]) -> tuple[int, ...]:
    values = iter(dynamic)
    shape = tensor_type(operation.result).shape
    filled = tuple(scalar(next(values)) if extent is None else extent for extent in shape)
    if min(filled, default=0) < 0:
        raise LoweringError(f"{place(operation)}: a tensor cannot have the shape {list(filled)}")
    return filled


@reference("tensor.empty")
def empty(core: Core, operation: Operation, *sizes: Any) -> Array:
    """Reads as zero."""
    return zeros(_filled_shape(operation, sizes), element_of(operation.result.type))


@reference("tensor.splat")
def splat(core: Core, operation: Operation, value: Array, *sizes: Any) -> Array:
    return np.full(_filled_shape(operation, sizes), value)


@reference("tensor.from_elements")
def from_elements(core: Core, operation: Operation, *values: Array) -> Array:
    return np.stack(values).reshape(static_shape(tensor_type(operation.result)))


@reference("tensor.generate")
def generate(core: Core, operation: Operation, *sizes: Any) -> Array:
    shape = _filled_shape(operation, sizes)
    grid = open_grid((0,) * len(shape), shape)
    with core.over_grid(grid, shape):
        (result,) = core.call(operation.regions[0], *grid)
    return np.array(np.broadcast_to(result, shape))


@reference("tensor.extract")
def extract(core: Core, operation: Operation, tensor: Array, *indices: Array) -> Array:
    check_indices(operation, tensor.shape, indices)
    return np.asarray(tensor[tuple(indices)])


@reference("tensor.insert")
def insert(core: Core, operation: Operation, value: Array, tensor: Array, *indices: Array) -> Array:
    check_indices(operation, tensor.shape, indices)
    result = np.array(tensor)
    result[tuple(indices)] = value
    return result


def check_indices(operation: Operation, shape: Sequence[int], indices: Sequence[Array]) -> None:
    """Raise TensorIndexError unless every index lies inside a tensor of that shape."""
    for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        if np.any((index < 0) | (index >= extent)):
            raise TensorIndexError(
                f"{place(operation)}: index {np.asarray(index)} in dimension {axis} of {extent}"
            )


@reference("tensor.extract_slice")
def extract_slice(core: Core, operation: Operation, source: Array, *dynamic: Any) -> Array:
    region, sizes = _region(operation, source.shape, dynamic)
    kept = kept_axes(sizes, tensor_type(operation.result).shape)
    result = source[region].reshape([sizes[axis] for axis in kept])
    core.count(Column.OPS_MOVE, result.size)
    return result


@reference("tensor.insert_slice")
def insert_slice(
    core: Core, operation: Operation, source: Array, destination: Array, *dynamic: Any
) -> Array:
    """Counts the elements that are inserted."""
    region, sizes = _region(operation, destination.shape, dynamic)
    if math.prod(sizes) != source.size:
        raise TensorIndexError(
            f"{place(operation)}: a tensor of shape {list(source.shape)} for sizes {list(sizes)}"
        )
    result = destination.copy()
    result[region] = source.reshape(sizes)
    core.count(Column.OPS_MOVE, source.size)
    return result


def _region(
    operation: Operation, shape: Sequence[int], dynamic: Sequence[Any]
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    offsets, sizes, strides = fill_dynamic(operation, ("offsets", "sizes", "strides"), dynamic)
    chosen = [
        start + step * np.arange(size, dtype=np.int64)
        for start, size, step in zip(offsets, sizes, strides, strict=True)
    ]
    for axis, (indices, extent) in enumerate(zip(chosen, shape, strict=True)):
        if np.any((indices < 0) | (indices >= extent)):
            raise TensorIndexError(
                f"{place(operation)}: elements {indices[0]}..{indices[-1]} of dimension {axis}, "
                f"which has {extent}"
            )
    return np.ix_(*chosen), sizes


@reference("tensor.collapse_shape", "tensor.cast")
def collapse_shape(core: Core, operation: Operation, source: Array) -> Array:
    groups = operation.attributes.get("reassociation")
    if groups is None:
        return source
    return source.reshape([int(np.prod([source.shape[d] for d in group])) for group in groups])


@reference("tensor.expand_shape")
def expand_shape(core: Core, operation: Operation, source: Array, *dynamic: Any) -> Array:
    if operation.attributes.get("output_shape") is not None:
        (shape,) = fill_dynamic(operation, ("output_shape",), dynamic)
        return source.reshape(shape)
    return source.reshape(concrete_shape(tensor_type(operation.result), source.size, operation))


@reference("tensor.reshape")
def reshape(core: Core, operation: Operation, source: Array, shape: Array) -> Array:
    return source.reshape(tuple(int(extent) for extent in shape))


@reference("tensor.dim")
def dim(core: Core, operation: Operation, source: Array, index: Array) -> Array:
    check_indices(operation, (source.ndim,), (index,))
    return np.asarray(source.shape[scalar(index)], np.int64)


@reference("tensor.concat")
def concat(core: Core, operation: Operation, *parts: Array) -> Array:
    result = np.concatenate(parts, axis=operation.attributes["dim"])
    core.count(Column.OPS_MOVE, result.size)
    return result


@reference("tensor.pad")
def pad(core: Core, operation: Operation, source: Array, *dynamic: Any) -> Array:
    """The region gives the value of padding at an index of the result."""
    low, high = fill_dynamic(operation, ("low", "high"), dynamic)
    if min((*low, *high), default=0) < 0:
        raise UnsupportedError(f"{place(operation)}: negative padding")
    shape = [a + n + b for a, n, b in zip(low, source.shape, high, strict=True)]
    grid = open_grid((0,) * len(shape), shape)
    with core.over_grid(grid, shape):
        (value,) = core.call(operation.regions[0], *grid)
    result = np.array(np.broadcast_to(value, shape))
    result[tuple(slice(a, a + n) for a, n in zip(low, source.shape, strict=True))] = source
    core.count(Column.OPS_MOVE, result.size)
    return result
