"""Planning the runs of several graphs at once, in processes of their own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence

from spyrelab.errors import SpyreLabError
from spyrelab.inductor.passes import ORDER
from spyrelab.inductor.passes.fusion import Fusion, runs_of
from spyrelab.inductor.recorded import Recorded
from spyrelab.inductor.runs import Problem, is_known, problem_in, remember
from spyrelab.tiling import Plan

__all__ = ["plan_ahead"]

_Answer = tuple[int, Plan | None]
"""The number of a problem, and its plan if there is one."""


def plan_ahead(
    graphs: Sequence[Recorded],
    planner: str,
    processes: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Plan every run of some graphs, so that `planned` finds the plans there.

    Plans are the same whatever the number of processes. A run that has no plan is left to
    `planned`, which says why.

    Parameters
    ----------
    processes : int, optional
        By default the cores that this process may use; one plans here.
    told : callable
        Called with the number of runs that are planned and that of all.
    """
    problems = {problem.key: problem for graph in graphs for problem in _problems(graph, planner)}
    open_ = [problem for problem in problems.values() if not is_known(problem)]
    open_.sort(key=lambda problem: -len(problem.specs))
    workers = min(len(open_), processes or _cores())
    told(0, len(open_))
    with contextlib.ExitStack() as stack:
        if workers > 1 and "fork" in multiprocessing.get_all_start_methods():
            # Forked, a worker need not import and trace everything again.
            pool = multiprocessing.get_context("fork").Pool(workers, _leave_interrupts)
            stack.enter_context(pool)
            found: Iterable[_Answer] = pool.imap_unordered(_numbered, list(enumerate(open_)))
        else:
            found = map(_numbered, enumerate(open_))
        for done, (number, made) in enumerate(found, 1):
            if made is not None:
                remember(open_[number], made)
            told(done, len(open_))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _problems(graph: Recorded, planner: str) -> list[Problem]:
    for each in ORDER:
        if isinstance(each, Fusion):
            break
        graph = each.run(graph, planner).recorded
    runs = [run for run in runs_of(graph) if run.pairs[0][1] is not None]
    return [problem_in(run.pairs, run.wanted, planner) for run in runs]


def _numbered(given: tuple[int, Problem]) -> _Answer:
    number, problem = given
    try:
        return number, problem.solve()
    except SpyreLabError:
        return number, None


def _leave_interrupts() -> None:
    """The process that asked is interrupted too, and ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
