"""The program of a measured row, and what a model predicts for it."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab import kernels
from spyrelab.ktir import Module
from spyrelab.timing import CONSTANTS, Constants, estimate, roofline
from spyrelab.timing.fit import START, Sample, fit
from spyrelab.timing.measurements import Row, why_not
from spyrelab.timing.validation import Prediction, clock_offset

__all__ = ["predict", "program_of"]


def program_of(row: Row) -> Module:
    """The program that a row measured, all f16.

    Partners of a split of depth are neighbours where the row does not say.
    """
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
    """Predict every row, in order; rows that cannot be predicted carry the reason."""
    held_out = _held_out(rows) if leave_one_shape_out else {}
    known: dict[tuple[object, ...], float] = {}
    found = []
    for row in rows:
        reason = why_not(row)
        if reason is not None:
            found.append(Prediction(row, None, reason))
            continue
        constants = held_out.get(row.shape, CONSTANTS)
        key = (row.shape, row.split, row.partners or "adjacent", row.fraction, row.cores)
        if key not in known:
            known[key] = _seconds(row, model, constants)
        offset = clock_offset(row.kind, constants)
        found.append(Prediction(row, (known[key] + offset) * 1e6))
    return found


def _seconds(row: Row, model: str, constants: Constants) -> float:
    if model == "roofline":
        return roofline(program_of(row)).seconds
    made = estimate(program_of(row), lx_backend_fraction=row.fraction, constants=constants)
    return made.seconds


def _held_out(rows: Sequence[Row]) -> dict[tuple[str | int, ...], Constants]:
    from spyrelab.timing.fit import fit_host_wall

    found = {}
    for shape in dict.fromkeys(row.shape for row in rows):
        seen = [row for row in rows if row.shape != shape]
        sample = Sample.of(seen)
        if sample.rows:
            found[shape] = fit_host_wall(seen, fit(sample, START))
    return found
