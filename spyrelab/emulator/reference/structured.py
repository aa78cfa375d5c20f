"""linalg operations other than contractions and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.points import open_grid
from spyrelab.emulator.reference.core import Array, Core
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.scalars import typed
from spyrelab.emulator.reference.tensors import check_indices
from spyrelab.ktir.affine import AffineMap, Dim
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import element_of


@reference("linalg.fill")
def fill(core: Core, operation: Operation, value: Array, outs: Array) -> Array:
    return np.broadcast_to(typed(value, element_of(operation.result.type)), outs.shape)


@reference("linalg.broadcast")
def broadcast(core: Core, operation: Operation, value: Array, outs: Array) -> Array:
    """``dimensions`` are the new ones."""
    expanded = np.expand_dims(value, operation.attributes["dimensions"])
    return np.broadcast_to(expanded, outs.shape)


@reference("linalg.transpose")
def transpose(core: Core, operation: Operation, value: Array, outs: Array) -> Array:
    core.count(Column.OPS_MOVE, value.size)
    return value.transpose(operation.attributes["permutation"])


@reference("linalg.map")
def map_elements(core: Core, operation: Operation, *operands: Array) -> Array:
    """The body applied to corresponding elements; what ``outs`` held does not count."""
    *ins, outs = operands
    grid = open_grid((0,) * outs.ndim, outs.shape)
    with core.over_grid(grid, outs.shape):
        (result,) = core.call(operation.regions[0], *ins)
    return np.broadcast_to(result, outs.shape)


@reference("linalg.index")
def index(core: Core, operation: Operation) -> Array:
    if core.iteration is None:
        raise UnsupportedError(f"{place(operation)} outside a linalg body")
    return core.iteration[operation.attributes["dim"]]


@reference("linalg.generic")
def generic(core: Core, operation: Operation, *operands: Array) -> tuple[Array, ...]:
    """The body at every point of the iteration space.

    Points that differ in parallel dimensions are independent and run together; points along
    the reduction dimensions follow each other in row-major order.
    """
    count = operation.attributes["inputs"]
    maps: Sequence[AffineMap] = operation.attributes["indexing_maps"]
    extents = _extents(operation, maps, operands)
    outs = [np.array(array) for array in operands[count:]]
    is_reduced = [kind == "reduction" for kind in operation.attributes["iterator_types"]]
    axes = list(zip(extents, is_reduced, strict=True))
    reduced = [range(extent) if folded else range(1) for extent, folded in axes]
    parallel = [1 if folded else extent for extent, folded in axes]
    if 0 in extents:
        return tuple(outs)
    for point in product(*reduced):
        grid = open_grid(point, parallel)
        places = [
            _places(operation, m, grid, parallel, operand.shape)
            for m, operand in zip(maps, operands, strict=True)
        ]
        arguments = [a[at] for a, at in zip((*operands[:count], *outs), places, strict=True)]
        with core.over_grid(grid, parallel):
            results = core.call(operation.regions[0], *arguments)
        for array, at, result in zip(outs, places[count:], results, strict=True):
            array[at] = result if at else np.reshape(result, ())
    return tuple(outs)


def _places(
    operation: Operation,
    indexing: AffineMap,
    grid: Sequence[Array],
    shape: Sequence[int],
    limits: Sequence[int],
) -> Any:
    """Where an operand is accessed, as index arrays that have the shape of the points."""
    indices = [np.broadcast_to(np.asarray(i, np.int64), shape) for i in indexing(grid)]
    check_indices(operation, limits, indices)
    return tuple(indices)


def _extents(
    operation: Operation, maps: Sequence[AffineMap], operands: Sequence[Array]
) -> list[int]:
    found: dict[int, int] = {}
    for indexing, operand in zip(maps, operands, strict=True):
        for expression, extent in zip(indexing.results, operand.shape, strict=True):
            if isinstance(expression, Dim):
                found.setdefault(expression.index, extent)
    missing = set(range(maps[0].dims)) - set(found)
    if missing:
        raise UnsupportedError(f"{place(operation)}: no operand gives the extent of {missing}")
    return [found[d] for d in range(maps[0].dims)]
