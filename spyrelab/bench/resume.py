"""A bench that was interrupted goes on: finished cases are kept in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from spyrelab.bench.harness import Job
from spyrelab.bench.results import Results, Row, read_results
from spyrelab.errors import UsageError

__all__ = ["Kept"]

_SAME = ("machine", "spyrelab", "threads")
"""What of the environment has to agree for rows to stand side by side."""


class Kept:
    """The rows of a file, which is written anew after each case.

    Parameters
    ----------
    path
        JSON as ``spyrelab bench -o`` writes it; it need not exist.
    environment
        Of the bench that goes on.

    Raises
    ------
    UsageError
        The file is no bench result, or is about another machine or version.
    """

    def __init__(self, path: str | Path, results: Results) -> None:
        self.path, self._results = Path(path), results
        self._rows: dict[tuple[str, str, str], Row] = {}
        if not self.path.exists():
            return
        old = read_results(self.path)
        for name in _SAME:
            before, now = old.environment.get(name), results.environment.get(name)
            if before != now:
                raise UsageError(f"{path} was measured with {name} {before}, not {now}")
        self._rows = {row.key: row for row in old.rows if row.correct}

    def rows_of(self, job: Job) -> list[Row] | None:
        """The rows of a job, if all of them are known."""
        keys = [(job.chapter, job.case.name, name) for name in job.implementations]
        found = [self._rows[key] for key in keys if key in self._rows]
        return found if len(found) == len(keys) else None

    def write(self) -> None:
        """Keep all rows so far, and those that were there; UsageError if the disk refuses."""
        for row in self._results.rows:
            self._rows[row.key] = row
        everything = Results(self._results.environment, list(self._rows.values()))
        beside = self.path.with_name(f"{self.path.name}.part")
        try:
            beside.write_text(json.dumps(everything.to_json(), indent=1), encoding="utf-8")
            os.replace(beside, self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise UsageError(f"{self.path}: {error.strerror}; its earlier rows are kept") from None
