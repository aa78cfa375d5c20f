"""Names in and beside rectangles, only where they can be read and cover nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

__all__ = ["Labels"]

Rectangle = tuple[float, float, float, float]
"""Left, low, width and height in data units."""

MARGIN = 4.0
"""Pixels kept free beside a name, and above and below one of two lines."""

SIZES = (8.5, 7.5, 6.5, 5.5)


class Labels:
    """Rectangles on axes, and their names: inside if they fit, else above in free space."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.waiting: list[tuple[Rectangle, Rectangle, str, str]] = []
        self.unnamed: list[str] = []
        """What has no room for a name."""

    def rectangle(
        self, place: Rectangle, name: str, amount: str, clear: tuple[float, float] = (0, 0),
        **looks: Any,
    ) -> None:  # fmt: skip
        """Draw a rectangle now; its name comes when all are there.

        Parameters
        ----------
        place : tuple of float
            Left, low, width and height in data units.
        name, amount : str
            The amount is left out where there is no room.
        clear : tuple of float
            Data units to keep free on the left and on the right.
        """
        from matplotlib.patches import Rectangle as Patch

        left, low, width, height = place
        self.axes.add_patch(Patch((left, low), width, height, zorder=3, **looks))
        inner = (left + clear[0], low, width - sum(clear), height)
        self.waiting.append((place, inner, name, amount))

    def settle(self, *lines: float) -> None:
        """Write every name that finds room; none crosses a line across at these heights."""
        figure: Any = self.axes.get_figure(root=True)
        figure.draw_without_rendering()
        left, right = self.axes.get_xlim()
        taken = [self._box(place) for place, *_ in self.waiting]
        taken += [self._box((left, line, right - left, 0)) for line in lines]
        outside = [entry for entry in self.waiting if not self._inside(*entry[1:])]
        self.unnamed = [
            name for place, _, name, _ in outside if not self._above(place, name, taken)
        ]

    def _inside(self, place: Rectangle, name: str, amount: str) -> bool:
        box = self._box(place)
        left, low, width, height = place
        for size in SIZES:
            for text, turn in ((f"{name}\n{amount}", 0), (name, 0), (name, 90)):
                word = self.axes.text(
                    left + width / 2, low + height / 2, text, ha="center", va="center",
                    fontsize=size, rotation=turn, zorder=6, color="#111111", linespacing=1.05,
                )  # fmt: skip
                found, lines = word.get_window_extent(), text.count("\n")
                if (
                    found.width + MARGIN <= box.width
                    and found.height + lines * MARGIN <= box.height
                ):
                    return True
                word.remove()
        return False

    def _above(self, place: Rectangle, name: str, taken: list[Bbox]) -> bool:
        left, low, width, height = place
        for turn in (0, 90):
            word = self.axes.annotate(
                name, (left + width / 2, low + height), (0, 2), textcoords="offset points",
                ha="center", va="bottom", fontsize=6.5, rotation=turn, zorder=6, color="#333333",
            )  # fmt: skip
            found = word.get_window_extent()
            frame = self.axes.get_window_extent()
            if frame.x0 <= found.x0 and found.x1 <= frame.x1 and found.y1 <= frame.y1:
                mine = self._box(place)
                if not any(found.overlaps(b) for b in taken if b.bounds != mine.bounds):
                    taken.append(found)
                    return True
            word.remove()
        return False

    def _box(self, place: Rectangle) -> Bbox:
        from matplotlib.transforms import Bbox

        left, low, width, height = place
        corners = self.axes.transData.transform([(left, low), (left + width, low + height)])
        return Bbox(corners)
