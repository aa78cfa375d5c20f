"""Helion as a percentage of Triton, by batch and length: one panel per class of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.bench.attention_summary import CLASSES, GPU_STYLE, ratios
from spyrelab.bench.results import Row
from spyrelab.viz.style import BASELINE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_attention", "percentages"]

AGAINST = {None: "the best Triton kernel", GPU_STYLE: "the GPU-style Triton kernel"}

MARKS = {1: ("#0072b2", "o"), 4: ("#e69f00", "s"), 16: ("#009e73", "^")}
"""Colour and marker by batch size."""

Points = dict[int, dict[int, float]]
"""Percentage by batch size and longest context."""


def percentages(rows: Sequence[Row], kind: str, tuned: bool, against: str | None) -> Points:
    """Triton time over Helion time in percent: above 100 Helion is faster.

    Cases of one batch size and length (pages, spread of lengths) are averaged, geometrically.
    """
    from statistics import geometric_mean

    found = ratios(rows, kind, tuned, against)
    if found is None:
        return {}
    sizes = {row.case: _sizes(row.extra["parameters"]) for row in rows}
    groups: dict[tuple[int, int], list[float]] = {}
    for case, ratio in found.by_case.items():
        groups.setdefault(sizes[case], []).append(100 * ratio)
    points: Points = {}
    for (batch, length), values in sorted(groups.items()):
        points.setdefault(batch, {})[length] = geometric_mean(values)
    return points


def _sizes(parameters: Mapping[str, Any]) -> tuple[int, int]:
    return parameters["batch"], parameters["max_len"]


def draw_attention(rows: Sequence[Row], path: str | Path) -> None:
    """Write the picture: above against the best Triton kernel, below against the GPU-style one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    mine = [row for row in rows if "bound_share" in row.extra]
    with style():
        figure = Figure(figsize=(10, 6.4))
        FigureCanvasAgg(figure)
        grid = figure.subplots(len(AGAINST), len(CLASSES), sharey="row", sharex=True)
        for line, against in zip(grid, AGAINST, strict=True):
            for axes, kind in zip(line, CLASSES, strict=True):
                _panel(axes, mine, kind, against)
                axes.set_title(kind, loc="left")
            line[0].set_ylabel(f"Helion in % of\n{AGAINST[against]}")
            line[0].set_ylim(0, 1.08 * max(axes.dataLim.y1 for axes in line))
        lengths = sorted({_sizes(row.extra["parameters"])[1] for row in mine})
        for axes in grid[-1]:
            axes.set_xticks(lengths, [str(length) for length in lengths], minor=False)
            axes.minorticks_off()
            axes.set_xlabel("longest context (tokens)")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
        figure.savefig(path, metadata={"Software": None} if str(path).endswith("png") else None)


def _panel(axes: Axes, rows: Sequence[Row], kind: str, against: str | None) -> None:
    axes.axhline(100, color=BASELINE, linewidth=1)
    axes.set_xscale("log", base=2)
    for tuned, line in ((True, "-"), (False, ":")):
        for batch, points in percentages(rows, kind, tuned, against).items():
            colour, marker = MARKS.get(batch, ("#000000", "x"))
            label = f"batch {batch}, {'tuned by search' if tuned else 'hand-tuned'}"
            axes.plot([*points], [*points.values()], line, color=colour, marker=marker, label=label)
