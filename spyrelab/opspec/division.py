"""How the points of a box are divided: over cores, then into tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.kernels.division import TILE_ELEMENTS, ceil_div, round_up
from spyrelab.machine import SPYRE
from spyrelab.opspec.iteration import Box

__all__ = ["BURST_BYTES", "Division", "cores_for", "divide"]

BURST_BYTES = 32 * SPYRE.stick_bytes
"""What one core should move at least: a burst of 32 sticks."""

_TURNED_EXTENTS = {2: 128, 3: 32}
"""Extent of a tile along each lane dimension, by how many there are: operands that have their
sticks along different dimensions are turned in tiles of 16384 to 32768 elements."""


@dataclass(frozen=True)
class Division:
    """A box in tiles: ``tile`` points per loop, loop ``split`` shared by cores."""

    box: Box
    tile: tuple[int, ...]
    split: int
    share: int

    @property
    def cores(self) -> int:
        """Cores that have anything to do."""
        return ceil_div(self.box.counts[self.split], self.share)

    def is_looped(self, loop: int) -> bool:
        """Whether a tile covers only a part of this loop."""
        return self.tile[loop] < self.box.counts[loop]


def cores_for(elements: int, itemsize: int) -> int:
    """How many cores share this much data, each with a burst at least."""
    return max(1, min(SPYRE.cores, elements * itemsize // BURST_BYTES))


def divide(
    box: Box, itemsizes: Sequence[int], budget: int = TILE_ELEMENTS, most_cores: int = SPYRE.cores
) -> Division:
    """Split the largest loop over cores (a loop along sticks in whole sticks), then fill tiles.

    Parameters
    ----------
    itemsizes
        Bytes of an element, per operand that has memory.
    budget
        Elements of a tile.
    most_cores
        Cores to divide over; with one, no tile has more elements than the budget.
    """
    grains = [_grain(box, loop, itemsizes) for loop in range(len(box.counts))]
    cores = min(most_cores, cores_for(box.points, max(itemsizes)))
    parts = [count // grain for count, grain in zip(box.counts, grains, strict=True)]
    split = max(range(len(parts)), key=lambda loop: (min(parts[loop], cores), -loop))
    share = round_up(ceil_div(box.counts[split], cores), grains[split])
    share = min(share, box.counts[split])
    most = [share if loop == split else count for loop, count in enumerate(box.counts)]
    lanes = {_lane_loop(moves) for moves in box.strides if any(moves)}
    strict = most_cores == 1
    tile = _fill(most, lanes, grains, budget, strict)
    share = min(round_up(share, tile[split]), box.counts[split])
    return Division(box, tuple(tile), split, share)


def _grain(box: Box, loop: int, itemsizes: Sequence[int]) -> int:
    """Elements of a stick where some operand has its sticks along a loop, else 1."""
    along = [
        SPYRE.stick_bytes // itemsize
        for moves, itemsize in zip(box.strides, itemsizes, strict=False)
        if abs(moves[loop]) == 1
    ]
    return min(max(along, default=1), box.counts[loop])


def _lane_loop(moves: Sequence[int]) -> int:
    """The loop along which an operand moves least."""
    moving = [loop for loop, stride in enumerate(moves) if stride]
    return min(moving, key=lambda loop: abs(moves[loop]))


def _fill(
    most: Sequence[int], lanes: set[int], grains: Sequence[int], budget: int, strict: bool
) -> list[int]:
    tile = [1] * len(most)
    if len(lanes) > 1:
        extent = _TURNED_EXTENTS.get(len(lanes), 8)
        while strict and extent > 1 and extent ** len(lanes) > budget:
            extent //= 2
        for loop in lanes:
            tile[loop] = min(most[loop], extent)
    for loop in reversed(range(len(most))):
        room = max(budget // math.prod(tile) * tile[loop], tile[loop])
        tile[loop] = _even(most[loop], room, grains[loop])
        if tile[loop] < most[loop] and len(lanes) < 2:
            break
    return tile


def _even(extent: int, room: int, grain: int) -> int:
    """Tiles of equal extent, at most ``room``, in whole grains where they fit."""
    if extent <= room:
        return extent
    rounds = ceil_div(extent, max(room // grain * grain, 1) if room >= grain else room)
    size = ceil_div(extent, rounds)
    return min(round_up(size, grain), room) if room >= grain else size
