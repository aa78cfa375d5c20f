"""Host times as bars: one group per case, one colour per implementation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spyrelab.bench.attention_plot import draw_attention
from spyrelab.bench.results import Results, Row
from spyrelab.bench.table import format_seconds
from spyrelab.errors import UsageError
from spyrelab.viz.style import colour, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_results", "require_picture"]

BAR = 0.8


def require_picture(path: str | Path) -> None:
    """Raise UsageError for a kind of file that `draw_results` cannot write."""
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in kinds:
        raise UsageError(f"{path}: a picture's name ends in .png, .pdf or .svg")


def draw_results(results: Results, path: str | Path) -> None:
    """Write a picture of every timed row; see `require_picture` for the kinds.

    Rows about attention are drawn as percentages, without any others.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if any("bound_share" in row.extra for row in results.rows):
        draw_attention(results.rows, path)
        return
    rows = [row for row in results.rows if row.host_s]
    cases = list(dict.fromkeys(row.case for row in rows))
    with style():
        figure = Figure(figsize=(8.5, 1.6 + 0.24 * len(rows) + 0.16 * len(cases)))
        FigureCanvasAgg(figure)
        _draw(figure.add_subplot(), rows, cases, results)
        figure.savefig(path, metadata={"Software": None} if str(path).endswith("png") else None)


def _draw(axes: Axes, rows: list[Row], cases: list[str], results: Results) -> None:
    baseline = next((row.baseline for row in rows if row.baseline), None)
    implementations = list(dict.fromkeys(row.impl for row in rows))
    place, ticks = 0.0, []
    for case in cases:
        group = [row for row in rows if row.case == case]
        ticks.append(place + (len(group) - 1) / 2)
        for row in group:
            milliseconds = (row.host_s or 0) * 1e3
            axes.barh(place, milliseconds, BAR, color=colour(row.impl, baseline))
            text = f" {format_seconds(milliseconds / 1e3)}"
            axes.text(milliseconds, place, text, va="center", fontsize=8)
            place += 1
        place += 0.7
    axes.set_yticks(ticks, [_label(rows, case) for case in cases])
    axes.grid(False, axis="y")
    axes.set_xscale("log")
    if rows:
        times = [(row.host_s or 0) * 1e3 for row in rows]
        axes.set_xlim(min(times) / 3, max(times) * 6)
        axes.set_ylim(place - 0.9, -0.9)
    threads = results.environment.get("threads")
    axes.set_xlabel(f"host time of one launch (ms, log scale), {threads} CPU thread(s)")
    for name in implementations:
        axes.barh([0], [0], color=colour(name, baseline), label=_legend(name, baseline))
    if implementations:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(implementations))


def _label(rows: list[Row], case: str) -> str:
    reduced = any("reduced_from" in row.extra for row in rows if row.case == case)
    return f"{case}\n(reduced)" if reduced else case


def _legend(name: str, baseline: str | None) -> str:
    return f"{name} (baseline)" if name == baseline else name
