"""Fit the constants to a measurement file: ``python -m spyrelab.timing.fit FILE.csv``.

Least squares on log ratios with a soft loss, from a fixed start, so that the same file gives
the same constants.  Profiled rows carry weight 1 and kernel-wall rows 1/2, with one offset for
their clock; host-wall rows see the model only through their own offset.  The error that counts
is printed beside the in-sample one: every shape is predicted by a fit that has not seen it.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spyrelab.timing import stream
from spyrelab.timing.constants import CONSTANTS, Constants, load_entries
from spyrelab.timing.contraction import Contraction, seconds
from spyrelab.timing.measurements import Row, contractions_of, is_coarse, read_measurements, why_not

__all__ = ["Sample", "fit", "leave_one_shape_out", "main", "render"]

FITTED = tuple(
    name for name in Constants.__dataclass_fields__ if name not in ("host_wall_seconds",)
)
FIRM = {"overlap_exponent": 0.3, "launch_seconds": 0.3, "kernel_wall_seconds": 0.3}
"""Log-space pull towards the start where rows say little."""

MOST = {"pt_efficiency": 0.95}
"""What a fit may not exceed: columns that one core adds take 0.99 ns per array step against
0.91 at the peak (CS-007 less CS-001), which better overlap of everything else would hide."""

PULL = 0.02
WEIGHTS = {"profiled": 1.0, "kernel_wall": 0.5}
STREAMS = ("pointwise_add", "pointwise_scale")
"""Operations bound by memory alone; a softmax has vector work that no row times."""

FAR = 2.5
"""How far a constant may go from its start, as a log ratio."""

SOFT = 0.03
"""Log ratio beyond which a row counts linearly: what is more than pods differ by (3 to 7 %) is
not noise, and no square of it should move the fit."""


@dataclass(frozen=True)
class Sample:
    """Rows ready to be fitted: products, streams, measured seconds, clocks, weights."""

    rows: tuple[Row, ...]

    @staticmethod
    def of(rows: Sequence[Row]) -> Sample:
        """Rows that a fit may see: products and streams on two clocks, none coarse."""
        return Sample(tuple(row for row in rows if usable(row)))

    @property
    def products(self) -> list[Row]:
        return [row for row in self.rows if row.is_matmul]

    @property
    def streams(self) -> list[Row]:
        return [row for row in self.rows if not row.is_matmul]


def usable(row: Row) -> bool:
    """Whether the fit sees a row."""
    if row.kind not in WEIGHTS or is_coarse(row) or why_not(row) is not None:
        return False
    return row.is_matmul or row.op in STREAMS


class _Problem:
    """Log ratios of a sample as a function of the fitted numbers."""

    def __init__(self, sample: Sample) -> None:
        self.products: Contraction | None = None
        if sample.products:
            self.products = contractions_of(sample.products)
        self.streams = sample.streams
        rows = [*sample.products, *sample.streams]
        self.measured = np.array([row.measured_us for row in rows]) * 1e-6
        self.walled = np.array([row.kind == "kernel_wall" for row in rows])
        self.weights = np.array([WEIGHTS[row.kind] for row in rows])
        self.order = rows

    def predict(self, constants: Constants) -> np.ndarray:
        parts = []
        if self.products is not None:
            parts.append(np.atleast_1d(seconds(self.products, constants=constants)))
        parts += [np.array([stream.seconds(row, constants)]) for row in self.streams]
        return np.concatenate(parts) + self.walled * constants.kernel_wall_seconds

    def log_ratios(self, constants: Constants) -> np.ndarray:
        return np.log(self.predict(constants) / self.measured)


def fit(sample: Sample, start: Constants) -> Constants:
    """Constants that fit a sample best, from ``start``; ``host_wall_seconds`` stays."""
    from scipy.optimize import least_squares

    problem = _Problem(sample)
    pull = np.array([FIRM.get(name, PULL) for name in FITTED])

    def constants_at(x: np.ndarray) -> Constants:
        changed = {n: getattr(start, n) * float(np.exp(v)) for n, v in zip(FITTED, x, strict=True)}
        return start.replace(**changed)

    def residuals(x: np.ndarray) -> np.ndarray:
        ratios = problem.log_ratios(constants_at(x)) * problem.weights
        return np.concatenate([ratios, pull * x])

    highest = [np.log(MOST[n] / getattr(start, n)) if n in MOST else FAR for n in FITTED]
    found = least_squares(
        residuals, np.zeros(len(FITTED)), loss="soft_l1", f_scale=SOFT, bounds=(-FAR, highest)
    )
    return constants_at(found.x)


def fit_host_wall(rows: Sequence[Row], constants: Constants) -> Constants:
    """The host clock's offset: the median of what its rows take beyond the model."""
    chosen = [row for row in rows if row.kind == "host_wall" and why_not(row) is None]
    chosen = [row for row in chosen if row.is_matmul]
    if not chosen:
        return constants
    model = np.atleast_1d(seconds(contractions_of(chosen), constants=constants))
    measured = np.array([row.measured_us for row in chosen]) * 1e-6
    return constants.replace(host_wall_seconds=float(np.median(measured - model)))


