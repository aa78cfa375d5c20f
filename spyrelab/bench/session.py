"""A bench from its first case to its last, with progress on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from spyrelab.bench.attention import ATTENTION
from spyrelab.bench.environment import describe_environment
from spyrelab.bench.harness import Job, run_job
from spyrelab.bench.measure import LEAST_REPEATS
from spyrelab.bench.predictions import PREDICTIONS
from spyrelab.bench.results import Results, Row
from spyrelab.bench.resume import Kept
from spyrelab.emulator import run as run_module
from spyrelab.errors import UsageError
from spyrelab.kernels import CATALOGUE

__all__ = ["Session", "host_threads"]

Announce = Callable[[str], None]


def host_threads(asked: int | None) -> int:
    """Threads asked for, else ``SPYRELAB_THREADS``, else the CPUs; UsageError below one."""
    text = str(asked) if asked is not None else os.environ.get("SPYRELAB_THREADS")
    if text is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise UsageError(f"{text} threads: give a whole number from 1 up")
    return int(text)


class Session:
    """Runs jobs one after the other; `results` has what was measured, at any moment."""

    def __init__(
        self,
        jobs: Sequence[Job],
        threads: int,
        baseline: str,
        repeats: int | None = None,
        keep_going: bool = False,
        left_out: int = 0,
        resume: str | None = None,
    ) -> None:
        self.jobs, self.threads, self.baseline = jobs, threads, baseline
        self.repeats = LEAST_REPEATS if repeats is None else repeats
        self.keep_going = keep_going
        if self.repeats < LEAST_REPEATS:
            raise UsageError(f"--repeats {self.repeats}: at least {LEAST_REPEATS} are needed")
        self.results = Results(describe_environment(threads))
        if left_out:
            self.results.environment["left_out"] = left_out
        self._kept = Kept(resume, self.results) if resume else None

    def run(self) -> None:
        """Measure everything; what is raised leaves the rows so far in `results`."""
        _warm_up(self.jobs)
        with _progress(len(self.jobs)) as announce:
            for job in self.jobs:
                known = self._kept.rows_of(job) if self._kept else None
                announce(f"{job.chapter} {job.case.name}{' (kept)' if known else ''}")
                self.results.rows += known or self._measure(job)
                if self._kept:
                    self._kept.write()

    def _measure(self, job: Job) -> list[Row]:
        return run_job(job, self.threads, self.baseline, self.repeats, self.keep_going)


def _warm_up(jobs: Sequence[Job]) -> None:
    """Compile the tile VM, or load it, before a progress bar and any clock run."""
    if any({"vm", "spyre", *PREDICTIONS, *ATTENTION} & set(job.implementations) for job in jobs):
        kernel = CATALOGUE["vector_add"]
        run_module(kernel.build(n=64, cores=1), kernel.arguments(n=64))


@contextmanager
def _progress(total: int) -> Iterator[Announce]:
    if not sys.stderr.isatty():
        count = 0

        def announce(name: str) -> None:
            nonlocal count
            count += 1
            sys.stderr.write(f"[{count}/{total}] {name}\n")
            sys.stderr.flush()

        yield announce
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    # A refreshing thread would take a CPU from what is being timed.
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    ) as progress:
        task = progress.add_task("", total=total)
        started = 0

        def show(name: str) -> None:
            nonlocal started
            progress.update(task, completed=started, description=name)
            progress.refresh()
            started += 1

        yield show
