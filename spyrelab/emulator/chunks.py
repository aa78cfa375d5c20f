"""How gather, scatter and all-to-all cut partials into chunks and join them again.

Along every dimension a partial is cut into ``splits`` chunks and ``joins`` chunks of different
producers are laid side by side, so ``result = partial / splits * joins``.  Chunks and producers
are numbered row-major over the dimensions, the last one fastest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.emulator.errors import LoweringError, place
from spyrelab.ktir.ir import Operation

Shape = tuple[int, ...]

_SPLIT = {
    "ktdp.inter_tile_scatter": "scatter_dimensions",
    "ktdp.inter_tile_reduce_scatter": "scatter_dimensions",
    "ktdp.inter_tile_all_to_all": "split_dimensions",
}
_JOIN = {
    "ktdp.inter_tile_gather": "concat_dimensions",
    "ktdp.inter_tile_all_to_all": "concat_dimensions",
}


@dataclass(frozen=True)
class Chunking:
    """Numbers of chunks cut from a partial and of chunks joined, for every dimension."""

    splits: Shape
    joins: Shape


def chunk_slices(shape: Sequence[int], counts: Sequence[int], rank: int) -> tuple[slice, ...]:
    """The region of chunk ``rank`` of an array cut into ``counts`` equal parts.

    Example: chunk 3 of shape (4, 6) cut (2, 3) covers rows 2..3 and columns 0..1.
    """
    slices = []
    for extent, count in zip(reversed(shape), reversed(counts), strict=True):
        rank, index = divmod(rank, count)
        size = extent // count
        slices.append(slice(index * size, (index + 1) * size))
    return tuple(reversed(slices))


def chunking(
    consume: Operation, partial: Shape, result: Shape, producers: int, consumers: int
) -> Chunking:
    """Splits and joins of a collective for a partial and a result shape.

    A dimension both split and concatenated takes what the numbers of producers and consumers
    leave over.

    Raises
    ------
    LoweringError
        If the shapes and the numbers of tiles do not fit together.
    """
    split, join = dimensions(consume)
    splits = _counts(partial, result, split, [d for d in split if d in join], consumers)
    joins = _counts(result, partial, join, [d for d in join if d in split], producers)
    fits = len(partial) == len(result) and all(
        p % s == 0 and p // s * j == r
        for p, s, j, r in zip(partial, splits, joins, result, strict=False)
    )
    if not fits or (join and math.prod(joins) != producers):
        raise LoweringError(
            f"{place(consume)}: partials of shape {list(partial)} from {producers} tiles to "
            f"{consumers} tiles cannot become {list(result)}"
        )
    if split and math.prod(splits) < consumers:
        raise LoweringError(
            f"{place(consume)}: {math.prod(splits)} chunks do not reach {consumers} consumers"
        )
    return Chunking(splits, joins)


def dimensions(consume: Operation) -> tuple[Shape, Shape]:
    """The dimensions that a collective splits, and those that it concatenates."""
    split = consume.attributes.get(_SPLIT.get(consume.name, ""), ())
    return tuple(split), tuple(consume.attributes.get(_JOIN.get(consume.name, ""), ()))


def _counts(whole: Shape, part: Shape, chosen: Shape, shared: list[int], tiles: int) -> Shape:
    counts = [1] * len(whole)
    if len(whole) != len(part) or any(d >= len(whole) for d in chosen):
        return tuple(counts)
    for d in chosen:
        if d not in shared:
            counts[d] = max(1, whole[d] // part[d]) if part[d] else 1
    if shared:
        counts[shared[0]] = max(1, tiles // math.prod(counts))
    return tuple(counts)
