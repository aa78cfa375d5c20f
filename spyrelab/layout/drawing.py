"""Sticks of a tensor, coloured by host row: what a layout does, and what a transpose does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout.access import element_offsets
from spyrelab.layout.element import elements_per_stick
from spyrelab.layout.errors import LayoutError
from spyrelab.layout.sticks import sticks_of
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides
from spyrelab.viz.picture import describe, new_axes
from spyrelab.viz.style import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_sticks", "draw_turn", "host_indices"]

PADDING = -1
_EMPTY = "#eeeeee"
_MOST_STICKS = 1024
_FEW_STICKS = 24
"""Up to so many sticks are drawn as separate bars, with words in them."""


def host_indices(
    layout: SpyreTensorLayout, size: Sequence[int], dimension: int = 0
) -> NDArray[np.int64]:
    """The host index along ``dimension`` of each device element: ``[sticks, lanes]``.

    Padding is -1.
    """
    lanes = elements_per_stick(layout.dtype)
    places = element_offsets(layout, size, contiguous_strides(size))
    held = np.full(-(-layout.numel // lanes) * lanes, PADDING, np.int64)
    held[places.ravel()] = np.indices(tuple(size))[dimension].ravel() if len(size) else 0
    return held.reshape(-1, lanes)


def draw_sticks(
    layout: SpyreTensorLayout,
    size: Sequence[int],
    dimension: int = 0,
    title: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Device memory, one line per stick; each element has the colour of its host row.

    Parameters
    ----------
    dimension : int
        The host dimension whose index gives the colour: 0 for rows.

    Raises
    ------
    LayoutError
        The layout does not describe the tensor, or there are too many sticks to draw.
    """
    held = host_indices(layout, size, dimension)
    if len(held) > _MOST_STICKS:
        raise LayoutError(
            f"{len(held)} sticks are too many for a picture: take a tensor of at most"
            f" {_MOST_STICKS}"
        )
    few = len(held) <= _FEW_STICKS
    axes = axes or new_axes(6.0, 0.9 + (0.26 * len(held) if few else 3.4))
    extent = size[dimension] if len(size) else 1
    image = _paint(axes, held, extent)
    if few:
        _separate(axes, held, dimension)
    axes.set_xlabel(f"lane ({held.shape[1]} of {layout.dtype} in a stick of 128 bytes)")
    axes.set_ylabel("stick, in memory order")
    axes.set_title(title or f"device_size {list(layout.device_size)}, grey: padding", fontsize=10)
    bar = _figure(axes).colorbar(image, ax=axes, pad=0.02)
    bar.ax.set_label("_")  # the colour bar is described with its axes
    bar.set_label("host row" if dimension == 0 else f"host index of dimension {dimension}")
    return describe(axes, _in_words(layout, size, held, dimension))


def draw_turn(size: Sequence[int], dtype: str = "f16") -> Axes:
    """A matrix in its default layout, its transpose as a view, and restickified; the first axes.

    The view is the same memory: its sticks run along its rows' index, so that each holds one
    element of every row. Restickify gathers each row into sticks of its own again.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = size
    turned = SpyreTensorLayout.default((columns, rows), dtype, [1, 0])
    panels = [
        ("x: each stick holds one row", SpyreTensorLayout.default(size, dtype), tuple(size)),
        ("x.T as a view: the same bytes", turned, (columns, rows)),
        ("x.T restickified", SpyreTensorLayout.default((columns, rows), dtype), (columns, rows)),
    ]
    with style():
        figure: Any = Figure(figsize=(11.5, 4.2))
        FigureCanvasAgg(figure)
        drawn = figure.subplots(1, 3)
    for axes, (title, layout, shape) in zip(drawn, panels, strict=True):
        draw_sticks(layout, shape, 0, title, axes)
    first: Axes = drawn[0]
    return first


def _paint(axes: Axes, held: NDArray[np.int64], extent: int) -> Any:
    from matplotlib import colormaps

    # Cividis is even in lightness and the same for every kind of colour vision.
    colours = colormaps["cividis"].with_extremes(bad=_EMPTY)
    shown = np.ma.masked_equal(held, PADDING)
    image = axes.imshow(
        shown, cmap=colours, vmin=0, vmax=max(extent - 1, 1), aspect="auto", interpolation="nearest"
    )
    axes.grid(False)
    return image


def _separate(axes: Axes, held: NDArray[np.int64], dimension: int) -> None:
    """Lines between sticks, and in each stick what it holds."""
    top = max(int(held.max()), 1)
    word = "row" if dimension == 0 else "index"
    for stick, lanes in enumerate(held):
        axes.axhline(stick - 0.5, color="white", lw=2.5)
        used = np.unique(lanes[lanes != PADDING])
        if not len(used):
            continue
        text = f"{word} {used[0]}" if len(used) == 1 else f"{word}s {used[0]} to {used[-1]}"
        inside = np.flatnonzero(lanes != PADDING)
        beside = len(inside) < held.shape[1] // 4
        at = inside[-1] + 1.5 if beside else inside.mean()
        dark = not beside and lanes[int(inside.mean())] < 0.55 * top
        axes.text(
            at,
            stick,
            text,
            ha="left" if beside else "center",
            va="center",
            fontsize=8,
            color="white" if dark else "black",
        )
    axes.set_yticks(range(len(held)))


def _in_words(
    layout: SpyreTensorLayout, size: Sequence[int], held: NDArray[np.int64], dimension: int
) -> str:
    inside = held != PADDING
    kinds = [len(np.unique(line[mask])) for line, mask in zip(held, inside, strict=True)]
    most, least = max(kinds), min((kind for kind in kinds if kind), default=0)
    word = "row" if dimension == 0 else "index"
    word += ("s" if dimension == 0 else "es") if most > 1 else ""
    spread = f"{least}" if least == most else f"{least} to {most}"
    return (
        f"A tensor of size {list(size)} in {len(held)} sticks, {sticks_of(layout, tuple(size))}:"
        f" a stick holds elements of {spread} host {word};"
        f" {int((~inside).sum()):,} of {held.size:,} elements are padding."
    )


def _figure(axes: Axes) -> Any:
    return axes.get_figure(root=True)
