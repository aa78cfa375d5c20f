"""The default heuristic: all fits, then orders in which what was left out moves forward.

Joslin and Clements (Squeaky wheel optimization, JAIR 10, 1999): build a solution from an order,
blame what came out badly, raise it in the order, and build again.
"""

from __future__ import annotations

from collections.abc import Mapping

from spyrelab.tiling.lx.fits import NOTHING, all_of, better, by_order, front, greedy, orders, rank
from spyrelab.tiling.lx.instance import Instance, Placement

__all__ = ["improved"]

ROUNDS = 12
"""Rounds of raising without a gain before an order is given up."""


def improved(
    instance: Instance, seed: Mapping[int, int] = NOTHING, rounds: int = ROUNDS
) -> Placement:
    """The best placement that fits, raising and moving forward find."""
    best = better(instance, greedy(instance, seed), by_order(instance, False, seed))
    if all_of(instance, best):
        return best
    best = better(instance, best, by_order(instance, True, seed))
    starts = list(orders(instance))
    for order in starts:
        if all_of(instance, best):
            return best
        best = better(instance, best, _raise(instance, order, seed, rounds))
    return _forward(instance, best, seed)


def _raise(instance: Instance, order: list[int], seed: Mapping[int, int], rounds: int) -> Placement:
    """Move what was left out forward by a number of places that grows with its value."""
    count = len(order)
    best: Placement | None = None
    highest = max(instance.values, default=0) or 1
    place = {one: float(at) for at, one in enumerate(order)}
    stale = 0
    while stale < rounds:
        placed = instance.fill(sorted(order, key=lambda i: place[i]), stale % 2 == 1, seed)
        before, best = best, better(instance, best, placed)
        stale = 0 if best is not before else stale + 1
        if all_of(instance, placed):
            break
        for one in order:
            if one not in placed:
                place[one] -= count * (0.15 + 0.35 * instance.values[one] / highest)
    return best if best is not None else dict(seed)


def _forward(instance: Instance, best: Placement, seed: Mapping[int, int]) -> Placement:
    """Climb: put one that was left out before everything, keep the order if that gains."""
    order = sorted(range(len(instance)), key=lambda i: (i not in best, best.get(i, 0)))
    order = [i for i in order if i in best] + [i for i in order if i not in best]
    current = better(instance, best, instance.fill(order, False, seed))
    gained = True
    while gained and not all_of(instance, current):
        gained = False
        left = [i for i in range(len(instance)) if i not in current]
        for one in sorted(left, key=lambda i: -instance.values[i]):
            tried = front(order, one, 0)
            placed = instance.fill(tried, False, seed)
            if rank(instance, placed) > rank(instance, current):
                order, current, gained = tried, placed, True
                break
    return current
