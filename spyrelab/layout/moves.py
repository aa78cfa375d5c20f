"""How a tensor goes from one place to another: boxes that are strided on both sides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from spyrelab.layout.access import Access, Axis
from spyrelab.layout.errors import LayoutError

__all__ = ["Dimension", "Move", "moves"]


class Dimension(NamedTuple):
    """One dimension of a move: ``count`` steps of so many device elements on either side."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which no dimension needs
    source: int
    target: int


class Move(NamedTuple):
    """A box of elements, without padding: where it begins, and its dimensions."""

    source: int
    target: int
    dimensions: tuple[Dimension, ...]


def moves(source: Access, target: Access) -> list[Move]:
    """Boxes that carry every element of a tensor from one access to the other, each once.

    Raises
    ------
    LayoutError
        The two cut a dimension into parts of which neither divides the other.
    """
    if source.size != target.size:
        raise LayoutError(
            f"a tensor of size {list(source.size)} does not move into one of {list(target.size)}"
        )
    pairs = zip(source.size, source.axes, target.axes, strict=True)
    runs = [_runs(extent, old, new) for extent, old, new in pairs]
    return [_join(chosen) for chosen in itertools.product(*runs)]


def _runs(extent: int, old: Axis, new: Axis) -> list[Move]:
    """One axis: a run of whole parts, then what is left over."""
    cuts = sorted(_cuts(old) | _cuts(new), reverse=True)
    if any(large % small for large, small in itertools.pairwise(cuts)):
        raise LayoutError(
            f"one side cuts a dimension of {extent} elements every {cuts[0]}, the other every"
            f" {cuts[1]}: neither divides the other"
        )
    found, low = [], 0
    for position, cut in enumerate(cuts):
        count = (extent - low) // cut
        if not count:
            continue
        outer = [Dimension(count, _step(old, cut), _step(new, cut))]
        inner = [
            Dimension(large // small, _step(old, small), _step(new, small))
            for large, small in itertools.pairwise(cuts[position:])
        ]
        found.append(Move(_place(old, low), _place(new, low), (*outer, *inner)))
        low += count * cut
    return found


def _cuts(axis: Axis) -> set[int]:
    return {math.prod(digit.count for digit in axis[at:]) for at in range(1, len(axis) + 1)}


def _place(axis: Axis, index: int) -> int:
    offset = 0
    for digit in reversed(axis[1:]):
        index, low = divmod(index, digit.count)
        offset += low * digit.stride
    return offset + index * axis[0].stride


def _step(axis: Axis, cut: int) -> int:
    return _place(axis, cut)


def _join(parts: Sequence[Move]) -> Move:
    """The product of one run per axis, in as few dimensions as possible."""
    kept: list[Dimension] = []
    for dimension in (d for part in parts for d in part.dimensions if d.count > 1):
        outer = kept[-1] if kept else None
        count, source, target = dimension
        if outer and outer.source == source * count and outer.target == target * count:
            kept[-1] = Dimension(outer.count * count, source, target)
        else:
            kept.append(dimension)
    return Move(
        sum(part.source for part in parts),
        sum(part.target for part in parts),
        tuple(kept) or (Dimension(1, 1, 1),),
    )
