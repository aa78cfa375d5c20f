"""Timelines of the programs that a bench ran, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spyrelab.bench.attention import ATTENTION
from spyrelab.bench.harness import Job
from spyrelab.bench.predictions import traced
from spyrelab.bench.results import Results
from spyrelab.viz.perfetto import write_traces

__all__ = ["write_results"]


def write_results(results: Results, jobs: Sequence[Job], path: str | Path) -> None:
    """Write Trace Event JSON: a group of processes for every case with a predicted time.

    A case without a right result has none.
    """
    rows = [row for row in results.rows if row.impl not in ATTENTION]
    timed = {(row.chapter, row.case) for row in rows if row.correct and row.cycles}
    cases = {job.case.name: job.case for job in jobs if (job.chapter, job.case.name) in timed}
    write_traces({name: traced(case).estimate for name, case in cases.items()}, path)
