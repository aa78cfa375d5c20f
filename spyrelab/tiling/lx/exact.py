"""The exact answer: an integer program chooses, an exact search packs, cuts bring them together.

The program without addresses bounds from above.  If what it keeps can be packed, that is
optimal; if not, a smallest set that cannot be packed is forbidden and the program is solved
again (logic-based Benders decomposition: Hooker and Ottosson, Math. Program. 96, 2003).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spyrelab.tiling.lx.cores import conflicts, pack_all
from spyrelab.tiling.lx.fits import NOTHING, all_of, better, orders
from spyrelab.tiling.lx.improve import improved
from spyrelab.tiling.lx.instance import Instance, Placement
from spyrelab.tiling.lx.master import Master

__all__ = ["Answer", "exact"]

LONG_NODES = 100_000
"""Search nodes for a packing in the end: a few seconds."""


@dataclass(frozen=True)
class Answer:
    """A placement in sticks, and sticks that no placement can exceed."""

    placed: Placement
    bound: int


def exact(instance: Instance, seconds: float, seed: Mapping[int, int] = NOTHING) -> Answer:
    """Solve the parts of an instance one after the other, each within its share of the time."""
    placed: Placement = {}
    bound = 0
    parts = split(instance)
    end = time.perf_counter() + seconds
    for number, part in enumerate(parts):
        share = (end - time.perf_counter()) / (len(parts) - number)
        mine = {at: seed[one] for at, one in enumerate(part) if one in seed}
        answer = _solve(instance.only(part), share, mine)
        placed |= {part[i]: at for i, at in answer.placed.items()}
        bound += answer.bound
    return Answer(placed, bound)


def split(instance: Instance) -> list[list[int]]:
    """Parts that share no step, without what is larger than the scratchpad."""
    parts: list[list[int]] = []
    end = -1
    fitting = [i for i in range(len(instance)) if instance.sizes[i] <= instance.capacity]
    for one in sorted(fitting, key=lambda i: instance.first[i]):
        if not parts or instance.first[one] > end:
            parts.append([])
        parts[-1].append(one)
        end = max(end, instance.last[one])
    return [sorted(part) for part in parts]


def _solve(instance: Instance, seconds: float, seed: Mapping[int, int]) -> Answer:
    best = improved(instance, seed)
    if all_of(instance, best):
        return Answer(best, instance.value(best))
    return _Search(instance, seed, best).go(time.perf_counter() + seconds)


class _Search:
    """Master and packing in turn, from the heuristic's answer."""

    def __init__(self, instance: Instance, seed: Mapping[int, int], best: Placement) -> None:
        self.instance = instance
        self.seed = seed
        self.best = best
        self.bound = instance.total
        self.open: list[tuple[int, ...]] = []
        """What was forbidden without a proof that it cannot be packed."""

    def go(self, end: float) -> Answer:
        master = Master(self.instance)
        while (left := end - time.perf_counter()) > 0:
            chosen = master.best(left)
            self.bound = min(self.bound, chosen.bound)
            if chosen.kept is None or self.value >= self.bound:
                break
            for core in self._pack(chosen.kept):
                master.forbid(core)
        self._close(end)
        doubt = max(map(self.instance.value, self.open), default=0)
        return Answer(self.best, max(doubt, self.bound, self.value))

    @property
    def value(self) -> int:
        return self.instance.value(self.best)

    def _pack(self, kept: tuple[int, ...]) -> Sequence[Sequence[int]]:
        """Pack a selection, or say what to forbid."""
        packing = pack_all(self.instance, kept)
        if packing.placed is not None:
            self.best = better(self.instance, self.best, packing.placed)
            return []
        self.best = better(self.instance, self.best, _repaired(self.instance, kept, self.seed))
        cores = conflicts(self.instance, kept)
        if not cores and not packing.complete:
            self.open.append(kept)
        return cores or [kept]

    def _close(self, end: float) -> None:
        """With the time that is left, search long for packings of what is still in doubt."""
        self.open.sort(key=self.instance.value, reverse=True)
        while self.open and time.perf_counter() < end:
            kept = self.open[0]
            if self.instance.value(kept) > self.value:
                packing = pack_all(self.instance, kept, nodes=LONG_NODES)
                if not packing.complete:
                    break
                self.best = better(self.instance, self.best, packing.placed or {})
            self.open.pop(0)


def _repaired(instance: Instance, kept: Sequence[int], seed: Mapping[int, int]) -> Placement:
    """What of a selection fits, and what else fits beside it."""
    placed = improved(instance.only(kept), rounds=4)
    start = {kept[i]: at for i, at in placed.items()}
    return instance.fill(next(orders(instance)), False, seed or start)
