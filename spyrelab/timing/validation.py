"""Predictions of measured rows, and how good they are: per clock, and per shape over its splits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.errors import SpyreLabError
from spyrelab.ktir import Module
from spyrelab.timing.constants import CONSTANTS, Constants
from spyrelab.timing.estimate import estimate
from spyrelab.timing.measurements import Row, why_not
from spyrelab.timing.roofline import roofline

__all__ = [
    "Group",
    "Prediction",
    "Report",
    "clock_offset",
    "predict",
    "program_of",
    "spearman",
    "summarize",
]

SMALL_GROUP = 3
"""Fewer splits than this have no rank to speak of."""

FULL_GROUP = 5
"""Groups of at least this many splits enter the summary."""


@dataclass(frozen=True)
class Prediction:
    """A row and what a model says about it; ``reason`` where it says nothing."""

    row: Row
    predicted_us: float | None
    reason: str | None = None

    @property
    def log_ratio(self) -> float | None:
        """``ln(predicted / measured)``."""
        if self.predicted_us is None:
            return None
        return math.log(self.predicted_us / self.row.measured_us)

    def to_dict(self) -> dict[str, Any]:
        """One entry of the JSON document."""
        return {
            "id": self.row.id,
            "kind": self.row.kind,
            "measured_us": self.row.measured_us,
            "predicted_us": self.predicted_us,
            "log_ratio": self.log_ratio,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Group:
    """Splits of one shape on one clock and back-end share.

    Attributes
    ----------
    spearman : float
        Rank correlation of predicted and measured times.
    regret : float
        Measured time of the split predicted best, over the best measured time.
    """

    name: str
    kind: str
    count: int
    median_error: float
    spearman: float
    regret: float


@dataclass(frozen=True)
class Report:
    """Everything `summarize` finds."""

    errors: Mapping[str, tuple[int, float]]
    groups: tuple[Group, ...]
    missing: tuple[Prediction, ...]

    def full_groups(self, kind: str = "profiled") -> list[Group]:
        """Groups of at least five splits."""
        return [g for g in self.groups if g.kind == kind and g.count >= FULL_GROUP]

    def median_spearman(self, kind: str = "profiled") -> float:
        """Over the full groups; not a number if there are none."""
        found = [g.spearman for g in self.full_groups(kind) if not math.isnan(g.spearman)]
        return float(np.median(found)) if found else math.nan

    def regrets(self, kind: str = "profiled") -> list[float]:
        """Of the full groups, ascending."""
        return sorted(g.regret for g in self.full_groups(kind))


def clock_offset(kind: str, constants: Constants) -> float:
    """Seconds that a clock adds to the profiled time."""
    if kind == "kernel_wall":
        return constants.kernel_wall_seconds
    return constants.host_wall_seconds if kind == "host_wall" else 0.0


def program_of(row: Row) -> Module:
    """The program that a row measured, all f16.

    Partners of a split of depth are neighbours where the row does not say.
    """
    # Only here: a measured row names one of the project's kernels.
    from spyrelab import kernels

    if row.is_matmul:
        assert row.split is not None
        b, m, n, k = row.extents
        return kernels.matmul(
            b,
            m,
            n,
            k,
            split=row.split,
            k_partners=row.partners or "adjacent",
            lx_backend_fraction=min(row.fraction, 0.999),
        )
    if row.op == "softmax":
        rows, columns = row.extents
        return kernels.softmax(rows, columns, cores=row.cores)
    expression = "x + y" if row.op == "pointwise_add" else "x * 2"
    return kernels.pointwise(expression, row.extents, cores=row.cores)


def predict(
    rows: Sequence[Row], model: str = "schedule", leave_one_shape_out: bool = False
) -> list[Prediction]:
    """Predict every row on its own clock, in order.

    Parameters
    ----------
    model : str
        ``"schedule"`` (`estimate`) or ``"roofline"``.
    leave_one_shape_out : bool
        Predict each shape by constants fitted without it.

    Returns
    -------
    list of Prediction
        Rows that cannot be predicted carry the reason.
    """
    held_out = _held_out(rows) if leave_one_shape_out else {}
    known: dict[tuple[object, ...], float | str] = {}
    found = []
    for row in rows:
        constants = held_out.get(row.shape, CONSTANTS)
        key = (row.shape, row.split, row.partners or "adjacent", row.fraction, row.cores)
        if key not in known:
            known[key] = why_not(row) or _seconds_or_reason(row, model, constants)
        seconds = known[key]
        if isinstance(seconds, str):
            found.append(Prediction(row, None, seconds))
        else:
            found.append(Prediction(row, (seconds + clock_offset(row.kind, constants)) * 1e6))
    return found


def _seconds_or_reason(row: Row, model: str, constants: Constants) -> float | str:
    try:
        return _seconds(row, model, constants)
    except SpyreLabError as error:
        return str(error).splitlines()[0]


def _seconds(row: Row, model: str, constants: Constants) -> float:
    if model == "roofline":
        return roofline(program_of(row)).seconds
    made = estimate(program_of(row), lx_backend_fraction=row.fraction, constants=constants)
    return made.seconds


def _held_out(rows: Sequence[Row]) -> dict[tuple[str | int, ...], Constants]:
    from spyrelab.timing.fit import START, Sample, fit, fit_host_wall

    found = {}
    for shape in dict.fromkeys(row.shape for row in rows):
        seen = [row for row in rows if row.shape != shape]
        sample = Sample.of(seen)
        if sample.rows:
            found[shape] = fit_host_wall(seen, fit(sample, START))
    return found


def summarize(predictions: Sequence[Prediction]) -> Report:
    """Errors per clock, and rank and regret per shape."""
    errors: dict[str, list[float]] = {}
    groups: dict[tuple[Any, ...], list[Prediction]] = {}
    for prediction in predictions:
        ratio = prediction.log_ratio
        if ratio is None:
            continue
        row = prediction.row
        errors.setdefault(row.kind, []).append(abs(ratio))
        if row.is_matmul:
            groups.setdefault((row.kind, row.shape, row.fraction), []).append(prediction)
    return Report(
        {kind: (len(found), float(np.median(found))) for kind, found in errors.items()},
        tuple(_group(key, found) for key, found in groups.items() if len(found) >= SMALL_GROUP),
        tuple(p for p in predictions if p.predicted_us is None),
    )


def _group(key: tuple[Any, ...], found: Sequence[Prediction]) -> Group:
    kind, shape, fraction = key
    measured = np.array([p.row.measured_us for p in found])
    predicted = np.array([p.predicted_us for p in found], float)
    op, *extents = shape
    name = f"{op} {'x'.join(map(str, extents))} LX {fraction:g}"
    error = float(np.median(np.abs(np.log(predicted / measured))))
    regret = float(measured[predicted.argmin()] / measured.min())
    return Group(name, kind, len(found), error, spearman(predicted, measured), regret)


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Rank correlation; equal values share their mean rank."""
    a, b = _ranks(one), _ranks(other)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale else math.nan


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])
