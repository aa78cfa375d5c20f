"""Who owns which sticks: memory as rows of sticks, coloured and numbered by core."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spyrelab.errors import UsageError
from spyrelab.machine import SPYRE
from spyrelab.viz.picture import describe, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_owners", "sticks_of"]

NOBODY = -1


def sticks_of(owners: ArrayLike, lanes: int) -> NDArray[np.int64]:
    """Cut rows of elements into sticks: ``[rows, sticks, lanes]``, padded with -1 (nobody).

    Parameters
    ----------
    owners : int array [elements] or [rows, elements]
        The core that owns each element.
    lanes : int
        Elements of a stick.
    """
    grid = np.atleast_2d(np.asarray(owners, np.int64))
    if grid.ndim != 2 or grid.size == 0:
        raise UsageError(f"owners are a vector or a matrix, not an array of shape {grid.shape}")
    padding = -grid.shape[1] % lanes
    padded = np.pad(grid, ((0, 0), (0, padding)), constant_values=NOBODY)
    return padded.reshape(len(grid), -1, lanes)


def draw_owners(
    owners: ArrayLike,
    lanes: int = SPYRE.stick_elements(2),
    title: str = "",
    per_line: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """One cell per stick, with the number of the core that owns it; shared sticks are framed.

    Parameters
    ----------
    owners : int array [elements] or [rows, elements]
        The core that owns each element; -1 for nobody.
    lanes : int
        Elements of a stick (64 of two bytes).
    per_line : int, optional
        Sticks of a vector on one line of the drawing; default 16.
    """
    sticks = sticks_of(owners, lanes)
    is_vector = np.ndim(owners) < 2
    if is_vector:
        sticks = _fold(sticks[0], per_line or 16)
    lines, across = sticks.shape[:2]
    axes = axes or new_axes(min(10.0, 1.6 + 0.55 * across), 1.1 + 0.34 * lines)
    shared = _paint(axes, sticks)
    axes.set_xticks(range(across))
    axes.set_yticks(
        range(lines), [str(line * across if is_vector else line) for line in range(lines)]
    )
    axes.set_xlabel(f"stick ({lanes} elements each)")
    axes.set_ylabel("first stick" if is_vector else "row")
    axes.set_title(title, fontsize=11)
    axes.grid(False)
    axes.tick_params(length=0)
    return describe(axes, _in_words(sticks, title, shared))


def _fold(sticks: NDArray[np.int64], across: int) -> NDArray[np.int64]:
    """A long line of sticks as several lines."""
    across = min(across, len(sticks))
    missing = -len(sticks) % across
    padded = np.pad(sticks, ((0, missing), (0, 0)), constant_values=NOBODY)
    return padded.reshape(-1, across, sticks.shape[1])


def _paint(axes: Axes, sticks: NDArray[np.int64]) -> int:
    """Draw all sticks; how many belong to more than one core."""
    lines, across, _ = sticks.shape
    shared = 0
    for line in range(lines):
        for place in range(across):
            runs = _runs(sticks[line, place])
            for begin, end, core in runs:
                _paint_run(axes, line, place - 0.5 + begin, end - begin, core)
            owners = {core for _, _, core in runs if core != NOBODY}
            shared += len(owners) > 1
            _frame(axes, line, place, len(owners) > 1)
    axes.set_xlim(-0.55, across - 0.45)
    axes.set_ylim(lines - 0.45, -0.55)
    return shared


def _runs(stick: NDArray[np.int64]) -> list[tuple[float, float, int]]:
    """Neighbouring lanes of one owner: (begin, end, core), begin and end in sticks."""
    edges = [0, *(np.flatnonzero(np.diff(stick)) + 1).tolist(), len(stick)]
    pairs = pairwise(edges)
    return [(a / len(stick), b / len(stick), int(stick[a])) for a, b in pairs]


def _paint_run(axes: Axes, line: int, left: float, width: float, core: int) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    if core == NOBODY:
        return
    # Cividis is even in lightness and the same for every kind of colour vision; the number
    # in the cell, and not the colour, says which core it is.
    shade = (core % SPYRE.cores) / max(1, SPYRE.cores - 1)
    face = colormaps["cividis"](0.1 + 0.9 * shade)
    axes.add_patch(Rectangle((left, line - 0.5), width, 1, facecolor=face, edgecolor="none"))
    ink = "white" if shade < 0.55 else "black"
    size = 8 if width > 0.4 else 6
    if width > 0.2:
        axes.text(
            left + width / 2, line, str(core), ha="center", va="center", fontsize=size, color=ink
        )


def _frame(axes: Axes, line: int, place: int, shared: bool) -> None:
    from matplotlib.patches import Rectangle

    edge, width, order = ("#d55e00", 1.8, 3) if shared else ("white", 1.2, 2)
    size = 0.94 if shared else 1.0
    corner = (place - size / 2, line - size / 2)
    axes.add_patch(
        Rectangle(corner, size, size, facecolor="none", edgecolor=edge, lw=width, zorder=order)
    )


def _in_words(sticks: NDArray[np.int64], title: str, shared: int) -> str:
    used = np.unique(sticks[sticks != NOBODY])
    count = int((sticks != NOBODY).any(axis=-1).sum())
    cores = f"{len(used)} cores" if len(used) != 1 else "one core"
    text = f"{title or 'Owners'}: {count} sticks owned by {cores}, {int(used.min(initial=0))} to "
    text += f"{int(used.max(initial=0))}, numbered in each cell; "
    return text + (f"{shared} sticks are shared." if shared else "no stick is shared.")
