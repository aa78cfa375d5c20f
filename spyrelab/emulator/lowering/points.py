"""Accesses whose addresses are computed point by point: start addresses of equal runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.lowering.coordinates import Coordinates
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.runs import Inner, Runs, Space
from spyrelab.emulator.lowering.sets import box_of
from spyrelab.emulator.lowering.subscripts import addresses_of, dims_of, variable_tiles
from spyrelab.emulator.lowering.values import BoxTile, IndirectTile, Size, Tile, View
from spyrelab.ktir import INDEX, AffineMap, AffineSet, Operation
from spyrelab.ktir.affine import Binary, Dim, Symbol, identity_map, linear
from spyrelab.ktir.ir import Subscript


def runs_of_box(
    lowering: Lowering,
    operation: Operation,
    access: BoxTile,
    lows: Sequence[Size],
    extents: Sequence[Size],
    mask: AffineSet | None,
) -> Runs:
    """Point by point version of a direct access tile."""
    rank = len(extents)
    expressions = [
        Subscript(None, AffineMap(rank, rank, (Binary("+", Dim(d), Symbol(d)),)))
        for d in range(rank)
    ]
    indirect = IndirectTile(
        access.base,
        (),
        access.starts,
        tuple(expressions),
        access.points,
        access.symbols,
        access.order,
        access.shape,
    )
    return _runs(lowering, operation, indirect, tuple(lows), tuple(extents), mask)


def runs_of_indirect(lowering: Lowering, operation: Operation, access: IndirectTile) -> Runs:
    """Addresses of an indirect access tile."""
    lows, extents, mask = box_of(lowering, operation, access.points, access.symbols)
    order = (access.order or identity_map(len(extents))).permutation
    check_tile(lowering, extents, order, access.shape)
    return _runs(lowering, operation, access, lows, extents, mask)


def check_tile(
    lowering: Lowering,
    extents: Sequence[Size],
    order: Sequence[int] | None,
    declared: Sequence[int | None],
) -> None:
    """Emit checks that a set has the shape that the tile's type says."""
    if order is not None:
        walked = [extents[axis] for axis in order]
        wanted = [a if b is None else b for a, b in zip(walked, declared, strict=True)]
        lowering.emitter.check_equal(walked, wanted)


def _runs(
    lowering: Lowering,
    operation: Operation,
    access: IndirectTile,
    lows: tuple[Size, ...],
    extents: tuple[Size, ...],
    mask: AffineSet | None,
) -> Runs:
    order = (access.order or identity_map(len(extents))).permutation
    if order is None:
        return _sorted_runs(lowering, operation, access, lows, extents, mask)
    space = Space(lows, extents, order)
    axis = None if mask is not None else _row_axis(access, space)
    outer = space if axis is None else space.without(space.order[-1])
    block = Coordinates(lowering, lowering.emitter.product(outer.shape()))
    variables = variable_tiles(block, outer)
    inside = None
    if mask is not None:
        inside = block.contains(mask, variables, access.symbols)
    inner = Inner() if axis is None else _inner(lowering, access, space, axis)
    addresses, indices = addresses_of(lowering, block, outer, access, variables, inside, axis)
    return Runs(block, addresses, inner, space.shape(), access.base, indices)


def _sorted_runs(
    lowering: Lowering,
    operation: Operation,
    access: IndirectTile,
    lows: tuple[Size, ...],
    extents: tuple[Size, ...],
    mask: AffineSet | None,
) -> Runs:
    """An order map that is no permutation: the points are sorted while lowering."""
    static = [size for size in (*lows, *extents) if isinstance(size, int)]
    if len(static) < 2 * len(extents) or access.order is None or None in access.shape:
        raise UnsupportedError(
            f"{place(operation)}: an order map that is no permutation needs a static set"
        )
    first, shape = static[: len(lows)], static[len(lows) :]
    grid = np.indices(shape).reshape(len(shape), -1) + np.reshape(first, (-1, 1))
    keys = [np.broadcast_to(key, grid.shape[1]) for key in access.order(list(grid))]
    grid = grid[:, np.lexsort(keys[::-1])]
    emitter = lowering.emitter
    block = Coordinates(lowering, math.prod(shape))
    variables = [
        Tile(INDEX, emitter.dense(INDEX, axis), (math.prod(shape),), (True,)) for axis in grid
    ]
    inside = None if mask is None else block.contains(mask, variables, access.symbols)
    space = Space(lows, extents, tuple(range(len(shape))), is_sorted=True)
    addresses, indices = addresses_of(lowering, block, space, access, variables, inside, None)
    return Runs(
        block,
        addresses,
        Inner(),
        tuple(int(e or 0) for e in access.shape),
        access.base,
        indices,
    )


def _row_axis(access: IndirectTile, space: Space) -> int | None:
    """The base dimension that the last variable walks with step 1, if nothing else uses it."""
    if not space.order or not isinstance(access.base, View) or access.base.mask is not None:
        return None
    variable = space.order[-1]
    users = [
        axis
        for axis, subscript in enumerate(access.subscripts)
        if any(variable in dims_of(result) for result in subscript.map.results)
    ]
    if len(users) != 1 or access.subscripts[users[0]].view is not None:
        return None
    subscript = access.subscripts[users[0]]
    form = linear(subscript.map.results[0], subscript.map.dims, subscript.map.symbols)
    alone = form is not None and all(
        factor == (d == variable) for d, factor in enumerate(form.dims)
    )
    return users[0] if alone else None


def _inner(lowering: Lowering, access: IndirectTile, space: Space, axis: int) -> Inner:
    base = access.base
    assert isinstance(base, View)
    emitter, variable = lowering.emitter, space.order[-1]
    zeros = [emitter.zero] * access.subscripts[axis].map.dims
    rest = Coordinates(lowering, 1).evaluate(
        access.subscripts[axis].map.results[0], zeros, access.captures
    )
    start = emitter.subtract(emitter.add(rest, space.lows[variable]), base.low[axis])
    return Inner(start, space.extents[variable], base.strides[axis], base.limit[axis])
