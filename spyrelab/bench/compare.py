"""Two results side by side: emulated numbers exactly, host times as a report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from spyrelab.bench.results import Results, Row

__all__ = ["EMULATED", "Change", "Comparison", "compare"]

EMULATED = {"cycles": 1, "device_us": 1, "ddr_bytes": 1, "lx_peak": 1, "utilization": -1}
"""Metrics that repeat exactly, with the sign of a change for the worse."""

HOST = {"host_s": 1}


@dataclass(frozen=True)
class Change:
    """One number of one row that differs, or a row that is not as it was.

    Attributes
    ----------
    worse_by : float, optional
        Relative change for the worse (negative: for the better); None for host times' rows
        that are missing, new or wrong.
    regression : bool
        Beyond what was allowed.
    """

    key: tuple[str, str, str]
    metric: str
    old: float | None
    new: float | None
    worse_by: float | None
    regression: bool

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.regression:
            return "REGRESSION"
        if self.worse_by is None:
            return "new"
        if self.metric in HOST:
            return "host time"
        return "better" if self.worse_by < 0 else "worse, allowed"


@dataclass(frozen=True)
class Comparison:
    """What differs between two results, and how many rows were compared."""

    changes: tuple[Change, ...]
    rows: int
    same_machine: bool

    @property
    def regressions(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.regression)


def compare(old: Results, new: Results, fail_above: float = 0.0) -> Comparison:
    """Find what changed.

    An emulated number that got worse by more than ``fail_above`` (a fraction) is a
    regression; so is a row that became wrong, a row that is gone, and a number that is gone.
    Host times depend on the computer: they are listed and never judged.
    """
    before = {row.key: row for row in old.rows}
    after = {row.key: row for row in new.rows}
    changes: list[Change] = []
    for key, row in before.items():
        if key not in after:
            changes.append(Change(key, "row", None, None, None, True))
        else:
            changes.extend(_changes(row, after[key], fail_above))
    changes += [Change(k, "row", None, None, None, False) for k in after if k not in before]
    machines = [results.environment.get("machine") for results in (old, new)]
    return Comparison(tuple(changes), len(before.keys() & after.keys()), machines[0] == machines[1])


def _changes(old: Row, new: Row, fail_above: float) -> Iterator[Change]:
    if old.correct and not new.correct:
        yield Change(old.key, "correct", 1, 0, None, True)
        return
    for metric, sign in (EMULATED | HOST).items():
        before, after = getattr(old, metric), getattr(new, metric)
        if before == after or before is None:
            continue
        if after is None:
            yield Change(old.key, metric, before, None, None, metric in EMULATED)
            continue
        worse_by = sign * _relative(before, after)
        yield Change(
            old.key,
            metric,
            before,
            after,
            worse_by,
            metric in EMULATED and worse_by > fail_above,
        )


def _relative(before: float, after: float) -> float:
    return (after - before) / before if before else math.copysign(math.inf, after)
