"""Bytes moved between the card and its memory, per version of a kernel, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from spyrelab.errors import UsageError
from spyrelab.viz.picture import describe, new_axes
from spyrelab.viz.style import BASELINE

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["Traffic", "draw_traffic"]

READ, WRITTEN = "#0072b2", "#e69f00"
MEGA = 1e6


class Traffic(Protocol):
    """What the drawing needs of a run's counters: bytes per core."""

    @property
    def ddr_read(self) -> NDArray[np.int64]: ...

    @property
    def ddr_write(self) -> NDArray[np.int64]: ...


def draw_traffic(
    versions: Mapping[str, Traffic], lower_bound: int | None = None, axes: Axes | None = None
) -> Axes:
    """One bar per version: bytes read and written in DDR, against the least there can be.

    Parameters
    ----------
    versions : mapping
        Name of the version to the counters of its run.
    lower_bound : int, optional
        Bytes that any version has to move.

    Raises
    ------
    UsageError
        No versions.
    """
    if not versions:
        raise UsageError("there is no version to draw")
    axes = axes or new_axes(7.5, 1.3 + 0.55 * len(versions))
    words = []
    for place, (name, counters) in enumerate(versions.items()):
        read, written = int(counters.ddr_read.sum()), int(counters.ddr_write.sum())
        _draw_bar(axes, place, read, written, first=place == 0)
        total = f"{(read + written) / MEGA:.1f} MB"
        times = _compare(read + written, lower_bound) if lower_bound else ""
        axes.text((read + written) / MEGA, place, f"  {total}{times}", va="center", fontsize=9)
        words.append(f"{name} {total}")
    if lower_bound:
        label = f"lower bound, {lower_bound / MEGA:.1f} MB"
        axes.axvline(lower_bound / MEGA, color="#444444", lw=1.5, ls="--", label=label)
    _dress(axes, list(versions))
    bound = f"; the least there can be is {lower_bound / MEGA:.1f} MB" if lower_bound else ""
    return describe(axes, f"Bars of DDR traffic per version: {', '.join(words)}{bound}.")


def _compare(moved: int, lower_bound: int) -> str:
    return ", the least" if moved == lower_bound else f", {moved / lower_bound:.3g} x the least"


def _draw_bar(axes: Axes, place: int, read: int, written: int, first: bool) -> None:
    names = ("read", "written") if first else (None, None)
    axes.barh(place, read / MEGA, 0.6, color=READ, label=names[0])
    axes.barh(
        place, written / MEGA, 0.6, left=read / MEGA, color=WRITTEN, hatch="//",
        edgecolor="white", lw=0, label=names[1],
    )  # fmt: skip


def _dress(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.35)
    axes.set_xlabel("bytes moved between DDR and the cores (MB)")
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(BASELINE)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9, frameon=False)
