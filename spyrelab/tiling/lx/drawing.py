"""The scratchpad as a map: steps across, addresses up, a rectangle for every buffer kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spyrelab.tiling.lx.labels import Labels
from spyrelab.tiling.lx.problem import Buffer, Kind
from spyrelab.tiling.lx.solution import Solution
from spyrelab.viz.picture import describe, new_axes
from spyrelab.viz.style import BASELINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_map"]

KIB = 1024.0
SHADES = {
    Kind.INPUT: ("#9fd4f3", "#c3e4f8"),
    Kind.WEIGHT: ("#d9b8d0", "#ead6e4"),
    Kind.ACTIVATION: ("#8fd3bd", "#bfe6da"),
    Kind.STATISTIC: ("#f7c873", "#fbe0b0"),
    Kind.OUTPUT: ("#eda27a", "#f6cdb6"),
}
EDGES = {
    Kind.INPUT: "#0072b2",
    Kind.WEIGHT: "#9c4f86",
    Kind.ACTIVATION: "#00714f",
    Kind.STATISTIC: "#a86e00",
    Kind.OUTPUT: "#b04a00",
}
"""One hue per kind of tensor (Okabe and Ito's), two shades to tell neighbours apart."""

MOST_NAMED_STEPS = 40
ARROW = 0.18
"""Steps that an arrow reaches to either side."""


def draw_map(solution: Solution, *, title: str | None = None) -> Axes:
    """Which addresses of the scratchpad hold what, step by step.

    A buffer that takes the address of one that dies is joined to it by an arrow in the middle
    of the step they share.  What stays in DDR is listed below in grey, at the steps of its life.

    Parameters
    ----------
    solution : Solution
    title : str, optional
        The problem's name and method by default.
    """
    problem = solution.problem
    count = max([b.last + 1 for b in problem.buffers] + [len(problem.steps), 1])
    first = min([b.first for b in problem.buffers] + [0])
    rows = list(_rows(_left_out(solution)))
    depth = 1 + max((row for row, _ in rows), default=-1)
    high = 3.8 + 0.22 * depth + (1.1 if problem.steps else 0.4)
    axes = new_axes(min(max(0.5 * (count - first), 7.5), 15), high)
    room = problem.room / KIB
    strip = room * 0.055  # of address for one row of what stays in DDR
    _frame(axes, solution, first, count, depth * strip)
    labels = Labels(axes)
    taken = solution.in_place()
    for number, buffer in enumerate(sorted(solution.kept, key=lambda b: (b.first, b.name))):
        _draw_kept(axes, solution, buffer, number, taken, labels)
    for parent, child in taken:
        _arrow(axes, solution, parent, child)
    for row, buffer in rows:
        _draw_left(axes, buffer, -(row + 1.35) * strip, strip * 0.8, labels)
    _dress(axes, solution, title)
    labels.settle(room)
    if labels.unnamed:
        names = ", ".join(labels.unnamed)
        axes.set_xlabel(f"{axes.get_xlabel()}\ntoo thin to name: {names}", fontsize=9)
    return describe(axes, _words(solution))


def _words(solution: Solution) -> str:
    share = solution.avoided / max(solution.problem.total, 1)
    return (
        f"Map of a scratchpad of {solution.problem.room / KIB:.0f} KiB: {len(solution.kept)} of "
        f"{len(solution.problem.buffers)} buffers are kept by {solution.method}, "
        f"{len(solution.in_place())} of them in the place of another, up to "
        f"{solution.peak / KIB:.0f} KiB; that avoids {solution.avoided / KIB:.0f} KiB of DDR "
        f"traffic, {share:.0%} of what keeping everything would."
    )


def _left_out(solution: Solution) -> list[Buffer]:
    """What stays in DDR, without clones that a kept or a longer clone makes needless."""
    kept = solution.kept
    left = [b for b in solution.problem.buffers if b not in kept]
    needless = {
        b.name
        for b in left
        for other in solution.problem.buffers
        if b.clone_of is not None
        and b.clone_of == other.clone_of
        and b.meets(other)
        and (other in kept or other.steps > b.steps)
    }
    return [b for b in left if b.name not in needless]


def _rows(buffers: list[Buffer]) -> Iterator[tuple[int, Buffer]]:
    """Buffers in as few rows as their lives allow."""
    ends: list[int] = []
    for buffer in sorted(buffers, key=lambda b: (b.first, b.last)):
        row = next((r for r, end in enumerate(ends) if end < buffer.first), len(ends))
        ends[row:] = [buffer.last, *ends[row + 1 :]]
        yield row, buffer


def _draw_kept(
    axes: Axes,
    solution: Solution,
    buffer: Buffer,
    number: int,
    taken: tuple[tuple[Buffer, Buffer], ...],
    labels: Labels,
) -> None:
    inherits = any(child is buffer for _, child in taken)
    gives = any(parent is buffer for parent, _ in taken)
    left, right = buffer.first + 0.5 * inherits, buffer.last + 1.0 - 0.5 * gives
    low, high = solution.address(buffer) / KIB, buffer.size / KIB
    labels.rectangle(
        (left, low, right - left, high), buffer.name, _amount(buffer.size),
        (ARROW * inherits, ARROW * gives),
        facecolor=SHADES[buffer.kind][number % 2], edgecolor=EDGES[buffer.kind], lw=0.9,
    )  # fmt: skip


def _draw_left(axes: Axes, buffer: Buffer, low: float, high: float, labels: Labels) -> None:
    labels.rectangle(
        (float(buffer.first) + 0.04, low, buffer.steps - 0.08, high),
        buffer.name, _amount(buffer.size), facecolor="#ececec", edgecolor="#c4c4c4", lw=0.6,
    )  # fmt: skip


def _arrow(axes: Axes, solution: Solution, parent: Buffer, child: Buffer) -> None:
    middle = (solution.address(child) + child.size / 2) / KIB
    across = child.first + 0.5
    axes.annotate(
        "", (across + ARROW, middle), (across - ARROW, middle),
        arrowprops={"arrowstyle": "-|>", "color": "#222222", "lw": 1.3, "shrinkA": 0, "shrinkB": 0},
        zorder=5,
    )  # fmt: skip


def _frame(axes: Axes, solution: Solution, first: int, count: int, below: float) -> None:
    room = solution.problem.room / KIB
    axes.set_xlim(first, count)
    axes.set_ylim(-below - (room * 0.03 if below else 0), room * 1.07)
    axes.axhline(room, color="#333333", lw=1.4, ls="--", zorder=4)
    axes.annotate(
        f"capacity {_amount(solution.problem.room)}", (count, room), (-2, 2.5),
        textcoords="offset points", va="bottom", ha="right", fontsize=8, color="#333333",
    )  # fmt: skip
    if below:
        axes.axhline(0, color=BASELINE, lw=1)
        middle = -below / 2 - room * 0.015
        axes.text(
            -0.008, middle, "in DDR", transform=axes.get_yaxis_transform(),
            ha="right", va="center", fontsize=8, color="#666666",
        )  # fmt: skip


def _dress(axes: Axes, solution: Solution, title: str | None) -> None:
    problem = solution.problem
    names = problem.steps if len(problem.steps) <= MOST_NAMED_STEPS else ()
    if names:
        ticks = [step + 0.5 for step in range(len(names))]
        axes.set_xticks(ticks, names, rotation=45, ha="right", rotation_mode="anchor", fontsize=7.5)
    axes.set_xlabel("operation" if names else "step", fontsize=9)
    axes.set_ylabel("scratchpad address (KiB)")
    room = int(problem.room / KIB)
    apart = 1 << max((room // 7).bit_length(), 0)
    axes.set_yticks(range(0, room + 1, apart))
    axes.tick_params(axis="x", length=0)
    axes.grid(False)
    _head(axes, solution, title)
    _legend(axes, solution)


def _head(axes: Axes, solution: Solution, title: str | None) -> None:
    problem = solution.problem
    share = solution.avoided / max(problem.total, 1)
    proof = ", proven best" if solution.proven else ""
    head = title or ", ".join(part for part in (problem.name, solution.method) if part)
    said = f"{_amount(solution.avoided)} of DDR traffic avoided, {share:.1%} of all{proof}"
    axes.set_title(head, fontsize=10.5, loc="left", fontweight="bold", pad=21)
    axes.annotate(
        said, (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points",
        fontsize=8.5, color="#444444", va="bottom",
    )  # fmt: skip


def _legend(axes: Axes, solution: Solution) -> None:
    from matplotlib.patches import Patch

    kinds = [k for k in Kind if any(b.kind is k for b in solution.kept)]
    handles = [Patch(facecolor=SHADES[k][0], edgecolor=EDGES[k], label=k.value) for k in kinds]
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1, 1.0), ncols=len(handles) or 1,
        fontsize=8, frameon=False, borderaxespad=0, handlelength=1.2, columnspacing=1.4,
    )  # fmt: skip


def _amount(nbytes: int) -> str:
    kib = nbytes / KIB
    return f"{kib / KIB:.2f} MiB" if kib >= KIB else f"{kib:.4g} KiB"
