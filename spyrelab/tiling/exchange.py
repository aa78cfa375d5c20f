"""The program of a gather: cores of a group give each other what they hold of a tensor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from spyrelab.ktir.builder import Builder, TileGroups
from spyrelab.ktir.types import MemorySpace
from spyrelab.opspec import element_type
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.spec import TensorArg
from spyrelab.tiling.buffers import Buffer
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.errors import TilingError

__all__ = ["emit_gather"]

_LX = MemorySpace(core_local=True)

_COPIES = 3
"""Of a part while it is exchanged: what is read, what is published, what arrives."""


def emit_gather(
    b: Builder, slicing: Slicing, source: Buffer, target: Buffer, arg: TensorArg, lx_bytes: int
) -> None:
    """Append the code by which the running core takes part.

    Parameters
    ----------
    source, target
        What a core holds before and after.
    arg
        The result.
    lx_bytes
        What tiles that are alive at once may take.

    Raises
    ------
    TilingError
        Cores of a group are neither neighbours nor evenly apart.
    Unsupported
        Not even the smallest tile fits.
    """
    joined = slicing.spec.op_info["gathered"]
    parts = [symbol for symbol in slicing.order if symbol in joined]
    counts = [slicing.cuts[symbol].parts for symbol in parts]
    groups = _groups(slicing, parts)
    extents = source.held.extents
    kind = element_type(source.dtype)
    tile = _tile(extents, math.prod(counts), kind.itemsize, lx_bytes)
    here = b.view(b.constant(source.address // kind.itemsize), extents, kind, memory_space=_LX)
    steps = [_step(slicing, arg, part, joined[part], target) for part in parts]
    there = b.view(
        b.constant(target.address // kind.itemsize),
        [*counts, *extents],
        kind,
        [*steps, *target.strides],
        memory_space=_LX,
    )
    ones = [1] * len(counts)
    with ExitStack() as opened:
        at = [
            opened.enter_context(b.loop(0, extent, step, names="at")) if step < extent else 0
            for extent, step in zip(extents, tile, strict=True)
        ]
        own = b.reshape(b.load(here[tuple(at)], tile), [*ones, *tile])
        found = b.gather_tiles(b.produce(own, groups), groups.members, counts)
        b.store(found, there[(*([0] * len(counts)), *at)])


def _step(slicing: Slicing, arg: TensorArg, part: str, whole: str, target: Buffer) -> int:
    """Elements of the result from what one core of a group gives to what the next one does."""
    piece = slicing.cuts[part].piece
    moving = slicing.moving(arg, target.strides)
    return sum(unit * (piece // term.divisor) for term, unit in moving if term.symbol == whole)


def _tile(extents: Sequence[int], cores: int, itemsize: int, lx_bytes: int) -> list[int]:
    """The largest tile that fits: outer dimensions are cut first."""
    tile = list(extents)
    for dimension in range(len(tile)):
        for step in _divisors(extents[dimension]):
            tile[dimension] = step
            if math.prod(tile) * itemsize * (cores + _COPIES) <= lx_bytes:
                return tile
    raise Unsupported(f"a gather over {cores} cores in {lx_bytes:,} B of the scratchpad")


def _divisors(extent: int) -> Iterator[int]:
    """Largest first."""
    return (n for n in range(extent, 0, -1) if extent % n == 0)


def _groups(slicing: Slicing, parts: Sequence[str]) -> TileGroups:
    """Cores that differ in some parts only."""
    marks = [symbol in parts for symbol in slicing.order]
    if sum(mark for mark, _ in itertools.groupby(marks)) != 1:
        raise TilingError("cores of a group are neither neighbours nor evenly apart")
    size = math.prod(slicing.cuts[symbol].parts for symbol in parts)
    apart = slicing.places[parts[-1]][0]
    return TileGroups.spaced(slicing.cores, size, apart)
