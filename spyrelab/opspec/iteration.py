"""The points that a program walks: boxes of common digits of all operands.

Every operand writes the index of a logical dimension in digits of its own (tile and lane, say).
Here the digits are refined until all operands agree, and the range of each index is cut where
the last digit is not full, so that every box is exact: it holds no padding of any operand.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spyrelab.layout.access import Axis, Digit
from spyrelab.opspec.errors import Unsuitable
from spyrelab.opspec.views import AnyAccess, Scattered, aligned

__all__ = ["Box", "boxes", "broadcast_size"]

_NO_MOVE: Axis = (Digit(1, 0),)
_MOST_CUTS = 17
"""Ends of ranges of one index: beyond, so many boxes cost more than a table of offsets."""


@dataclass(frozen=True)
class Box:
    """Nested loops that all operands walk with constant strides.

    Attributes
    ----------
    counts : tuple of int
        Of each loop, outermost first: by descending stride of the first output.
    strides : tuple of tuple of int
        Per operand and loop, in elements; 0 where the operand is broadcast.
    offsets : tuple of int
        Per operand: its element at the box's first point.
    """

    counts: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]

    @property
    def points(self) -> int:
        return math.prod(self.counts)


class _Run(NamedTuple):
    low: int
    dims: tuple[tuple[int, int], ...]
    """Count and unit of each digit."""


class _Axis(NamedTuple):
    """The digits of one index of an operand; counting begins at ``skip``.

    ``worth`` says what one step of each digit is worth, innermost first.
    """

    digits: Axis
    skip: int
    worth: tuple[int, ...]
    base: int

    @staticmethod
    def of(digits: Axis, skip: int) -> _Axis:
        kept = tuple(digit for digit in digits if digit.count > 1) or _NO_MOVE
        counts = (digit.count for digit in reversed(kept[1:]))
        return _Axis(kept, skip, tuple(itertools.accumulate(counts, operator.mul, initial=1)), 0)

    @staticmethod
    def fixed(digits: Axis, skip: int) -> _Axis:
        """An index of extent 1, perhaps broadcast: it never moves."""
        return _Axis(_NO_MOVE, 0, (1,), _Axis.of(digits, skip).offset(0))

    def step(self, unit: int) -> int:
        """Elements per ``unit`` indices where no digit within it carries."""
        place = sum(worth <= unit for worth in self.worth)
        return self.digits[-place].stride * (unit // self.worth[place - 1])

    def offset(self, index: int) -> int:
        """Elements from the start to an index."""
        rest, total = index + self.skip, self.base
        for digit in reversed(self.digits[1:]):
            rest, at = divmod(rest, digit.count)
            total += at * digit.stride
        return total + rest * self.digits[0].stride


def broadcast_size(sizes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The size that operands broadcast to; the caller has checked that they do."""
    rank = max(map(len, sizes), default=0)
    padded = [(1,) * (rank - len(size)) + size for size in sizes]
    return tuple(
        next((extent for extent in column if extent != 1), 1)
        for column in zip(*padded, strict=True)
    )


def boxes(
    accesses: Sequence[AnyAccess],
    leader: int,
    positions: Sequence[int] | None = None,
    outputs: int | None = None,
) -> tuple[Box, ...]:
    """Exact boxes that cover the points of all operands.

    Parameters
    ----------
    accesses
        Of all operands, broadcast against each other; those from ``leader`` on are outputs,
        and the leader's strides order the loops.

    Raises
    ------
    Unsuitable
        The digits of an operand and those of the leader have no common refinement, or an
        output is broadcast.
    """
    try:
        last = len(accesses) if outputs is None else leader + outputs
        return _boxes(accesses, leader, last)
    except Unsuitable as error:
        place = error.position if positions is None else positions[error.position]
        raise Unsuitable(place, error.reason) from None


def _boxes(accesses: Sequence[AnyAccess], leader: int, last: int) -> tuple[Box, ...]:
    size = broadcast_size([access.size for access in accesses])
    walks = [_aligned(position, access, size) for position, access in enumerate(accesses)]
    for position in range(leader, last):
        _require_distinct(position, walks[position], accesses[position].size, size)
    runs = []
    for dimension, extent in enumerate(size):
        runs.append(_runs([walk[dimension] for walk in walks], extent, leader))
    return tuple(_box(chosen, walks, leader) for chosen in itertools.product(*runs))


