"""The timeline of an estimate: a lane per core and engine."""

from __future__ import annotations

from typing import Any

from spyrelab.timing import Estimate
from spyrelab.timing.nodes import Engine
from spyrelab.viz.events import engine_events
from spyrelab.viz.style import style

__all__ = ["ENGINE_COLOURS", "draw_timeline"]

# Okabe and Ito's palette, as in the style module.
ENGINE_COLOURS = {
    Engine.LOAD: "#0072b2",
    Engine.STORE: "#56b4e9",
    Engine.PT: "#d55e00",
    Engine.SFP: "#e69f00",
    Engine.MOVE: "#f0e442",
    Engine.RING: "#009e73",
    Engine.SUMS: "#cc79a7",
}
"""One colour per engine throughout the book."""


def draw_timeline(estimate: Estimate, ax: Any = None, cores: int = 4) -> Any:
    """Draw the first ``cores`` cores; returns the axes.

    The middle of a long loop is one pale bar.
    """
    import matplotlib.pyplot as plt

    events = engine_events(estimate, cores)
    lanes = list(dict.fromkeys((event.core, event.engine) for event in events))
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(9, 0.6 + 0.24 * len(lanes)))
        for height, lane in enumerate(lanes):
            mine = [e for e in events if (e.core, e.engine) == lane]
            for pale in (False, True):
                bars = [e for e in mine if (e.times > 1) is pale]
                spans = [(e.start * 1e6, (e.end - e.start) * 1e6) for e in bars]
                colour = ENGINE_COLOURS[lane[1]]
                if spans:
                    alpha = 0.45 if pale else 1.0
                    ax.broken_barh(spans, (height - 0.4, 0.8), color=colour, alpha=alpha, lw=0)
        ax.set_yticks(range(len(lanes)), [f"{core} {engine.value}" for core, engine in lanes])
        ax.invert_yaxis()
        ax.set_xlim(0, estimate.seconds * 1e6)
        ax.set_xlabel("time (µs)")
        ax.set_ylabel("core and engine")
        ax.set_title(f"@{estimate.name}: {estimate.seconds * 1e6:,.1f} µs")
        ax.grid(axis="y", visible=False)
    return ax
