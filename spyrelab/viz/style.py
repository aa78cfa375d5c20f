"""How figures look: one colour per implementation throughout, legible without colour vision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["BASELINE", "COLOURS", "colour", "style"]

BASELINE = "#8c8c8c"
"""Grey: what the others are compared with."""

# Okabe and Ito's palette (2008), told apart with every common kind of colour blindness.
COLOURS = {
    "torch": BASELINE,
    "vm": "#0072b2",
    "reference": "#e69f00",
    "null": "#56b4e9",
    "spyre": "#009e73",
    "inductor": "#cc79a7",
    "triton": "#d55e00",
    "helion": "#f0e442",
}
"""One colour per engine or implementation."""

_SPARE = ("#56b4e9", "#f0e442", "#000000")

_SETTINGS: dict[str, Any] = {
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "legend.frameon": False,
}


def colour(name: str, baseline: str | None = None) -> str:
    """The colour of an implementation; the baseline is always grey.

    An implementation that would be grey and is not the baseline, or is unknown, takes a
    colour that no other has.
    """
    if name == baseline:
        return BASELINE
    known = COLOURS.get(name)
    if known is None or (known == BASELINE and baseline is not None):
        return _SPARE[sum(map(ord, name)) % len(_SPARE)]
    return known


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block in the project's style, on no screen."""
    import matplotlib as mpl

    settings: Any = _SETTINGS
    with mpl.rc_context(settings):
        yield
