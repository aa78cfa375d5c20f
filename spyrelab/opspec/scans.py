"""Running sums, products and extremes along one axis.

A tile is scanned in log2(width) steps, each element taking in the one that is 1, 2, 4, ...
places before it; so rounding errors grow with the logarithm of the length, and NaN and infinity
stay behind where they occur (a product with a triangular matrix would spread them).  Tiles of a
long row follow each other with the last value carried on.  Cores that share a row exchange the
totals of their parts first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from spyrelab.ktir.builder import Builder, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import I64
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.reductions import reduction_bounds
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_chunks import Piece
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.row_space import require_simple
from spyrelab.opspec.row_values import count_up, identity_of
from spyrelab.opspec.rows import Row, Stream, build_rows

__all__ = ["build_extreme_scan", "build_scan", "scan"]

Tiles = list[Tensor]
Combine = Callable[[Sequence[Tensor], Sequence[Tensor]], Tiles]
_RUN = range(128, 15, -1)
"""Lengths into which a long scan may be cut, the longest first."""


def scan(b: Builder, tiles: Sequence[Tensor], axis: int, combine: Combine) -> Tiles:
    """The inclusive scan along an axis of tiles of one shape.

    ``combine(earlier, later)`` is associative; it takes and gives one tensor per tile.
    """
    shape = _sizes(tiles[0])
    run = next((n for n in _RUN if shape[axis] % n == 0 and shape[axis] > 2 * n), 0)
    if not run:
        return _shifted(b, list(tiles), axis, combine)
    cut = (*shape[:axis], shape[axis] // run, run, *shape[axis + 1 :])
    runs = _shifted(b, [b.reshape(tile, cut) for tile in tiles], axis + 1, combine)
    count = shape[axis] // run
    last = [_part(b, tile, axis + 1, run - 1, 1) for tile in runs]
    flat = (*shape[:axis], count, *shape[axis + 1 :])
    ends = scan(b, [b.reshape(tile, flat) for tile in last], axis, combine)
    wide = (*shape[:axis], count - 1, run, *shape[axis + 1 :])
    before = [b.broadcast(_part(b, end, axis, 0, count - 1), wide, axis + 1) for end in ends]
    later = [_part(b, tile, axis, 1, count - 1) for tile in runs]
    joined = _put(b, combine(before, later), runs, axis, 1)
    return [b.reshape(tile, shape) for tile in joined]


def _shifted(b: Builder, tiles: Tiles, axis: int, combine: Combine) -> Tiles:
    width = _sizes(tiles[0])[axis]
    step = 1
    while step < width:
        earlier = [_part(b, tile, axis, 0, width - step) for tile in tiles]
        later = [_part(b, tile, axis, step, width - step) for tile in tiles]
        tiles = _put(b, combine(earlier, later), tiles, axis, step)
        step *= 2
    return tiles


def _sizes(tile: Tensor) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in tile.shape)


def _part(b: Builder, tile: Tensor, axis: int, low: int, length: int) -> Tensor:
    shape = _sizes(tile)
    offsets = [low if place == axis else 0 for place in range(len(shape))]
    sizes = [length if place == axis else extent for place, extent in enumerate(shape)]
    return b.extract_slice(tile, offsets, sizes)


def _put(b: Builder, parts: Tiles, wholes: Sequence[Tensor], axis: int, low: int) -> Tiles:
    offsets = [low if place == axis else 0 for place in range(wholes[0].rank)]
    return [b.insert_slice(p, w, offsets) for p, w in zip(parts, wholes, strict=True)]


def _scan_rows(
    row: Row, sources: Sequence[Stream], first: Sequence[float | int], combine: Combine
) -> None:
    """Scan streams along the rows into ``out0``, ``out1``, ...; ``first`` are the identities."""
    b = row.b

    def local(piece: Piece) -> Tiles:
        if (combine, 0) not in piece.known:
            made = scan(b, [source.at(piece) for source in sources], row.axis, combine)
            piece.known.update({(combine, n): tile for n, tile in enumerate(made)})
        return [piece.known[combine, n] for n in range(len(sources))]

    def last(tiles: Tiles, piece: Piece) -> Tiles:
        ends = [row.part(tile, piece.width - 1, 1) for tile in tiles]
        return [b.reshape(end, (row.height,)) for end in ends]

    def add_up(piece: Piece, *before: Tensor) -> Tiles:
        return combine(before, last(local(piece), piece))

    def write(piece: Piece, *before: Tensor) -> Tiles:
        totals = combine([row.spread(tile, piece) for tile in before], local(piece))
        for number, total in enumerate(totals):
            row.put(f"out{number}", total, piece)
        return last(totals, piece)

    start = [
        b.fill((row.height,), value, source.dtype)
        for value, source in zip(first, sources, strict=True)
    ]
    if row.is_shared:
        start = _preceding(row, list(row.walk(start, add_up)), start, combine)
    row.walk(start, write)


def _preceding(row: Row, totals: Tiles, first: Tiles, combine: Combine) -> Tiles:
    """What the cores before this one come to, from the total of each."""
    b, shape = row.b, (row.height, row.cores)
    number = count_up(b, [row.cores], [1], b.constant(0))
    own = b.broadcast(number.equals(row.core.to(I64)), shape, 0)
    table = [
        row.exchanged("add", b.select(own, b.broadcast(total, shape, 1), 0)) for total in totals
    ]
    before = b.maximum(row.core, 1) - 1
    found = [
        b.reshape(b.extract_slice(tile, (0, before), (row.height, 1)), (row.height,))
        for tile in scan(b, table, 1, combine)
    ]
    is_first = row.core.equals(0)
    return [b.select(is_first, start, sum_) for start, sum_ in zip(first, found, strict=True)]


def _log_add(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """``log(exp(x) + exp(y))``."""
    high, low = b.maximum(x, y), b.minimum(x, y)
    apart = b.math("log1p", b.exp(low - high)) + high
    same = high.equals(low) & b.absolute(high).equals(math.inf)
    result: Tensor = b.select(same, high, apart)
    return result


@family("cumsum", "cumprod", "logcumsumexp")
def build_scan(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], dim: int = -1, **_: Any
) -> Module:
    """The running sum, product or logarithm of the sum of exponentials along ``dim``."""
    space, bounds = reduction_bounds(inputs, outputs, dim)
    require_simple(bounds, space.axes(True))

    def operation(row: Row) -> None:
        x, b = row.load("in0"), row.b
        if op == "logcumsumexp":
            if not x.dtype.is_float:
                raise Unsupported("logcumsumexp of integers")
            _scan_rows(row, [x], [-math.inf], lambda p, q: [_log_add(b, p[0], q[0])])
            return
        kind = "mul" if op == "cumprod" else "add"
        first = identity_of(kind, x.dtype)
        _scan_rows(row, [x], [first], lambda p, q: [b.arithmetic(kind, p[0], q[0])])

    return build_rows(op, space, bounds, Demand(24, 2, ordered=True), operation)


@family("cummax", "cummin")
def build_extreme_scan(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], dim: int = -1, **_: Any
) -> Module:
    """The running extreme in ``out0``, and where it lies (last occurrence) in ``out1``, i64."""
    space, bounds = reduction_bounds(inputs, outputs, dim)
    require_simple(bounds, space.axes(True))
    kind = op.removeprefix("cum")

    def operation(row: Row) -> None:
        b = row.b

        def combine(earlier: Sequence[Tensor], later: Sequence[Tensor]) -> Tiles:
            (old, old_place), (new, new_place) = earlier, later
            wins = new >= old if kind == "max" else new <= old
            if new.dtype.is_float:
                wins = wins | new.differs(new)
            return [b.select(wins, new, old), b.select(wins, new_place, old_place)]

        x = row.load("in0")
        _scan_rows(row, [x, row.index()], [identity_of(kind, x.dtype), 0], combine)

    return build_rows(op, space, bounds, Demand(56, 2, ordered=True), operation)
