"""Sets of buffers that cannot be packed, as small as a short search makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyrelab.tiling.lx.improve import improved
from spyrelab.tiling.lx.instance import Instance
from spyrelab.tiling.lx.pack import Packing, pack

__all__ = ["conflicts", "pack_all"]

WINDOWS = (2, 3, 5, 8, 13, 21)
WINDOW_NODES = 400
"""Search nodes for the buffers of one window, and for each attempt to leave one out."""


def pack_all(
    instance: Instance, numbers: Sequence[int], capacity: int | None = None, nodes: int = 4000
) -> Packing:
    """Place all of these buffers: by a short search, by the heuristic, or by a long search."""
    alone = instance.only(numbers, capacity, all_required=True)
    found = pack(alone, min(nodes, 3 * len(alone)))
    if not found.complete:
        placed = improved(alone, rounds=4)
        found = Packing(placed, True) if len(placed) == len(alone) else pack(alone, nodes)
    if found.placed is None:
        return found
    return Packing({numbers[i]: at for i, at in found.placed.items()}, found.complete)


def conflicts(instance: Instance, kept: Sequence[int]) -> list[list[int]]:
    """Sets among those kept that provably cannot be packed; none if no window shows one.

    What spoils a packing is mostly local, so windows of few births are tried before longer ones.
    """
    found: list[list[int]] = []
    for length in WINDOWS:
        for window in _windows(instance, kept, length):
            if not any(set(core) <= set(window) for core in found) and _impossible(
                instance, window
            ):
                found.append(_smaller(instance, window))
        if found:
            break
    return found


def _windows(instance: Instance, kept: Sequence[int], length: int) -> Iterator[list[int]]:
    births = sorted({instance.first[i] for i in kept})
    for start in range(max(len(births) - length + 1, 1)):
        low, high = births[start], births[min(start + length, len(births)) - 1]
        yield [i for i in kept if instance.first[i] <= high and instance.last[i] >= low]


def _impossible(instance: Instance, numbers: Sequence[int]) -> bool:
    packing = pack_all(instance, numbers, nodes=WINDOW_NODES)
    return packing.placed is None and packing.complete


def _smaller(instance: Instance, window: Sequence[int]) -> list[int]:
    """The window without what it does not need: the smaller a set, the more its cut forbids."""
    core = list(window)
    for one in sorted(window, key=lambda i: instance.sizes[i] * len(instance.meets[i])):
        rest = [i for i in core if i != one]
        if _impossible(instance, rest):
            core = rest
    return core
