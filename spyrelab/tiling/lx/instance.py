"""A problem by numbers: who meets whom, and where a buffer fits among those that are placed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from spyrelab.tiling.lx.problem import STICK, Problem

__all__ = ["Instance", "Placement"]

Placement = dict[int, int]
"""Address in sticks per number of a kept buffer."""


class Instance:
    """The buffers of a problem as columns of integers; sizes and addresses count sticks."""

    def __init__(self, problem: Problem) -> None:
        buffers = problem.buffers
        self.problem = problem
        self.capacity = problem.capacity // STICK
        self.sizes = [b.size // STICK for b in buffers]
        self.values = [b.avoided // STICK for b in buffers]
        self.first = [b.first for b in buffers]
        self.last = [b.last for b in buffers]
        self.required = [b.required for b in buffers]
        self.total = sum(self.values)
        number = {b.name: i for i, b in enumerate(buffers)}
        self.links = [(number[p.name], number[c.name]) for p, c in problem.links()]
        self.meets: list[list[int]] = [[] for _ in buffers]
        self.rivals: list[list[int]] = [[] for _ in buffers]
        self.partners: list[list[int]] = [[] for _ in buffers]
        for parent, child in self.links:
            self.partners[parent].append(child)
            self.partners[child].append(parent)
        self._meet()

    def __len__(self) -> int:
        return len(self.sizes)

    def _meet(self) -> None:
        buffers = self.problem.buffers
        active: list[int] = []
        for one in sorted(range(len(self)), key=lambda i: self.first[i]):
            active = [i for i in active if self.last[i] >= self.first[one]]
            for two in active:
                self.meets[one].append(two)
                self.meets[two].append(one)
                group = buffers[one].clone_of
                if group is not None and group == buffers[two].clone_of:
                    self.rivals[one].append(two)
                    self.rivals[two].append(one)
            active.append(one)

    def value(self, placed: Iterable[int]) -> int:
        """Sticks avoided by what is kept."""
        return sum(self.values[i] for i in placed)

    def fit(self, one: int, placed: Placement, tightest: bool) -> int | None:
        """An address for one more buffer: a partner's, else the lowest or the tightest hole."""
        if any(rival in placed for rival in self.rivals[one]):
            return None
        taken = [(placed[i], placed[i] + self.sizes[i], i) for i in self.meets[one] if i in placed]
        size = self.sizes[one]
        for partner in self.partners[one]:
            at = placed.get(partner)
            if at is None or at + size > self.capacity:
                continue
            if all(i == partner or low >= at + size or high <= at for low, high, i in taken):
                return at
        taken.sort()
        holes = _holes(taken, self.capacity, size)
        return min(holes, default=(0, None))[1] if tightest else _lowest(holes)

    def fill(self, order: Sequence[int], tightest: bool, seed: Mapping[int, int]) -> Placement:
        """Place buffers in an order, each if it fits, round those that are already placed."""
        placed = dict(seed)
        for one in order:
            if one not in placed:
                at = self.fit(one, placed, tightest)
                if at is not None:
                    placed[one] = at
        return placed

    def only(
        self, numbers: Iterable[int], capacity: int | None = None, all_required: bool = False
    ) -> Instance:
        """These buffers alone, in so many sticks."""
        kept = set(numbers)
        names = {self.problem.buffers[i].name for i in kept}
        buffers = tuple(
            replace(
                b,
                parents=tuple(p for p in b.parents if p in names),
                required=b.required or all_required,
            )
            for i, b in enumerate(self.problem.buffers)
            if i in kept
        )
        room = self.capacity if capacity is None else capacity
        return Instance(Problem(buffers, room * STICK, self.problem.steps, self.problem.name))


def _holes(taken: Sequence[tuple[int, int, int]], room: int, size: int) -> list[tuple[int, int]]:
    """Holes of at least a size as (length, address), by address; `taken` is sorted."""
    found, at = [], 0
    for low, high, _ in taken:
        if low - at >= size:
            found.append((low - at, at))
        at = max(at, high)
    if room - at >= size:
        found.append((room - at, at))
    return found


def _lowest(holes: Sequence[tuple[int, int]]) -> int | None:
    return holes[0][1] if holes else None
