"""One interface to all solvers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum

from spyrelab.errors import UsageError
from spyrelab.tiling.lx.cores import pack_all
from spyrelab.tiling.lx.exact import Answer, exact
from spyrelab.tiling.lx.fits import NOTHING, by_order, greedy
from spyrelab.tiling.lx.improve import improved
from spyrelab.tiling.lx.instance import Instance, Placement
from spyrelab.tiling.lx.problem import STICK, Problem
from spyrelab.tiling.lx.solution import Solution
from spyrelab.tiling.lx.working_set import overflow

__all__ = ["Method", "place", "solve"]


class Method(StrEnum):
    """How to choose what stays in the scratchpad, and where."""

    GREEDY = "greedy"
    FIRST_FIT = "first-fit"
    BEST_FIT = "best-fit"
    DEFAULT = "default"
    EXACT = "exact"


Solver = Callable[[Instance, Mapping[int, int]], Placement]

HEURISTICS: dict[Method, Solver] = {
    Method.GREEDY: greedy,
    Method.FIRST_FIT: lambda instance, seed: by_order(instance, False, seed),
    Method.BEST_FIT: lambda instance, seed: by_order(instance, True, seed),
    Method.DEFAULT: improved,
}


def solve(
    problem: Problem, method: Method | str = Method.DEFAULT, time_limit: float = 10.0
) -> Solution:
    """Choose which buffers to keep in the scratchpad, and where.

    Parameters
    ----------
    problem : Problem
    method : Method or str
        ``"greedy"`` is what the real stack does; ``"first-fit"`` and ``"best-fit"`` take the
        best of several orders; ``"default"`` improves on them; ``"exact"`` proves.
    time_limit : float
        Seconds for ``"exact"``; a solution found when they are over is not proven.

    Raises
    ------
    WorkingSetError
        The required buffers do not fit.
    UsageError
        No such method.
    """
    chosen = _method(method)
    start = time.perf_counter()
    instance = Instance(problem)
    answer = _answer(instance, chosen, time_limit, NOTHING)
    if not _keeps_required(instance, answer.placed):
        answer = _answer(instance, chosen, time_limit, _seed(instance))
    seconds = time.perf_counter() - start
    addresses = {
        b.name: answer.placed[i] * STICK if i in answer.placed else None
        for i, b in enumerate(problem.buffers)
    }
    value, bound = instance.value(answer.placed), answer.bound
    return Solution(problem, chosen.value, addresses, value == bound, bound * STICK, seconds)


def place(problem: Problem) -> Solution:
    """An address for every buffer.

    Raises
    ------
    WorkingSetError
        They do not fit: the message names the operation, what is alive and the least LX needed.
    """
    every = tuple(replace(b, required=True) for b in problem.buffers)
    return solve(replace(problem, buffers=every))


def _method(method: Method | str) -> Method:
    try:
        return Method(method)
    except ValueError:
        names = ", ".join(m.value for m in Method)
        raise UsageError(f"{method!r} is no method of LX planning: choose from {names}") from None


def _answer(
    instance: Instance, method: Method, time_limit: float, seed: Mapping[int, int]
) -> Answer:
    if method is Method.EXACT:
        return exact(instance, time_limit, seed)
    return Answer(HEURISTICS[method](instance, seed), instance.total)


def _keeps_required(instance: Instance, placed: Placement) -> bool:
    return all(i in placed for i, needed in enumerate(instance.required) if needed)


def _seed(instance: Instance) -> Placement:
    """Addresses for what has to be kept, when the heuristics find none along the way."""
    needed = [i for i, required in enumerate(instance.required) if required]
    packing = pack_all(instance, needed, nodes=50_000)
    if packing.placed is None:
        raise overflow(instance.problem)
    return packing.placed
