"""Copies through a table of element offsets: for views that have no structure.

Copies between views that have one are the pointwise operation ``copy``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from spyrelab.kernels.division import TILE_ELEMENTS
from spyrelab.ktir.builder import Builder, View
from spyrelab.ktir.builder_values import Index
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import I32
from spyrelab.layout.tensor_layout import contiguous_strides
from spyrelab.opspec.division import Division, divide
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.expressions import as_type
from spyrelab.opspec.iteration import Box, boxes
from spyrelab.opspec.operand import Operand
from spyrelab.opspec.views import Scattered, contiguous, offsets_of
from spyrelab.opspec.walk import Place, Walk

__all__ = ["build_table_copy", "table_for"]

_LARGEST_OFFSET = 2**31 - 1


def build_table_copy(source: Operand, target: Operand, scatter: bool) -> Module:
    """Copy between a view that a table describes and one with an access, converting types.

    The table has the device offset of each element of the scattered side, in the order in which
    the program walks the other side; it is read from device memory like any operand.

    Parameters
    ----------
    scatter
        Whether the table describes the target instead of the source.

    Arguments of the program: in0, table, out0.
    """
    walked, scattered = (source, target) if scatter else (target, source)
    found = _boxes(source, target, scatter)
    itemsizes = [walked.element.itemsize, I32.itemsize]
    divisions = [divide(box, itemsizes, TILE_ELEMENTS // 2) for box in found]
    b = Builder("scatter" if scatter else "gather", grid=(max(d.cores for d in divisions),))
    in0, table_at, out0 = b.pointers("in0", "table", "out0")
    at, base_at = (in0, out0) if scatter else (out0, in0)
    base = b.view(base_at, sizes=(_reach(scattered),), dtype=scattered.element)
    for division, start in zip(divisions, _starts(found), strict=True):
        box = division.box
        rows = Box(
            box.counts, (box.strides[0], contiguous_strides(box.counts)), (box.offsets[0], start)
        )
        places = [Place(at, walked.element), Place(table_at, I32)]
        for part in _exact(replace(division, box=rows)):
            _emit(b, Walk(b, part, places, b.grid[0]), base, scatter)
    return b.build()


def table_for(source: Operand, target: Operand, scatter: bool) -> NDArray[np.int32]:
    """The table that the program of `build_table_copy` reads."""
    scattered = target if scatter else source
    offsets = np.ascontiguousarray(np.broadcast_to(offsets_of(scattered.access), target.size))
    if offsets.size and offsets.max() > _LARGEST_OFFSET:
        raise Unsupported("a scattered view of a tensor of more than 2^31 elements")
    numbers = offsets.reshape(-1)
    parts = []
    for box in _boxes(source, target, scatter):
        steps = [stride * numbers.itemsize for stride in box.strides[1]]
        part = as_strided(numbers[box.offsets[1] :], box.counts, steps)
        parts.append(part.astype(np.int32).reshape(-1))
    return np.concatenate(parts)


def _boxes(source: Operand, target: Operand, scatter: bool) -> tuple[Box, ...]:
    """Boxes of the side that has an access, which also say the number of each element.

    They follow a target's memory; a source, which may be broadcast, is walked by numbers.
    """
    walked = source if scatter else target
    return boxes([walked.access, contiguous(target.size)], int(scatter))


def _exact(division: Division, loop: int = 0) -> Iterator[Division]:
    """The same division in parts in which no tile overhangs: every entry of a table is read."""
    box, tile = division.box, division.tile
    if loop == len(tile):
        yield division
        return
    whole = box.counts[loop] // tile[loop] * tile[loop]
    yield from _exact(_part(division, loop, 0, whole, tile[loop]), loop + 1)
    if whole < box.counts[loop]:
        rest = box.counts[loop] - whole
        yield from _exact(_part(division, loop, whole, rest, rest), loop + 1)


def _part(division: Division, loop: int, low: int, count: int, tile: int) -> Division:
    box = division.box
    counts = (*box.counts[:loop], count, *box.counts[loop + 1 :])
    offsets = (at + moves[loop] * low for at, moves in zip(box.offsets, box.strides, strict=True))
    share = division.share
    return Division(
        Box(counts, box.strides, tuple(offsets)),
        (*division.tile[:loop], tile, *division.tile[loop + 1 :]),
        division.split,
        max(share // tile, 1) * tile if loop == division.split else share,
    )


def _starts(found: tuple[Box, ...]) -> list[int]:
    return list(accumulate((box.points for box in found[:-1]), initial=0))


def _reach(operand: Operand) -> int:
    """Elements from the start that a view may touch."""
    if isinstance(operand.access, Scattered):
        return operand.access.layout.numel
    return int(offsets_of(operand.access).max()) + 1


def _emit(b: Builder, walk: Walk, base: View, scatter: bool) -> None:
    """The loops over one box whose second operand is the table."""
    with ExitStack() as opened:
        at = walk.open(opened)
        table = walk.view(1)

        def element(*inside: Index) -> tuple[Any]:
            places = [inner + outer for inner, outer in zip(inside, at, strict=True)]
            return (table[tuple(places)],)

        if scatter:
            values = as_type(walk.widened(0, walk.load(0, at)), base.dtype)
            b.scatter(b.reshape(values, walk.division.tile), base, element)
        else:
            picked = b.gather(base, walk.division.tile, element)
            values = as_type(b.reshape(picked, walk.shape), walk.place(0).kind)
            walk.store(0, values, at)
