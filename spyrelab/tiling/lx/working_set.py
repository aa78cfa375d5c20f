"""The least scratchpad that buffers need when all of them have to stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from spyrelab.tiling.errors import WorkingSetError
from spyrelab.tiling.lx.cores import pack_all
from spyrelab.tiling.lx.instance import Instance
from spyrelab.tiling.lx.problem import STICK, Buffer, Problem

__all__ = ["fullest", "least_at", "least_bytes", "overflow"]


def least_at(problem: Problem, step: int) -> int:
    """Bytes that everything alive at one step takes, with the best reuse in place."""
    alive = problem.alive(step)
    return sum(b.size for b in alive) - _saved(alive, step)


def _saved(alive: Sequence[Buffer], step: int) -> int:
    """The children's sizes in the heaviest matching of those born here with dying parents."""
    born = [b for b in alive if b.first == step and b.parents]
    dying = [b for b in alive if b.last == step and b.first < step]
    if not born or not dying:
        return 0
    gains = np.array([[b.size if p.name in b.parents else 0 for p in dying] for b in born])
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return int(gains[rows, columns].sum())


def fullest(problem: Problem) -> int:
    """The step that needs most."""
    births = sorted({b.first for b in problem.buffers})
    return max(births, key=lambda step: least_at(problem, step), default=0)


def least_bytes(problem: Problem) -> int:
    """The least capacity in which all buffers have an address.

    At least what the fullest step needs; more where the holes between lives do not fit.  Where
    the search gives up, the answer is the least that it has an address for.
    """
    if not problem.buffers:
        return 0
    low = least_at(problem, fullest(problem)) // STICK
    high = sum(b.size for b in problem.buffers) // STICK
    everything = range(len(problem.buffers))
    instance = Instance(problem)
    while low < high:
        middle = (low + high) // 2
        packing = pack_all(instance, everything, middle)
        if packing.placed is None:
            low = middle + 1
        else:
            used = max(at + instance.sizes[i] for i, at in packing.placed.items())
            high = min(middle, used)
    return low * STICK


def overflow(problem: Problem) -> WorkingSetError:
    """The error for a problem whose required buffers do not fit."""
    needed = tuple(b for b in problem.buffers if b.required)
    names = {b.name for b in needed}
    alone = Instance(problem).only(i for i, b in enumerate(problem.buffers) if b.name in names)
    step = fullest(alone.problem)
    alive = [(b.name, b.size) for b in alone.problem.alive(step)]
    return WorkingSetError(
        problem.step_name(step), alive, least_bytes(alone.problem), problem.capacity
    )
