"""A layout as HTML for notebooks: its sticks in the order of memory."""

from __future__ import annotations

from html import escape
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spyrelab.layout.tensor_layout import SpyreTensorLayout

__all__ = ["layout_html"]

HUES = ("#0072b2", "#a36a00", "#00755a", "#a8558a", "#2f7fb0", "#b84e00")
"""Dark enough for white numbers."""

PER_LINE, MOST_STICKS = 32, 256


def layout_html(layout: SpyreTensorLayout) -> str:
    """Sticks in the order of memory; each says which elements of the tensor it holds.

    One hue for each step along the outermost device dimension.
    """
    *outer, lanes = layout.device_size
    count = prod(outer)
    shown = min(count, MOST_STICKS)
    cells = []
    for number in range(shown):
        place: list[int] = []
        left = number
        for size in reversed(outer):
            place.insert(0, left % size)
            left //= size
        at = [(c, s) for c, s in zip(place, layout.stride_map, strict=False)]
        first = sum(c * max(s, 0) for c, s in at)
        step = layout.stride_map[-1]
        words = f"stick {number}: device coordinates {place}, host elements from {first}"
        words += f" in steps of {step}, {lanes} lanes" if step > 0 else f", {lanes} lanes"
        x, y = number % PER_LINE * 27, number // PER_LINE * 22
        hue = HUES[place[0] % len(HUES)] if place else HUES[0]
        cells.append(
            f"<g><title>{escape(words)}</title><rect x='{x}' y='{y}' width='25' height='20'"
            f" fill='{hue}'/><text x='{x + 12}' y='{y + 14}' text-anchor='middle' fill='white'>"
            f"{first}</text></g>"
        )
    height = (shown + PER_LINE - 1) // PER_LINE * 22 or 1
    more = f" The first {shown:,} of {count:,} are drawn." if count > shown else ""
    return (
        f"<div><p><code>{escape(repr(layout))}</code><br>{count:,} sticks of {lanes} lanes; the"
        f" number is the first element of the host's that lies in a stick.{more}</p>"
        f"<svg viewBox='0 0 {PER_LINE * 27} {height}' style='max-width:{PER_LINE * 27}px'"
        f" width='100%' font-size='9' font-family='sans-serif' role='img'"
        f" aria-label='{count} sticks'>{''.join(cells)}</svg></div>"
    )
