"""Which part of its rows a core walks: chunks, and pieces of chunks that are one tile each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.opspec.row_plan import Layout, Share, tile_lengths
from spyrelab.opspec.row_space import Segment
from spyrelab.opspec.row_windows import Start

__all__ = ["Chunk", "Piece", "chunks_of", "walk_chunk"]

Body = Callable[..., Sequence[Tensor]]


@dataclass(frozen=True)
class Chunk:
    """A box of the reduced axes; ``condition`` says on which cores, None on all.

    ``combination`` numbers the segments that it lies in, ``segments`` are those.
    """

    combination: int
    segments: Mapping[int, Segment]
    starts: Mapping[int, Start]
    lengths: Mapping[int, int]
    condition: Scalar | None = None


@dataclass(eq=False)
class Piece:
    """A part of a chunk that is one tile; it remembers what was computed on it."""

    chunk: Chunk
    starts: Mapping[int, Start]
    lengths: Mapping[int, int]
    known: dict[Any, Tensor] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Elements of each row."""
        count = 1
        for length in self.lengths.values():
            count *= length
        return count


def chunks_of(b: Builder, layout: Layout, share: Share, core: Scalar) -> list[Chunk]:
    """What this core has to walk of the rows of a tile."""
    found: list[Chunk] = []
    split = _split_axis(layout) if share.grouped else None
    for number, segments in enumerate(layout.combinations(True)):
        starts: dict[int, Start] = dict.fromkeys(segments, 0)
        lengths = {axis: segment.length for axis, segment in segments.items()}
        whole = Chunk(number, segments, starts, lengths)
        if split is None:
            found.append(whole)
        else:
            found += _slices(b, layout, whole, split, core)
    return sorted(found, key=lambda chunk: chunk.condition is not None)


def _split_axis(layout: Layout) -> int:
    """The reduced axis with the most units to hand out."""
    return max(layout.reduced, key=lambda axis: layout.space.extents[axis] // _unit(layout, axis))


def _unit(layout: Layout, axis: int) -> int:
    return layout.granule if axis == layout.lane_axis else 1


def _slices(b: Builder, layout: Layout, whole: Chunk, axis: int, core: Scalar) -> Iterator[Chunk]:
    """A run of units for each core, one more for some, and what is left for the last one.

    Cores follow each other along the axis, and so do the chunks of a core.
    """
    segment = whole.segments[axis]
    unit = max(_unit(layout, axis), segment.block)
    units = segment.length // unit if segment.low == 0 else 0
    share, more = divmod(units, layout.cores)
    rest = segment.length - units * unit
    first = (core * share + b.minimum(core, more)) * unit

    def part(start: Start, length: int, condition: Scalar | None) -> Chunk:
        starts, lengths = {**whole.starts, axis: start}, {**whole.lengths, axis: length}
        return Chunk(whole.combination, whole.segments, starts, lengths, condition)

    if share:
        yield part(first, share * unit, None)
    if more:
        yield part(first + share * unit, unit, core < more)
    if rest:
        yield part(segment.length - rest, rest, core.equals(layout.cores - 1))


def walk_chunk(
    b: Builder, layout: Layout, chunk: Chunk, room: int, state: Sequence[Tensor], body: Body
) -> tuple[Any, ...]:
    """Run ``body(piece, *state)`` over tiles of a chunk, each of its exact size."""
    axes = [axis for axis in layout.reduced if axis in chunk.lengths]
    sizes = [
        (
            axis,
            Segment(0, chunk.lengths[axis], min(chunk.segments[axis].block, chunk.lengths[axis])),
        )
        for axis in axes
    ]
    tile = tile_lengths(sizes, room)

    def along(level: int, starts: dict[int, Start], lengths: dict[int, int], state: Any) -> Any:
        if level == len(axes):
            return tuple(body(Piece(chunk, starts, lengths), *state))
        axis = axes[level]
        first, width = chunk.starts[axis], tile[axis]

        def deeper(start: Start, length: int, state: Any) -> Any:
            return along(level + 1, {**starts, axis: start}, {**lengths, axis: length}, state)

        full = chunk.lengths[axis] // width * width
        if full > width:
            loop = b.loop(0, full, width, carry=state, names="column")
            with loop as inside:
                column, *inner = inside if state else (inside,)
                loop.yield_(*deeper(column + first, width, inner))
            state = loop.results
        elif full:
            state = deeper(first, width, state)
        if full < chunk.lengths[axis]:
            state = deeper(_plus(first, full), chunk.lengths[axis] - full, state)
        return tuple(state)

    return along(0, {}, {}, tuple(state))


def _plus(first: Start, more: int) -> Start:
    return first + more
