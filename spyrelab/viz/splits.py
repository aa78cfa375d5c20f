"""A heat map of the predicted time over the splits of a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.timing import split_times
from spyrelab.viz.style import style

__all__ = ["draw_splits"]


def draw_splits(
    b: int, m: int, n: int, k: int, ax: Any = None, lx_backend_fraction: float = 0.2
) -> Any:
    """Parts of m against parts of n; the rest of the cores cut k, then b. Returns the axes."""
    import matplotlib.pyplot as plt

    choices = split_times(b, m, n, k, lx_backend_fraction=lx_backend_fraction)
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
        image = ax.imshow(np.log10(grid), cmap="viridis_r", origin="lower")
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
        ax.set_title(f"predicted µs of {b}x{m}x{n}x{k}; colour is log scale")
        ax.grid(visible=False)
        ax.figure.colorbar(image, ax=ax, label="log10 µs")
    return ax