def _aligned(position: int, access: AnyAccess, size: tuple[int, ...]) -> tuple[_Axis, ...]:
    if isinstance(access, Scattered):
        raise Unsuitable(position, "its elements are scattered")
    around, skips = aligned(access)
    kept = (
        _Axis.of(digits, skip) if own > 1 else _Axis.fixed(digits, skip)
        for own, digits, skip in zip(access.size, around.axes, skips, strict=True)
    )
    return (*[_Axis.fixed(_NO_MOVE, 0)] * (len(size) - len(access.size)), *kept)


def _require_distinct(
    position: int, axes: Sequence[_Axis], own: tuple[int, ...], size: tuple[int, ...]
) -> None:
    moves = all(digit.stride for axis in axes for digit in axis.digits if digit.count > 1)
    if math.prod(own) != math.prod(size) or not moves:
        raise Unsuitable(position, "several points share one element of an output")


def _runs(axes: Sequence[_Axis], extent: int, leader: int) -> list[_Run]:
    """Ranges of one index in which all operands move with constant strides per digit."""
    worth = [[u for u in axis.worth if u == 1 or u < extent + axis.skip] for axis in axes]
    chain = sorted({1}.union(*worth))
    aligned = all(axis.skip % max(units) == 0 for axis, units in zip(axes, worth, strict=True))
    if aligned and all(b % a == 0 for a, b in itertools.pairwise(chain)):
        return _whole_runs(extent, chain)
    return _cut_runs(axes, worth, extent, leader)


def _whole_runs(extent: int, units: list[int], low: int = 0) -> list[_Run]:
    """Whole outermost digits, then the rest."""
    top = units[-1]
    whole, rest = divmod(extent, top)
    found = []
    if whole:
        inner = [(b // a, a) for a, b in itertools.pairwise(units)]
        found.append(_Run(low, ((whole, top), *reversed(inner))))
    if rest:
        found += _whole_runs(rest, units[:-1], low + whole * top)
    return found


def _cut_runs(
    axes: Sequence[_Axis], worth: Sequence[Sequence[int]], extent: int, leader: int
) -> list[_Run]:
    """Ranges between the indices at which any operand carries, repeated with their period."""
    period = math.lcm(*(max(units) for units in worth))
    reach = min(period, extent)
    cuts = {0, reach}
    for axis, units in zip(axes, worth, strict=True):
        carry = min((unit for unit in units if unit > 1), default=None)
        if carry is not None:
            cuts.update(range(-axis.skip % carry, reach, carry))
    if len(cuts) > _MOST_CUTS:
        most = max(range(len(axes)), key=lambda p: (p != leader, len(worth[p]), axes[p].skip))
        raise Unsuitable(most, f"its digits meet those of others in {len(cuts)} pieces")
    rounds, rest = divmod(extent, period)
    found = []
    for low, high in itertools.pairwise(sorted(cuts)):
        times = rounds + (rest >= high)
        if times:
            found.append(_Run(low, ((times, period), (high - low, 1))))
        if low < rest < high:
            found.append(_Run(low + rounds * period, ((rest - low, 1),)))
    return found


def _box(runs: Sequence[_Run], walks: Sequence[Sequence[_Axis]], leader: int) -> Box:
    dims = []
    for dimension, run in enumerate(runs):
        for count, unit in run.dims:
            if count > 1:
                dims.append((count, tuple(walk[dimension].step(unit) for walk in walks)))
    dims.sort(key=lambda dim: -abs(dim[1][leader]))
    merged = _merged(dims) or [(1, (0,) * len(walks))]
    offsets = tuple(sum(walk[d].offset(run.low) for d, run in enumerate(runs)) for walk in walks)
    counts = tuple(count for count, _ in merged)
    strides = tuple(tuple(moves[p] for _, moves in merged) for p in range(len(walks)))
    return Box(counts, strides, offsets)


def _merged(dims: Sequence[tuple[int, tuple[int, ...]]]) -> list[tuple[int, tuple[int, ...]]]:
    """Neighbouring loops that every operand walks as one are one."""
    merged: list[tuple[int, tuple[int, ...]]] = []
    for count, moves in dims:
        if merged and all(
            outer == inner * count for outer, inner in zip(merged[-1][1], moves, strict=True)
        ):
            merged[-1] = (merged[-1][0] * count, moves)
        else:
            merged.append((count, moves))
    return merged
