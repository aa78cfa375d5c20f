"""Predicted against measured times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spyrelab.timing.validation import Prediction, summarize
from spyrelab.viz.style import style

__all__ = ["draw_scatter", "save_scatter"]

CLOCK_COLOURS = {"profiled": "#0072b2", "kernel_wall": "#e69f00", "host_wall": "#009e73"}
_MARKERS = {"profiled": "o", "kernel_wall": "s", "host_wall": "^"}


def draw_scatter(predictions: Sequence[Prediction], ax: Any = None, model: str = "") -> Any:
    """Both axes logarithmic, a colour and marker per clock; returns the axes."""
    import matplotlib.pyplot as plt

    report = summarize(predictions)
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 6))
        known = [p for p in predictions if p.predicted_us is not None]
        for kind, (count, error) in report.errors.items():
            mine = [p for p in known if p.row.kind == kind]
            ax.plot(
                [p.row.measured_us for p in mine],
                [p.predicted_us for p in mine],
                _MARKERS[kind],
                color=CLOCK_COLOURS[kind],
                ms=4,
                alpha=0.7,
                label=f"{kind}: {count} rows, median |ln ratio| {error:.3f}",
            )
        ends = [value for p in known for value in (p.row.measured_us, p.predicted_us or 1.0)]
        if ends:
            ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color="#8c8c8c", lw=1)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("measured (µs)")
        ax.set_ylabel("predicted (µs)")
        ax.set_title(f"predicted against measured {model}".strip())
        ax.legend(loc="upper left")
    return ax


def save_scatter(predictions: Sequence[Prediction], path: str | Path, model: str = "") -> None:
    """Draw and write a picture file; the suffix gives its format."""
    import matplotlib as mpl

    mpl.use("Agg")
    axes = draw_scatter(predictions, model=model)
    axes.figure.savefig(path)