def leave_one_shape_out(sample: Sample, start: Constants) -> dict[str, float]:
    """Predicted seconds of every row by a fit that has not seen its shape, by row id."""
    held_out: dict[str, float] = {}
    for shape in sorted({row.shape for row in sample.rows}, key=str):
        inside = tuple(row for row in sample.rows if row.shape != shape)
        outside = Sample(tuple(row for row in sample.rows if row.shape == shape))
        problem = _Problem(outside)
        predicted = problem.predict(fit(Sample(inside), start))
        held_out.update(zip((row.id for row in problem.order), predicted.tolist(), strict=True))
    return held_out


START = dataclasses.replace(
    CONSTANTS,
    pt_efficiency=0.85,
    partial_near=1.9,
    partial_far=8.0,
    partial_ring_bytes_per_second=20e9,
    ddr_bytes_per_second=165e9,
    ddr_write_bytes_per_second=80e9,
    unicast_overhead=0.35,
    drift_overhead=0.1,
    core_load_bytes_per_second=55e9,
    share_exponent=0.2,
    share_exponent_batched=0.3,
    share_exponent_steps=0.4,
    burst_sticks=3.5,
    spill_base=0.8,
    spill_steps=0.8,
    spill_columns=1.4,
    overlap_exponent=4.0,
    launch_seconds=1e-6,
    kernel_wall_seconds=38e-6,
)
"""Where every fit starts: published constants where there are any, round numbers elsewhere."""


def render(constants: Constants, sample: Sample) -> str:
    """``constants.toml`` with new values: reasons stay, significant digits are four."""
    lines = [
        "# Fitted by `python -m spyrelab.timing.fit FILE.csv`; the script rewrites value and rows.",
        "",
    ]
    counts = f"{len(sample.rows)} rows"
    for name, entry in load_entries().items():
        rows = entry["rows"] if name not in FITTED else entry["rows"].split(";")[0]
        suffix = f"; fitted together on {counts}" if name in FITTED else ""
        lines += [
            f"[{name}]",
            f"value = {_written(getattr(constants, name))}",
            f'unit = "{entry["unit"]}"',
            f'reason = "{entry["reason"]}"',
            f'rows = "{rows}{suffix}"',
            "",
        ]
    return "\n".join(lines)


def _written(value: float) -> str:
    mantissa, exponent = f"{value:.3e}".split("e")
    if -3 < int(exponent) < 4:
        return repr(float(f"{value:.4g}"))
    return f"{mantissa}e{int(exponent)}"


def _errors(sample: Sample, predicted: dict[str, float]) -> dict[str, float]:
    by_kind: dict[str, list[float]] = {}
    for row in sample.rows:
        ratio = abs(np.log(predicted[row.id] / (row.measured_us * 1e-6)))
        by_kind.setdefault(row.kind, []).append(float(ratio))
    return {kind: float(np.median(values)) for kind, values in by_kind.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Refit, print both errors, and write the constants."""
    parser = argparse.ArgumentParser(prog="python -m spyrelab.timing.fit", description=__doc__)
    parser.add_argument("file", help="measurement file (CSV)")
    parser.add_argument("-o", "--output", help="write here instead of over the shipped constants")
    parser.add_argument("--dry-run", action="store_true", help="print the errors, write nothing")
    args = parser.parse_args(argv)
    rows = read_measurements(args.file)
    sample = Sample.of(rows)
    constants = fit_host_wall(rows, fit(sample, START))
    problem = _Problem(sample)
    ids = (row.id for row in problem.order)
    inside = dict(zip(ids, problem.predict(constants).tolist(), strict=True))
    outside = leave_one_shape_out(sample, START)
    print(f"{len(sample.rows)} of {len(rows)} rows fitted, {len(FITTED)} constants")
    for kind, error in _errors(sample, inside).items():
        left_out = _errors(sample, outside)[kind]
        print(f"{kind}: median |log ratio| {error:.3f}, leaving one shape out {left_out:.3f}")
    if not args.dry_run:
        target = Path(args.output or Path(__file__).with_name("constants.toml"))
        target.write_text(render(constants, sample), encoding="utf-8")
        print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
