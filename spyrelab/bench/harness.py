"""From chapters to rows: check every implementation, then time those that are right."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from spyrelab.bench.attention import ATTENTION
from spyrelab.bench.case import Case, Chapter
from spyrelab.bench.devices import DEVICES
from spyrelab.bench.implementations import (
    IMPLEMENTATIONS,
    Prediction,
    Ready,
    Workload,
    agrees,
)
from spyrelab.bench.inductor import INDUCTOR
from spyrelab.bench.layouts import LAYOUTS
from spyrelab.bench.measure import LEAST_REPEATS, Samples, measure
from spyrelab.bench.predictions import PREDICTIONS, prediction_of
from spyrelab.bench.registry import select_cases
from spyrelab.bench.results import Row
from spyrelab.bench.tiling import TILING
from spyrelab.emulator import Counters
from spyrelab.ktir import Module, TensorType, walk
from spyrelab.timing import TimingError

__all__ = ["Job", "count_left_out", "plan", "run_job"]

REFERENCE = "reference"

_TABLES = (IMPLEMENTATIONS, PREDICTIONS, DEVICES, LAYOUTS, TILING, INDUCTOR, ATTENTION)


@dataclass(frozen=True)
class Job:
    """One case and the implementations that are measured side by side.

    ``reduced_from`` names the case that this one stands in for.
    """

    chapter: str
    case: Case
    implementations: tuple[str, ...]
    reduced_from: str | None = None


def plan(
    chapters: Sequence[Chapter],
    implementations: Sequence[str],
    patterns: Sequence[str],
    quick: bool,
) -> list[Job]:
    """What is to be run, in order.

    Where the reference would take long, it and everything it is compared with run a reduced
    case of the same tiles, right behind the full one.  A quick plan leaves out details.
    """
    jobs = []
    for chapter in chapters:
        wanted = tuple(name for name in chapter.implementations if name in implementations)
        for case in select_cases(chapter, patterns):
            able = case.implementations
            names = tuple(name for name in wanted if able is None or name in able)
            if not names or (quick and case.detail and not patterns):
                continue
            reduced = case.reduced if quick or case.slow else None
            if reduced is None or REFERENCE not in names:
                jobs.append(Job(chapter.name, case, names))
                continue
            fast = tuple(name for name in names if name != REFERENCE)
            jobs.extend([Job(chapter.name, case, fast)] if fast else [])
            jobs.append(Job(chapter.name, reduced, names, case.name))
    return jobs


def count_left_out(
    chapters: Sequence[Chapter],
    implementations: Sequence[str],
    patterns: Sequence[str],
    quick: bool,
) -> int:
    """Cases that a quick plan leaves out because another sums them up."""
    if not quick or patterns:
        return 0
    wanted = set(implementations)
    return sum(
        case.detail and not wanted.isdisjoint(case.implementations or chapter.implementations)
        for chapter in chapters
        for case in chapter.cases
    )


def run_job(
    job: Job,
    threads: int,
    baseline: str,
    repeats: int = LEAST_REPEATS,
    keep_going: bool = False,
) -> list[Row]:
    """Check and time one job; ratios refer to ``baseline``, or to the job's first implementation.

    Raises
    ------
    SpyreLabError
        What an implementation raised, unless ``keep_going`` makes it a row.
    """
    workload = Workload(job.case, threads)
    with ExitStack() as stack:
        checked = [_check(job, name, workload, stack, keep_going) for name in job.implementations]
        calls = {
            row.impl: ready.call for row, ready in checked if ready and ready.timed and row.correct
        }
        samples = measure(calls, repeats)
    rows = [_timed(row, samples[row.impl]) if row.impl in samples else row for row, _ in checked]
    names = job.implementations
    return _with_ratios(rows, baseline if baseline in names else names[0])


def _check(
    job: Job, name: str, workload: Workload, stack: ExitStack, keep_going: bool
) -> tuple[Row, Ready | None]:
    row = Row(job.chapter, job.case.name, name, correct=False, extra=_describe(job, name))
    try:
        implementation = next(table[name] for table in _TABLES if name in table)
        ready = stack.enter_context(implementation(workload))
        returned = ready.call()
        expected = workload.expected if ready.expected is None else ready.expected
        right = agrees(ready.result(), expected, job.case.tolerance)
    except Exception as error:
        if not keep_going:
            raise
        return replace(row, extra={**row.extra, "error": f"{type(error).__name__}: {error}"}), None
    row = replace(row, correct=right)
    if right and isinstance(returned, Counters):
        row = _counted(row, returned, workload)
    if right and ready.prediction:
        row = _predicted(row, ready.prediction)
    return row, ready


def _describe(job: Job, name: str) -> dict[str, Any]:
    case = job.case
    extra: dict[str, Any] = {
        "shape": case.shape,
        "parameters": dict(case.parameters),
        "tolerance": case.tolerance,
        "tolerance_reason": case.reason,
    }
    if job.reduced_from:
        extra["reduced_from"] = job.reduced_from
        extra["note"] = (
            f"reduced shape {case.shape} with the tiles of {job.reduced_from},"
            " because the reference interpreter takes long there"
        )
    return extra


def _counted(row: Row, counters: Counters, workload: Workload) -> Row:
    """What the run counted, and the predicted time of the program that ran."""
    totals = counters.totals
    extra = {**row.extra, "tiles": _tiles(workload.module), "counters": totals}
    try:
        row = _predicted(row, prediction_of(workload))
        extra = {**row.extra, **extra}
    except TimingError as error:
        extra["not_timed"] = str(error)
    return replace(row, ddr_bytes=counters.ddr_bytes, lx_peak=totals["lx_peak"], extra=extra)


def _predicted(row: Row, prediction: Prediction) -> Row:
    return replace(
        row,
        cycles=prediction.cycles,
        device_us=prediction.device_us,
        utilization=prediction.utilization,
        ddr_bytes=prediction.ddr_bytes,
        lx_peak=prediction.lx_peak,
        extra={**row.extra, **prediction.extra},
    )


def _tiles(module: Module) -> list[str]:
    """Types of the tiles that the program loads, each once, in order of appearance."""
    operations = walk(module.function().body.operations)
    loads = (o.result.type for o in operations if o.name == "ktdp.load")
    return list(dict.fromkeys(str(kind) for kind in loads if isinstance(kind, TensorType)))


def _timed(row: Row, samples: Samples) -> Row:
    first, middle, last = samples.quartiles
    timing = {
        "repeats": len(samples.seconds),
        "calls_per_repeat": samples.calls,
        "median_s": middle,
        "interquartile_s": last - first,
    }
    return replace(row, host_s=samples.least, extra={**row.extra, **timing})


def _with_ratios(rows: list[Row], baseline: str) -> list[Row]:
    by_name = {row.impl: row for row in rows}
    base, reference = by_name.get(baseline), by_name.get(REFERENCE)
    finished = []
    for row in rows:
        extra = dict(row.extra)
        over = _ratio(reference.host_s, row.host_s) if reference else None
        if over is not None and row is not reference:
            extra["speedup_over_reference"] = over
        finished.append(
            replace(
                row,
                baseline=baseline if base else None,
                host_ratio=_ratio(base.host_s, row.host_s) if base else None,
                device_ratio=_ratio(base.device_us, row.device_us) if base else None,
                extra=extra,
            )
        )
    return finished


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator and denominator else None
