"""Draws overview.png, the picture in the README: ``python book/images/overview.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spyrelab.viz.card import box, draw_cores, label
from spyrelab.viz.picture import describe, new_axes, png

FRONT_ENDS = (
    ("KTIR by hand", "chapter 1"),
    ("Builder in Python", "chapter 1"),
    ("eager PyTorch", "chapters 3, 4"),
    ("torch.compile", "chapter 6"),
    ("Triton", "chapter 7"),
    ("Helion", "chapter 7"),
)

RESULTS = (
    ("values", "checked against a readable reference"),
    ("counters", "bytes, sticks, operations, scratchpad"),
    ("time", "predicted from the program: chapter 2"),
)

LEFT, RIGHT = -5.6, 17.3


def draw_overview() -> Any:
    """From what you write, through KTIR, to 32 emulated cores and what they tell."""
    axes = new_axes(10, 5.9, frame=False)
    draw_cores(axes)
    _row(axes, FRONT_ENDS, 6.55)
    _band(axes, 4.75, "KTIR: one language for every front end")
    _band(axes, 3.1, "lowered once to a program of tile instructions")
    _row(axes, RESULTS, -4.75)
    for count, high, low in ((6, 6.55, 5.75), (1, 4.75, 4.1), (1, 3.1, 2.4), (3, -2.4, -3.25)):
        _arrows(axes, count, high, low)
    axes.set_xlim(LEFT - 0.2, RIGHT + 0.2)
    axes.set_ylim(-4.95, 8.2)
    return describe(axes, "SpyreLab from front ends over KTIR to 32 emulated cores and results.")


def _row(axes: Any, entries: tuple[tuple[str, str], ...], low: float) -> None:
    step = (RIGHT - LEFT) / len(entries)
    for place, (name, remark) in enumerate(entries):
        left = LEFT + place * step + 0.15
        size = (step - 0.3, 1.5)
        box(axes, (left, low), size, "#e8f1f8", 0.15, edge="#0072b2", width=1.3)
        label(axes, left + step / 2 - 0.15, low + 1.0, name, 10)
        label(axes, left + step / 2 - 0.15, low + 0.45, remark, 7.5, "#555555")


def _band(axes: Any, low: float, text: str) -> None:
    box(axes, (LEFT + 0.15, low), (RIGHT - LEFT - 0.3, 1.0), "#0072b2", 0.15, edge="none")
    label(axes, (LEFT + RIGHT) / 2, low + 0.48, text, 11, "white")


def _arrows(axes: Any, count: int, high: float, low: float) -> None:
    step = (RIGHT - LEFT) / count
    for place in range(count):
        middle = LEFT + (place + 0.5) * step
        arrow = {"arrowstyle": "-|>", "lw": 1.6, "color": "#444444", "shrinkA": 1, "shrinkB": 1}
        axes.annotate("", (middle, low), (middle, high), arrowprops=arrow)


if __name__ == "__main__":
    Path(__file__).with_name("overview.png").write_bytes(png(draw_overview()))
