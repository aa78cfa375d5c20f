"""The roofline with a program's point."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.timing import Estimate, Roofline
from spyrelab.viz.style import BASELINE, style

__all__ = ["draw_roofline"]


def draw_roofline(bound: Roofline, estimate: Estimate | None = None, ax: Any = None) -> Any:
    """Ceilings, and where the program stands: at its bound, and where it is predicted to be."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(6.5, 4.5))
        ridge = bound.peak_flops / bound.bandwidth
        here = bound.intensity or ridge / 10
        x = np.logspace(np.log10(min(here, ridge) / 10), np.log10(max(here, ridge) * 10), 200)
        ax.plot(x, np.minimum(bound.peak_flops, x * bound.bandwidth) / 1e12, color=BASELINE)
        ceiling = min(bound.peak_flops, here * bound.bandwidth) / 1e12
        ax.plot([here], [ceiling], "o", mfc="white", color=BASELINE, label="ceiling")
        if estimate is not None and bound.flops:
            reached = bound.flops / estimate.seconds / 1e12
            ax.plot([here], [reached], "o", color="#d55e00", label=f"predicted {reached:,.1f}")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
            axis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("operations per byte")
        ax.set_ylabel("TFLOP/s")
        ax.set_title(f"bound by {bound.bound}")
        ax.legend()
    return ax
