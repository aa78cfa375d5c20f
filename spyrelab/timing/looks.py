"""Iterations of a loop looked at where they may differ, and what they touch together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from spyrelab.ktir import Region, Value
from spyrelab.timing.nodes import Access, Iterations, Node
from spyrelab.timing.signature import signature

__all__ = ["Looks", "joined_hull"]


class Walking(Protocol):
    """What a look needs of the walk that it is part of."""

    values: dict[Value, Any]

    def region(
        self, region: Region, active: np.ndarray
    ) -> tuple[list[Node], tuple[Value, ...]]: ...

    def merge(self, result: Value, value: Value, taken: np.ndarray) -> None: ...

    def count_look(self) -> None: ...


class Looks:
    """Iterations of one loop, looked at where they may differ."""

    def __init__(
        self,
        walker: Walking,
        region: Region,
        lower: np.ndarray,
        step: np.ndarray,
        trips: np.ndarray,
        carried: Sequence[tuple[Value, Value]],
    ) -> None:
        self.walker, self.region, self.carried = walker, region, carried
        self.lower, self.step, self.trips = lower, step, trips
        self.seen: dict[int, tuple[Any, tuple[Node, ...]]] = {}

    def at(self, index: int) -> tuple[Any, tuple[Node, ...]]:
        """What iteration ``index`` asks for, and its signature."""
        if index not in self.seen:
            self.walker.count_look()
            self.walker.values[self.region.arguments[0]] = self.lower + index * self.step
            nodes, _ = self.walker.region(self.region, self.trips > index)
            self.seen[index] = (signature(nodes), tuple(nodes))
        return self.seen[index]

    def runs(self, start: int, stop: int) -> list[Iterations]:
        """Iterations ``start`` to ``stop``, equal neighbours together."""
        found: list[Iterations] = []
        self._cut(start, stop - 1, found) if stop > start else None
        return _joined(found)

    def _cut(self, first: int, last: int, found: list[Iterations]) -> None:
        middle = (first + last) // 2
        marks = [self.at(index)[0] for index in dict.fromkeys((first, middle, last))]
        if all(mark == marks[0] for mark in marks):
            found.append(Iterations(last - first + 1, self.at(first)[1]))
            return
        self._cut(first, middle, found)
        self._cut(middle + 1, last, found)

    def one_by_one(self, count: int) -> list[Iterations]:
        """All iterations in order, because scalars go from one to the next."""
        found = []
        yielded = self.region.operations[-1].operands
        for index in range(count):
            _, nodes = self.at(index)
            found.append(Iterations(1, nodes))
            for argument, value in zip(self.region.arguments[1:], yielded, strict=True):
                self.walker.merge(argument, value, self.trips > index)
        return found


def _joined(runs: list[Iterations]) -> list[Iterations]:
    joined: list[Iterations] = []
    for run in runs:
        if joined and signature(joined[-1].body) == signature(run.body):
            joined[-1] = Iterations(joined[-1].count + run.count, joined[-1].body)
        else:
            joined.append(run)
    return joined


def joined_hull(before: Access | None, access: Access) -> Access:
    """The boxes that two accesses touch together."""
    if before is None:
        return access
    fresh = (access.highs <= access.lows).any(axis=1, keepdims=True)
    empty = (before.highs <= before.lows).any(axis=1, keepdims=True)
    lows = np.where(empty, access.lows, np.minimum(before.lows, access.lows))
    highs = np.where(empty, access.highs, np.maximum(before.highs, access.highs))
    return replace(
        before,
        lows=np.where(fresh, before.lows, lows),
        highs=np.where(fresh, before.highs, highs),
        exact=before.exact and access.exact,
    )
