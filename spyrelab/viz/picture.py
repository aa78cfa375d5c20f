"""One picture: axes to draw on, a description for those who cannot see it, and its PNG."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any

from spyrelab.viz.style import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["describe", "description", "new_axes", "png", "show"]


def new_axes(width: float, height: float, *, frame: bool = True) -> Axes:
    """Axes on a figure of their own, in the project's style.

    Parameters
    ----------
    width, height : float
        Inches.
    frame : bool
        False for drawings, which have neither axes nor grid, and equal units both ways.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
    if not frame:
        axes.set_axis_off()
        axes.set_aspect("equal")
    return axes


def describe(axes: Axes, text: str) -> Axes:
    """Say in words what the axes show; `show` hands it on as the picture's alt text."""
    axes.set_label(text)
    return axes


def description(figure: Figure) -> str:
    """What a figure shows, in words: the descriptions of its axes."""
    labels = (str(axes.get_label()) for axes in figure.axes)
    return " ".join(text for text in labels if text and not text.startswith("_"))


def png(axes: Axes) -> bytes:
    """The figure that the axes belong to as a PNG: the same bytes for the same drawing.

    Drawings have few colours, so a palette of 256 keeps the file at a third of its size.
    """
    from PIL import Image

    drawn, packed = BytesIO(), BytesIO()
    with style():
        _figure(axes).savefig(drawn, format="png", facecolor="white")
    picture = Image.open(drawn).convert("RGB").quantize(256)
    picture.save(packed, format="png", optimize=True)
    return packed.getvalue()


def show(axes: Axes) -> None:
    """Show the figure in a notebook, with its description as alt text.

    The description is also what readers of plain text get instead of the picture.
    """
    from IPython import display

    notebook: Any = display  # its functions carry no types
    text = description(_figure(axes))
    bundle = {"image/png": b64encode(png(axes)).decode(), "text/plain": text}
    notebook.display(bundle, raw=True, metadata={"image/png": {"alt": text}})


def _figure(axes: Axes) -> Figure:
    figure: Any = axes.get_figure(root=True)
    return figure
