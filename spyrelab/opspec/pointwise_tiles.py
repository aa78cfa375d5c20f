"""How large the tiles of one core's part of a pointwise operation may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from spyrelab.emulator import lower
from spyrelab.kernels.division import TILE_ELEMENTS
from spyrelab.layout.access import Access, Digit
from spyrelab.opspec.division import Division, divide
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.iteration import Box
from spyrelab.opspec.operand import Operand
from spyrelab.opspec.registry import builder_of
from spyrelab.opspec.target import SPARSE_BYTES, whole_program
from spyrelab.opspec.walk import Place

__all__ = ["fitting_division", "live_bytes", "reading_least"]


def fitting_division(box: Box, places: Sequence[Place], live: int, lx_bytes: int) -> Division:
    """The largest tiles that fit; ``live`` bytes per element are alive where nothing is turned.

    Raises
    ------
    Unsupported
        Not even the smallest do.
    """
    lanes = {
        min((loop for loop, s in enumerate(moves) if s), key=lambda loop: abs(moves[loop]))
        for moves in box.strides
        if any(moves)
    }
    live += 8 * (len(lanes) > 1) + 4 * sum(not all(moves) for moves in box.strides)
    itemsizes = [place.kind.itemsize for place in places]
    budget = max(1, min(TILE_ELEMENTS, lx_bytes // live))
    while True:
        division = divide(box, itemsizes, budget, 1)
        needed = math.prod(division.tile) * live
        for place, moves in zip(places, box.strides, strict=True):
            if place.sparse:
                moved = (t for t, stride in zip(division.tile, moves, strict=True) if stride)
                needed += math.prod(moved) * SPARSE_BYTES
        if needed <= lx_bytes:
            return division
        if budget == 1:
            raise Unsupported(f"a tile in {lx_bytes} bytes of scratchpad: it takes {needed}")
        budget //= 2


def reading_least(division: Division, places: Sequence[Place], inputs: int) -> Division:
    """The same tiles with their loops nested so that inputs are read least.

    An input that is broadcast along a loop is read again in each of its steps, unless all loops
    that move the input are outside.  Only loops of single steps change places: along them a tile
    has no axis.
    """
    loops = range(len(division.tile))
    free = [loop for loop in loops if division.tile[loop] == 1 and division.is_looped(loop)]
    orders = [list(loops)]
    orders += [[other for other in loops if other != loop] + [loop] for loop in free]
    best = min(orders, key=lambda order: _read_bytes(division, places[:inputs], order))
    if best == orders[0]:
        return division
    box, tile = division.box, tuple(division.tile[loop] for loop in best)
    counts = tuple(box.counts[loop] for loop in best)
    strides = tuple(tuple(moves[loop] for loop in best) for moves in box.strides)
    nested = Box(counts, strides, box.offsets)
    return Division(nested, tile, best.index(division.split), division.share)


def _read_bytes(division: Division, places: Sequence[Place], order: Sequence[int]) -> int:
    """Bytes that inputs in device memory cost, where one core has all tiles."""
    total = 0
    for place, moves in zip(places, division.box.strides, strict=False):
        if place.space.core_local:
            continue
        lanes = place.lanes if place.sparse else 1
        size = place.kind.itemsize * lanes
        size *= math.prod(t for t, move in zip(division.tile, moves, strict=True) if move)
        depth = [at for at, loop in enumerate(order) if moves[loop] and division.is_looped(loop)]
        for loop in order[: max(depth, default=-1) + 1]:
            size *= -(-division.box.counts[loop] // division.tile[loop])
        total += size
    return total


@lru_cache(maxsize=4096)
def live_bytes(
    op: str,
    inputs: tuple[tuple[str, bool], ...],
    outputs: tuple[str, ...],
    attributes: tuple[tuple[str, Any], ...],
) -> int:
    """Scratchpad bytes per element of a tile, as a program for one small tile has them."""
    count = 1024

    def line(dtype: str) -> Operand:
        return Operand(dtype, Access((count,), ((Digit(count, 1),),)))

    given = tuple(line(dtype) if is_tensor else dtype for dtype, is_tensor in inputs)
    with whole_program():
        module = builder_of(op)(op, given, tuple(map(line, outputs)), **dict(attributes))
    return max(-(-lower(module).lx.peak // count), 8)
