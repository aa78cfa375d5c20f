"""Exact packing: addresses for every buffer of a set, or a proof that there are none.

A packing can be pushed down until every buffer lies on the floor or on another; placed in order
of address, each then lies on the skyline of those before it.  Searching over these orders alone
is complete (Moffitt, MiniMalloc, ASPLOS 2023).  A child in the place of its parent makes one
rigid shape with it, so a branch chooses a chain of buffers and where it lies follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spyrelab.tiling.lx.instance import Instance, Placement

__all__ = ["Packing", "pack"]


@dataclass(frozen=True)
class Packing:
    """What the search found.

    Attributes
    ----------
    placed : dict or None
        Address in sticks per buffer; None if there is no packing, or none was found.
    complete : bool
        Whether the answer is certain.
    """

    placed: Placement | None
    complete: bool


def pack(instance: Instance, nodes: int = 4000) -> Packing:
    """Place every buffer of an instance, searching at most so many nodes."""
    if not len(instance):
        return Packing({}, True)
    search = _Search(instance, nodes)
    found = search.go((1 << len(instance)) - 1, [0] * search.width, 0)
    return Packing(dict(search.placed) if found else None, found or search.nodes > 0)


class _Search:
    def __init__(self, instance: Instance, nodes: int) -> None:
        self.instance = instance
        self.nodes = nodes
        # What is alive changes most at births: no step between two births holds more.
        births = sorted(set(instance.first))
        self.width = len(births)
        self.spans = [
            [t for t, birth in enumerate(births) if low <= birth <= high]
            for low, high in zip(instance.first, instance.last, strict=True)
        ]
        self.born = [births.index(low) for low in instance.first]
        self.heirs: list[list[int]] = [[] for _ in instance.sizes]
        for parent, child in instance.links:
            self.heirs[parent].append(child)
        self.parents: list[int] = [0] * len(instance)
        for parent, child in instance.links:
            self.parents[child] |= 1 << parent
        self.placed: Placement = {}
        self.seen: set[tuple[int, tuple[int, ...]]] = set()
        self.alike = [self._twins(i) for i in range(len(instance))]

    def _twins(self, one: int) -> int:
        """Buffers before this one that differ from it in nothing."""
        it = self.instance
        if it.partners[one]:
            return 0
        return sum(
            1 << i
            for i in range(one)
            if not it.partners[i]
            and (it.sizes[i], it.first[i], it.last[i])
            == (it.sizes[one], it.first[one], it.last[one])
        )

    def go(self, left: int, skyline: list[int], floor: int) -> bool:
        if not left:
            return True
        if self.nodes <= 0:
            return False
        self.nodes -= 1
        needed = self._needed(left)
        capacity = self.instance.capacity
        skyline = [
            max(top, floor) if need else 0 for top, need in zip(skyline, needed, strict=True)
        ]
        if any(top + need > capacity for top, need in zip(skyline, needed, strict=True) if need):
            return False
        state = (left, tuple(skyline))
        if state in self.seen:
            return False
        self.seen.add(state)
        return any(
            self._take(chain, at, left, skyline) for at, chain in self._branches(left, skyline)
        )

    def _take(self, chain: tuple[int, ...], at: int, left: int, skyline: list[int]) -> bool:
        sizes = self.instance.sizes
        after = list(skyline)
        for one in reversed(chain):  # a parent is at least as large as its child
            for t in self.spans[one]:
                after[t] = at + sizes[one]
            left &= ~(1 << one)
        if not self.go(left, after, at):
            return False
        self.placed.update(dict.fromkeys(chain, at))
        return True

    def _needed(self, left: int) -> list[int]:
        """Sticks at each step that those left take at least."""
        sizes = self.instance.sizes
        needed = [0] * self.width
        for one in self._members(left):
            for t in self.spans[one]:
                needed[t] += sizes[one]
            if self.parents[one] & left:
                needed[self.born[one]] -= sizes[one]
        return needed

    def _branches(self, left: int, skyline: list[int]) -> list[tuple[int, tuple[int, ...]]]:
        sizes = self.instance.sizes
        found = []
        ceiling = self.instance.capacity + 1
        for root in self._members(left):
            if self.alike[root] & left:
                continue
            low = max(skyline[t] for t in self.spans[root])
            if not self.instance.partners[root]:
                ceiling = min(ceiling, low + sizes[root])
            found += [(at, chain) for chain, at in self._chains((root,), low, left, skyline)]
        # What would lie at the ceiling or above leaves room for a whole buffer below itself.
        top = self.instance.capacity
        kept = [(at, c) for at, c in found if at < ceiling and at + sizes[c[0]] <= top]
        return sorted(kept, key=lambda pair: (pair[0], -self._area(pair[1])))

    def _chains(
        self, chain: tuple[int, ...], at: int, left: int, skyline: list[int]
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        for heir in self.heirs[chain[-1]]:
            if left >> heir & 1:
                high = max(at, *(skyline[t] for t in self.spans[heir]))
                yield from self._chains((*chain, heir), high, left, skyline)
        yield chain, at

    def _area(self, chain: tuple[int, ...]) -> int:
        return sum(self.instance.sizes[i] * len(self.spans[i]) for i in chain)

    def _members(self, left: int) -> list[int]:
        return [i for i in range(len(self.instance)) if left >> i & 1]
