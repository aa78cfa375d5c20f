"""How an operand of a row operation is seen: a view in tile order, loaded and stored in tiles.

A tile of a row operation has two axes, rows and what they run over, in either order; each may
stand for several axes of the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from spyrelab.ktir.builder import Builder, Place, Scalar, Tensor
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.row_space import Bound, Segment
from spyrelab.opspec.target import DDR, Given

__all__ = ["Start", "Window"]

Start = Scalar | int

_MOST_DIMENSIONS = 8
"""What a load or store can walk."""


class Window:
    """A view of one operand over one segment of each axis.

    ``groups`` are the axes of the tile's two dimensions, outermost first.
    """

    def __init__(
        self,
        b: Builder,
        pointer: Scalar,
        bound: Bound,
        segments: Mapping[int, Segment],
        groups: tuple[Sequence[int], Sequence[int]],
        given: Given | None = None,
    ) -> None:
        self._b, self._pointer, self._given = b, pointer, given
        self._lanes = SPYRE.stick_bytes // bound.kind.itemsize if given and given.sparse else 0
        self.bound = bound
        self._segments = segments
        self.groups = (tuple(groups[0]), tuple(groups[1]))
        dims: list[tuple[int, int]] = []
        offset = 0
        for group in self.groups:
            own = [axis for axis in group if bound.has(axis)]
            for axis in own:
                offset += self._first(axis)
                dims += self._dims(axis)
            if not own:
                dims.append((1, 1))
        if len(dims) > _MOST_DIMENSIONS:
            raise Unsupported(f"{len(dims)} dimensions that do not join ({bound.name})")
        # The view lists dimensions as memory does, so that a transfer is seen to be one run.
        outward = sorted(range(len(dims)), key=lambda d: (dims[d][1] > 0, -dims[d][1]))
        self._order = tuple(outward.index(place) for place in range(len(dims)))
        self._outward = tuple(outward)
        sizes, strides = zip(*(dims[place] for place in outward), strict=True)
        if self._lanes:
            sizes, strides = (*sizes, self._lanes), (*strides, 1)
        space = given.space if given is not None else DDR
        self._view = b.view(
            pointer + offset, sizes=sizes, dtype=bound.kind, strides=strides, memory_space=space
        )

    def over(self, axis: int, segment: Segment) -> Window:
        """The same operand over another segment of one axis."""
        segments = {**self._segments, axis: segment}
        return Window(self._b, self._pointer, self.bound, segments, self.groups, self._given)

    def _first(self, axis: int) -> int:
        low, digits = self._segments[axis].low, self.bound.digits[axis] or ()
        if len(digits) == 1:
            return low * digits[0].stride
        tile, lane = digits
        return low // lane.count * tile.stride + low % lane.count * lane.stride

    def _is_plain(self, axis: int) -> bool:
        return self._segments[axis].lies_plain(self.bound.digits[axis] or ())

    def _dims(self, axis: int) -> list[tuple[int, int]]:
        length, digits = self._segments[axis].length, self.bound.digits[axis] or ()
        if self._is_plain(axis):
            return [(length, digits[-1].stride)]
        tile, lane = digits
        return [(length // lane.count, tile.stride), (lane.count, lane.stride)]

    def _box(
        self, starts: Mapping[int, Start], lengths: Mapping[int, int]
    ) -> tuple[list[Start], list[int]]:
        """Subscripts and extents of a tile, in the order of its dimensions."""
        at: list[Start] = []
        extents: list[int] = []
        for group in self.groups:
            own = [axis for axis in group if self.bound.has(axis)]
            for axis in own:
                start, length = starts[axis], lengths[axis]
                if self._is_plain(axis):
                    at.append(start)
                    extents.append(length)
                    continue
                lanes = (self.bound.digits[axis] or ())[-1].count
                whole = length % lanes == 0
                at += [start // lanes, 0 if whole else start % lanes]
                extents += [length // lanes, lanes] if whole else [1, length]
            if not own:
                at.append(0)
                extents.append(1)
        return at, extents

    # ---- tiles -----------------------------------------------------------------------

    def load(
        self,
        starts: Mapping[int, Start],
        lengths: Mapping[int, int],
        dimension: int | None = None,
    ) -> Tensor:
        """The tile, repeated along axes that the operand lacks.

        With ``dimension`` only a line along it, of an operand that lacks the other one.
        """
        at, extents = self._box(starts, lengths)
        shape = [extents[place] for place in self._outward]
        raw = self._raw(at, shape)
        groups = self.groups if dimension is None else (self.groups[dimension],)
        flat = tuple(math.prod(lengths[axis] for axis in group) for group in groups)
        axes = [axis for group in groups for axis in group]
        missing = [place for place, axis in enumerate(axes) if not self.bound.has(axis)]
        if not missing:
            return self._b.reshape(raw, flat)
        present = [lengths[axis] for axis in axes if self.bound.has(axis)]
        if not present:
            return self._b.splat(self._b.extract(raw, (0,) * raw.rank), flat)
        full = [lengths[axis] for axis in axes]
        wide = self._b.broadcast(self._b.reshape(raw, present), full, missing)
        if not all(groups):
            wide = self._b.reshape(wide, (math.prod(full),))
        return self._b.reshape(wide, flat)

    def store(
        self, source: Tensor, starts: Mapping[int, Start], lengths: Mapping[int, int]
    ) -> None:
        """Write a tile, or a line of an operand that lacks the other dimension."""
        at, extents = self._box(starts, lengths)
        tile = self._b.reshape(source.to(self.bound.kind), extents)
        order = self._order
        if self._lanes:
            tile = self._b.broadcast(tile, [*extents, self._lanes], [len(extents)])
            order = (*order, len(order))
        self._b.store(tile, self._place(at), order)

    def _raw(self, at: Sequence[Start], shape: Sequence[int]) -> Tensor:
        if not self._lanes:
            return self._b.load(self._place(at), shape, self._order)
        order = (*self._order, len(self._order))
        sticks = self._b.load(self._place(at), [*shape, self._lanes], order)
        kept = [extent or 0 for extent in sticks.shape[:-1]]
        first = self._b.extract_slice(sticks, [0] * sticks.rank, [*kept, 1])
        return self._b.reshape(first, kept)

    def _place(self, at: Sequence[Start]) -> Place:
        found = [at[place] for place in self._outward]
        return self._view[(*found, 0) if self._lanes else tuple(found)]
