"""A heat map of the predicted time over the splits of a product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.timing import SplitChoice, split_times
from spyrelab.viz.picture import describe
from spyrelab.viz.style import style

__all__ = ["draw_splits"]


def draw_splits(
    b: int,
    m: int,
    n: int,
    k: int,
    ax: Any = None,
    lx_backend_fraction: float = 0.2,
    cores: int | None = None,
) -> Any:
    """Parts of m against parts of n; the rest of the cores cut k, then b. Returns the axes."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    choices = split_times(b, m, n, k, lx_backend_fraction=lx_backend_fraction, cores=cores)
    rows = sorted({c.split[1] for c in choices})
    columns = sorted({c.split[2] for c in choices})
    grid = np.full((len(rows), len(columns)), np.nan)
    best: dict[tuple[int, int], Any] = {}
    for choice in reversed(choices):
        place = rows.index(choice.split[1]), columns.index(choice.split[2])
        best[place] = choice
        grid[place] = choice.seconds * 1e6
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(6.5, 5))
        image = ax.imshow(grid, norm=LogNorm(), cmap="viridis_r", origin="lower")
        for (row, column), choice in best.items():
            rest = "".join(
                f" {axis}{part}"
                for axis, part in (("k", choice.split[3]), ("b", choice.split[0]))
                if part > 1
            )
            ax.text(
                column,
                row,
                f"{choice.seconds * 1e6:,.0f}{rest}",
                ha="center",
                va="center",
                color="white" if choice is choices[0] else "black",
                fontsize=8,
                bbox={"boxstyle": "round", "fc": "#d55e00" if choice is choices[0] else "white"},
            )
        ax.set_xticks(range(len(columns)), [str(c) for c in columns])
        ax.set_yticks(range(len(rows)), [str(r) for r in rows])
        ax.set_xlabel("parts of n")
        ax.set_ylabel("parts of m")
        ax.set_title(f"predicted µs of {b}x{m}x{n}x{k}")
        ax.grid(visible=False)
        _draw_colours(image, ax, grid)
    return describe(ax, _in_words((b, m, n, k), choices))


def _draw_colours(image: Any, ax: Any, grid: np.ndarray) -> None:
    """A bar that says which colour is which time."""
    from matplotlib.ticker import MaxNLocator

    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    ticks = [t for t in MaxNLocator(6).tick_values(low, high) if low <= t <= high] or [low]
    bar = ax.figure.colorbar(image, ax=ax, label="predicted time (µs), logarithmic")
    bar.minorticks_off()
    bar.set_ticks(ticks, labels=[f"{tick:,.0f}" for tick in ticks])
    bar.ax.set_label("")  # the description of the picture speaks for the bar too


def _in_words(extents: tuple[int, int, int, int], choices: Sequence[SplitChoice]) -> str:
    b, m, n, k = extents
    named = (_named(choice) for choice in (choices[0], choices[-1]))
    return (
        f"Heat map of the predicted time of {b}x{m}x{n}x{k} over parts of m and parts of n; the"
        f" cores that remain cut k, then b. Fastest is {next(named)}, slowest {next(named)}."
    )


def _named(choice: SplitChoice) -> str:
    parts = "".join(f"{a}{p}" for a, p in zip("bmnk", choice.split, strict=True) if p > 1)
    return f"{parts or 'one core'} with {choice.seconds * 1e6:,.0f} µs"
