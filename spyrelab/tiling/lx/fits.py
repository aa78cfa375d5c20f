"""Greedy, first-fit and best-fit: buffers are placed one at a time and never moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from spyrelab.tiling.lx.instance import Instance, Placement

__all__ = ["ORDERS", "all_of", "better", "by_order", "front", "greedy", "orders", "rank"]

NOTHING: Mapping[int, int] = {}

Key = Callable[[Instance, int], float]

ORDERS: dict[str, Key] = {
    "value": lambda it, i: it.values[i],
    "size": lambda it, i: it.sizes[i],
    "value per area": lambda it, i: it.values[i] / _area(it, i),
    "value per size": lambda it, i: it.values[i] / it.sizes[i],
    "value per root of area": lambda it, i: it.values[i] / _area(it, i) ** 0.5,
    "area": lambda it, i: _area(it, i),
    "life": lambda it, i: it.last[i] - it.first[i],
}
"""What buffers are sorted by, the largest first."""


def _area(instance: Instance, i: int) -> int:
    return instance.sizes[i] * (instance.last[i] - instance.first[i] + 1)


def greedy(instance: Instance, seed: Mapping[int, int] = NOTHING) -> Placement:
    """What the real stack does: operations in program order, each result kept if a hole fits now.

    It never looks ahead; of several clones that could begin now it tries the longest.
    """
    order = sorted(range(len(instance)), key=lambda i: (instance.first[i], -instance.last[i]))
    return instance.fill(order, False, seed)


def orders(instance: Instance) -> Iterator[list[int]]:
    """The buffers by each key of `ORDERS`, those that have to be kept first."""
    for key in ORDERS.values():
        yield sorted(
            range(len(instance)),
            key=lambda i: (not instance.required[i], -key(instance, i), -instance.values[i], i),
        )


def by_order(instance: Instance, tightest: bool, seed: Mapping[int, int] = NOTHING) -> Placement:
    """The best of first-fit (or best-fit, if `tightest`) over all orders."""
    found: Placement | None = None
    for order in orders(instance):
        found = better(instance, found, instance.fill(order, tightest, seed))
        if len(found) == len(instance):
            break
    return found if found is not None else dict(seed)


def rank(instance: Instance, placed: Placement) -> tuple[int, int]:
    """How good a placement is: what has to be kept counts before what is avoided."""
    return sum(instance.required[i] for i in placed), instance.value(placed)


def better(instance: Instance, one: Placement | None, two: Placement) -> Placement:
    """The better of two placements; the first if they are equal."""
    if one is not None and rank(instance, one) >= rank(instance, two):
        return one
    return two


def all_of(instance: Instance, placed: Placement) -> bool:
    """Whether nothing is left to gain."""
    if len(placed) == len(instance):
        return True
    needed = all(i in placed for i, required in enumerate(instance.required) if required)
    return needed and instance.value(placed) == instance.total


def front(order: Sequence[int], one: int, place: int) -> list[int]:
    """The order with one buffer moved forward."""
    rest = [i for i in order if i != one]
    return [*rest[:place], one, *rest[place:]]
