"""How the box of a lookup is divided: over cores, into tiles, and into tiles of offsets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from spyrelab.machine import SPYRE
from spyrelab.opspec.spans import Span

__all__ = ["Division", "Move"]

_TILE_ELEMENTS = 16384
_HELD_INDICES = 1024
"""Offsets that are computed at a time: 8 KiB of scratchpad."""
_CORE_ELEMENTS = 2048
"""The least number of elements that another core is started for."""
_FEW = 16
"""Elements that are faster moved one by one than through an indirect tile."""


class Move(Enum):
    """What happens between table and data."""

    READ = "read"
    WRITE = "write"
    ADD = "add"


@dataclass(frozen=True)
class Division:
    """How a block is walked.

    ``held`` is the box for which offsets are computed at once, ``tile`` the one that moves at
    once; both per digit. ``split`` is the digit that the cores divide, in runs of ``share``.
    """

    span: Span
    indexed: tuple[int, ...]
    held: tuple[int, ...]
    tile: tuple[int, ...]
    split: int
    share: int

    @property
    def cores(self) -> int:
        """Cores that have a part."""
        return -(-self.span.counts[self.split] // self.share)

    @property
    def one_by_one(self) -> bool:
        """Whether a tile belongs to a single index."""
        return all(self.tile[digit] == 1 for digit in self.indexed)

    @staticmethod
    def of(span: Span, move: Move, extents: Sequence[int], itemsize: int) -> Division:
        """The division of a block of a lookup over ``extents``."""
        digits = range(len(span.counts))
        meeting = {d for d in digits if not span.strides[1][d]}
        indexed = tuple(d for d in digits if d in meeting or any(s[d] for s in span.strides[2:]))
        ordered = meeting if move is not Move.READ else set()
        split = _split_digit(span, ordered)
        if split < 0:
            split, share = 0, span.counts[0]
        else:
            share = _share(span, split, extents, itemsize)
        most = list(span.counts)
        most[split] = share
        single = ordered if move is Move.ADD else set()
        tile = _tile(most, indexed, ordered, single)
        if single and math.prod(tile[d] for d in indexed) < _FEW:
            single = set(indexed)
            tile = _tile(most, indexed, ordered, single)
        held = _held(most, tile, indexed, single & ordered)
        share = -(-share // held[split]) * held[split]
        return Division(span, indexed, held, tile, split, share)


def _split_digit(span: Span, ordered: set[int]) -> int:
    """The longest digit that cores may divide, lanes of a stick last; -1 if there is none."""
    allowed = [d for d, count in enumerate(span.counts) if d not in ordered and count > 1]
    lanes = [d for d in allowed if span.strides[1][d] == 1 or span.strides[0][d] == 1]
    rest = [d for d in allowed if d not in lanes] or allowed
    return max(rest, key=lambda d: span.counts[d], default=-1)


def _share(span: Span, split: int, extents: Sequence[int], itemsize: int) -> int:
    """How far along a digit one core goes.

    The number of cores does not depend on the block: where several blocks write to the same
    places, the same core has to own them.
    """
    cores = min(SPYRE.cores, max(1, math.prod(extents) // _CORE_ELEMENTS))
    share = -(-span.counts[split] // cores)
    stick = SPYRE.stick_bytes // itemsize
    if 1 in (span.strides[0][split], span.strides[1][split]):
        share = -(-share // stick) * stick
    return min(share, span.counts[split])


def _tile(
    most: Sequence[int], indexed: Sequence[int], ordered: set[int], single: set[int]
) -> tuple[int, ...]:
    """Inner digits first, and those last in which a tile depends on the block."""
    tile = [1] * len(most)
    room, held = _TILE_ELEMENTS, _HELD_INDICES
    digits = sorted(range(len(most)), key=lambda d: (d in ordered, d in indexed, -d))
    for digit in digits:
        if digit in single:
            continue
        tile[digit] = min(most[digit], room, held if digit in indexed else room)
        room = max(1, room // tile[digit])
        held = max(1, held // tile[digit]) if digit in indexed else held
    return tuple(tile)


def _held(
    most: Sequence[int], tile: Sequence[int], indexed: Sequence[int], meeting: set[int]
) -> tuple[int, ...]:
    """Offsets are held along the digits in which several elements may meet.

    Not along others: what one core takes of them may not depend on the block.
    """
    held = list(tile)
    room = max(1, _HELD_INDICES // math.prod(tile[d] for d in indexed))
    for digit in sorted(meeting, reverse=True):
        held[digit] = min(most[digit], room)
        room = max(1, room // held[digit])
    return tuple(held)
