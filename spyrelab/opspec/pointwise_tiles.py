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

__all__ = ["fitting_division", "live_bytes"]


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
