"""How the rows of an operation are divided: over cores, into tiles, and along long rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spyrelab.kernels.division import LX_BYTES, TILE_ELEMENTS, ceil_div, round_up
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.row_space import Bound, Segment, Space, segments_of

__all__ = ["BURST_BYTES", "Demand", "Layout", "Share", "arrange", "cut"]

_RUN_STICKS = 4
"""Rows that are read together at least: sticks of neighbouring rows are one run of memory, and
the port takes as long for a run of one stick as for one of almost four."""

BURST_BYTES = 4096
"""Bytes below which another core is not worth its start."""


@dataclass(frozen=True)
class Demand:
    """What an operation asks of its rows.

    Attributes
    ----------
    live_bytes : scratchpad bytes per element of a tile at the worst point.
    passes : how often a row is read; rows that are read once need not stay in the scratchpad.
    ordered : elements of a row are walked first to last.
    alone : no other core takes part in a row.
    whole : a row has to be one tile.
    lx_bytes : scratchpad bytes of all live tiles.
    row_bytes : those of a row's statistics, where they are large.
    """

    live_bytes: int = 16
    passes: int = 1
    ordered: bool = False
    alone: bool = False
    whole: bool = False
    lx_bytes: int = LX_BYTES
    row_bytes: int = 0

    @property
    def lx_elements(self) -> int:
        """Elements of tiles that may be alive at once."""
        return self.lx_bytes // self.live_bytes

    @property
    def tile_elements(self) -> int:
        """Elements of a tile of what is streamed."""
        return min(TILE_ELEMENTS, self.lx_elements)


@dataclass(frozen=True)
class Layout:
    """Order of the axes in a tile, and how many cores take part.

    ``kept`` and ``reduced`` list axes outermost first; with ``rows_first`` the kept axes come
    before the reduced ones.
    """

    space: Space
    bounds: tuple[Bound, ...]
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    rows_first: bool
    cores: int

    @property
    def lane_axis(self) -> int | None:
        """The axis along which elements of the first operand are neighbours."""
        axes = self.reduced if self.rows_first else self.kept
        return axes[-1] if axes and self.bounds[0].step(axes[-1]) == 1 else None

    def combinations(self, reduced: bool) -> list[dict[int, Segment]]:
        """One segment per axis, in every way, in order."""
        axes = self.reduced if reduced else self.kept
        lists = [segments_of(self.space, axis, self.bounds) for axis in axes]
        return [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*lists)]

    @property
    def granule(self) -> int:
        """Elements of a stick of the first operand."""
        return SPYRE.stick_bytes // self.bounds[0].kind.itemsize


def arrange(space: Space, bounds: Sequence[Bound], most_cores: int = SPYRE.cores) -> Layout:
    """Order axes by how the first operand lies (kept ones by how the result is written)."""
    first, last = bounds[0], bounds[-1]

    def by(bound: Bound, axes: Sequence[int]) -> list[int]:
        return sorted(axes, key=lambda axis: _span(bound, axis), reverse=True)

    kept, reduced = by(first, space.axes(False)), by(first, space.axes(True))
    nearest = min(
        (axis for axis in (*kept, *reduced) if first.has(axis)), key=first.step, default=None
    )
    rows_first = nearest is None or space.reduced[nearest]
    if rows_first and all(last.has(axis) for axis in kept):
        kept = by(last, kept)
    elements = space.count(True) * space.count(False)
    cores = min(most_cores, max(1, ceil_div(elements * first.kind.itemsize, BURST_BYTES)))
    return Layout(space, tuple(bounds), tuple(kept), tuple(reduced), rows_first, cores)


def _span(bound: Bound, axis: int) -> tuple[int, int]:
    """Strides of an axis, for sorting: the smallest counts."""
    strides = [digit.stride for digit in bound.digits[axis] or ()]
    return (min(strides, default=1 << 62), max(strides, default=0))


@dataclass(frozen=True)
class Share:
    """The plan for one choice of segments of the kept axes.

    Attributes
    ----------
    tile : rows in a tile, per kept axis.
    grouped : all cores share the one tile of rows, each with a slice of the reduced axes.
    resident : a row stays in the scratchpad between passes.
    room : elements of a row that one tile may hold.
    """

    segments: Mapping[int, Segment]
    tile: Mapping[int, int]
    grouped: bool
    resident: bool
    room: int

    @property
    def counts(self) -> dict[int, int]:
        """Tiles along each kept axis."""
        return {axis: ceil_div(s.length, self.tile[axis]) for axis, s in self.segments.items()}

    @property
    def height(self) -> int:
        """Rows in a tile."""
        return math.prod(self.tile.values())


def cut(layout: Layout, segments: Mapping[int, Segment], demand: Demand) -> Share:
    """Divide the rows of some segments of the kept axes."""
    units = {axis: _unit(layout, axis, segment) for axis, segment in segments.items()}
    rows = math.prod(segment.length for segment in segments.values())
    groups = math.prod(ceil_div(segments[axis].length, units[axis]) for axis in segments)
    width, least = layout.space.count(True), math.prod(units.values())
    if _is_shared(layout, demand, groups, rows * width):
        whole = {axis: segment.length for axis, segment in segments.items()}
        slice_width = ceil_div(width, layout.cores) * 2
        resident = demand.passes > 1 and rows * slice_width <= demand.lx_elements
        return Share(segments, whole, True, resident, max(1, demand.tile_elements // rows))
    if demand.whole and least * width > demand.lx_elements:
        units, least = dict.fromkeys(segments, 1), 1
        if width > demand.lx_elements:
            raise Unsupported(f"rows of {width} elements that have to be in the scratchpad at once")
    resident = demand.whole or (demand.passes > 1 and least * width <= demand.lx_elements)
    if demand.ordered:
        resident = False
    each = ceil_div(rows, layout.cores)
    if layout.rows_first:
        least = min(_RUN_STICKS, each)
    span = width if resident else min(width, max(1, demand.tile_elements // least))
    most = max(demand.tile_elements, min(least * span, demand.lx_elements))
    room = min(max(1, min(most, demand.lx_elements) // span), each)
    if demand.row_bytes:
        room = max(1, min(room, demand.lx_bytes // (span * demand.live_bytes + demand.row_bytes)))
    tile = tile_lengths([(axis, segments[axis]) for axis in layout.kept], room, units)
    height = math.prod(tile.values())
    return Share(segments, tile, False, resident, max(1, demand.tile_elements // height))


def _is_shared(layout: Layout, demand: Demand, groups: int, elements: int) -> bool:
    """Whether there are so few rows that cores had better share them."""
    if demand.alone or demand.whole or layout.cores < 2 or not layout.reduced:
        return False
    least = BURST_BYTES // layout.bounds[0].kind.itemsize
    return groups * 2 <= layout.cores and elements >= 2 * least


def _unit(layout: Layout, axis: int, segment: Segment) -> int:
    """Rows that should stay together: those of a stick, where rows are columns of memory."""
    if layout.rows_first or axis != layout.lane_axis:
        return 1
    return min(segment.length, max(segment.block, layout.granule))


def tile_lengths(
    axes: Sequence[tuple[int, Segment]], room: int, units: Mapping[int, int] | None = None
) -> dict[int, int]:
    """Extents of a tile of about ``room`` elements, inner axes whole first."""
    lengths: dict[int, int] = {}
    for axis, segment in reversed(axes):
        unit = (units or {}).get(axis, 1)
        lengths[axis] = _fitting(segment.length, max(segment.block, unit), max(room, unit))
        room //= lengths[axis]
    return {axis: lengths[axis] for axis, _ in axes}


def _fitting(length: int, block: int, room: int) -> int:
    """At most ``room`` of ``length``: whole blocks, or an even part of one."""
    if room >= length:
        return length
    if room < block:
        return 1 << max(room, 1).bit_length() - 1
    pieces = ceil_div(length, room // block * block)
    return round_up(ceil_div(length, pieces), block)
