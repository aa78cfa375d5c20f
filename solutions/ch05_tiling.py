"""Model answers of chapter 5."""

from __future__ import annotations

from itertools import product
from math import ceil, prod
from typing import Any

STICK = 128


def core_box(space: dict[str, tuple[int, int]], core: int) -> dict[str, tuple[int, int]] | None:
    """The digits of the core's number, the last symbol's first."""
    if core >= prod(parts for _, parts in space.values()):
        return None
    box = {}
    for symbol, (extent, parts) in reversed(space.items()):
        core, part = divmod(core, parts)
        size = ceil(extent / parts)
        box[symbol] = (part * size, min((part + 1) * size, extent))
    return dict(reversed(box.items()))


def choose_parts(
    extents: tuple[int, ...], strides: list[tuple[int, ...]], cores: int, limit: int
) -> tuple[int, ...] | None:
    """Every way to cut, the most cores first."""
    divisors = [[p for p in range(1, min(n, cores) + 1) if n % p == 0] for n in extents]
    legal = [parts for parts in product(*divisors) if prod(parts) <= cores]
    for parts in sorted(legal, key=prod, reverse=True):
        steps = [n // p - 1 for n, p in zip(extents, parts, strict=True)]
        reach = [1 + sum(n * s for n, s in zip(steps, moves, strict=True)) for moves in strides]
        if 2 * max(reach) <= limit:
            return parts
    return None


def first_fit(buffers: list[tuple[int, int, int]], capacity: int) -> list[int | None]:
    """From hole to hole, among those that are alive at the same time."""
    found: list[int | None] = []
    for size, first, last in buffers:
        size = ceil(size / STICK) * STICK
        address = 0
        met = [
            (at, at + ceil(n / STICK) * STICK)
            for at, (n, born, dies) in zip(found, buffers, strict=False)
            if at is not None and born <= last and first <= dies
        ]
        for low, high in sorted(met):
            if address + size <= low:
                break
            address = max(address, high)
        found.append(address if address + size <= capacity else None)
    return found


def lives(
    steps: list[Any], wanted: list[str], loop: tuple[int, int] | None = None
) -> dict[str, tuple[int, int]]:
    """What comes from before a loop and is read inside has to be there in every turn."""
    found: dict[str, tuple[int, int]] = {}
    for number, step in enumerate(steps):
        found |= dict.fromkeys(step.writes, (number, number))
        for name in set(step.reads) & set(found):
            first = found[name][0]
            repeated = loop is not None and first < loop[0] <= number <= loop[1]
            found[name] = (first, loop[1] if loop and repeated else number)
    for name in set(wanted) & set(found):
        found[name] = (found[name][0], len(steps) - 1)
    return found


def tile_softmax(rows: int, cols: int, capacity: int) -> tuple[int, dict[str, int | None]]:
    """One matrix for x, shifted and powers, and two columns of statistics."""
    for turns in range(1, rows + 1):
        matrix, statistic = rows // turns * cols * 2, rows // turns * STICK
        if rows % turns == 0 and matrix + statistic <= capacity:
            break
    places: dict[str, int | None] = dict.fromkeys(("x", "shifted", "powers"), 0)
    # top is dead before total is born, so that one column will do.
    return turns, places | {"top": matrix, "total": matrix}


def agree(rows: int, depth: int, cols: int) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Blocks of the result as square as can be: they need least of x and w on each core."""
    sticks = cols // 64
    choices = [(32 // q, q) for q in range(1, 33) if sticks % q == 0]
    most = max(p * q for p, q in choices)
    full = [(p, q) for p, q in choices if p * q > most * 3 / 4]
    p, q = min(full, key=lambda pair: rows / pair[0] + cols / pair[1])
    return (p, q, 1), (p, q)


def plan_chain(alone: list[list[float]], saved: list[list[float]], launch: float) -> list[int]:
    """For each split of the last operation, the least time so far and the choices to get there."""
    best = [(launch + seconds, [split]) for split, seconds in enumerate(alone[0])]
    for seconds, gains in zip(alone[1:], saved, strict=True):
        cheapest, path = min(best)
        reached = []
        for split, (before, own_path) in enumerate(best):
            stays = (before - gains[split], own_path)
            parted = (cheapest + launch, path)
            total, chosen = min(stays, parted)
            reached.append((total + seconds[split], [*chosen, split]))
        best = reached
    return min(best)[1]
