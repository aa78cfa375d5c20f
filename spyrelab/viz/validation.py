"""Predicted against measured times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spyrelab.timing.validation import Prediction, summarize
from spyrelab.viz.style import style

__all__ = ["draw_scatter", "save_scatter"]

CLOCK_COLOURS = {"profiled": "#0072b2", "kernel_wall": "#e69f00", "host_wall": "#009e73"}
BAND = 1.2
"""The shaded band: predictions within this factor of what was measured."""

_FAR = 5.0
"""A few small times, this factor below all others, are left out of the picture."""

_MARKERS = {"profiled": "o", "kernel_wall": "s", "host_wall": "^"}


def draw_scatter(predictions: Sequence[Prediction], ax: Any = None, model: str = "") -> Any:
    """Both axes logarithmic, a colour and marker per clock, and a band; returns the axes.

    Up to one row in fifty that lies far below all others is named and not drawn, since it would
    leave the others half of the picture.
    """
    import matplotlib.pyplot as plt

    report = summarize(predictions)
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 6))
        known, far = _split_far([p for p in predictions if p.predicted_us is not None])
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
        ax.set_xscale("log")
        ax.set_yscale("log")
        _draw_band(ax, [v for p in known for v in (p.row.measured_us, p.predicted_us or 1.0)])
        ax.set_xlabel("measured (µs)")
        ax.set_ylabel("predicted (µs)")
        said = f"predicted by the model '{model}'" if model else "predicted"
        ax.set_title(f"{said} against measured")
        if known:
            ax.legend(loc="upper left")
        if far:
            names = ", ".join(p.row.id for p in far)
            text = f"not drawn, far below: {names}"
            ax.text(0.98, 0.02, text, ha="right", fontsize=8, transform=ax.transAxes)
    return ax


def _draw_band(ax: Any, values: list[float]) -> None:
    """The diagonal, and what is near it."""
    if not values:
        return
    ends = [min(values) / BAND, max(values) * BAND]
    low, high = [end / BAND for end in ends], [end * BAND for end in ends]
    label = f"within {BAND - 1:.0%}"
    ax.fill_between(ends, low, high, color="#8c8c8c", alpha=0.25, lw=0, label=label, zorder=0)
    ax.plot(ends, ends, color="#8c8c8c", lw=1, zorder=0)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)


def _split_far(known: list[Prediction]) -> tuple[list[Prediction], list[Prediction]]:
    """Rows to draw, and a few that are far below them."""

    def smallest(prediction: Prediction) -> float:
        return min(prediction.row.measured_us, prediction.predicted_us or 1.0)

    ordered = sorted(known, key=smallest)
    for count in range(len(ordered) // 50, 0, -1):
        below = max(p.row.measured_us for p in ordered[:count])
        if smallest(ordered[count]) > _FAR * below:
            far = {id(p) for p in ordered[:count]}
            return [p for p in known if id(p) not in far], ordered[:count]
    return known, []


def save_scatter(predictions: Sequence[Prediction], path: str | Path, model: str = "") -> None:
    """Draw and write a picture file; the suffix gives its format."""
    import matplotlib as mpl

    mpl.use("Agg")
    axes = draw_scatter(predictions, model=model)
    axes.figure.savefig(path)
