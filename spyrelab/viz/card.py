"""The card as a picture: cores and scratchpads, device memory, rings, and one core opened up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spyrelab.machine import SPYRE, Machine
from spyrelab.machine.units import format_quantity
from spyrelab.viz.picture import describe, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PARTS", "box", "draw_card", "draw_cores", "label"]

PARTS = {
    "core": "#f4f4f4",
    "lx": "#009e73",
    "ddr": "#0072b2",
    "data ring": "#d55e00",
    "partial-sum ring": "#e69f00",
    "pt": "#cc79a7",
    "sfp": "#56b4e9",
}
"""One colour per part of the card; every part is labelled as well."""

SIDE, STEP, LANE = 0.92, 1.06, 2.3
"""Side of a core, distance of neighbours, and height of the corridor between the two rows."""


def draw_card(machine: Machine = SPYRE, axes: Axes | None = None) -> Axes:
    """The cores along their rings, device memory beside them, and one core opened up."""
    axes = axes or new_axes(10, 4.25, frame=False)
    right = draw_cores(axes, machine)
    _draw_inside(axes, machine, right)
    axes.set_xlim(-5.7, right + 0.6)
    axes.set_ylim(-5.95, 2.7)
    lx = format_quantity(machine.lx_bytes, "bytes")
    return describe(
        axes,
        f"The card: {machine.cores} cores in two rows, each with its own scratchpad (LX) of {lx}; "
        "the data ring passes every core and the interface to device memory, the partial-sum "
        "rings pass the cores only. Below, one core opened up: two corelets, each with a matrix "
        "unit (PT) and a vector unit (SFP), share the scratchpad.",
    )


def draw_cores(axes: Axes, machine: Machine = SPYRE) -> float:
    """Two rows of cores, the rings between them, device memory at their left; the right edge."""
    columns = -(-machine.cores // 2)
    right = columns * STEP
    low = LANE / 2 + SIDE + 0.3
    box(axes, (-1.3, -low), (right + 1.6, 2 * low), "#fbfbfb", 0.3)
    for core in range(machine.cores):
        row, place = divmod(core, columns)
        column = place if row == 0 else columns - 1 - place
        edge = LANE / 2 if row == 0 else -LANE / 2 - SIDE
        _draw_core(axes, core, column * STEP, edge, below=row == 0)
    _draw_rings(axes, machine, right)
    _draw_memory(axes, machine)
    return right


def _draw_core(axes: Axes, core: int, left: float, low: float, below: bool) -> None:
    box(axes, (left, low), (SIDE, SIDE), PARTS["core"], 0.08)
    pad = low + (0.07 if below else SIDE - 0.37)
    box(axes, (left + 0.07, pad), (SIDE - 0.14, 0.3), PARTS["lx"], 0.03, edge="none")
    label(axes, left + SIDE / 2, pad + 0.14, "LX", 6, "white")
    label(axes, left + SIDE / 2, low + (0.64 if below else 0.28), str(core), 9)


def _draw_rings(axes: Axes, machine: Machine, right: float) -> None:
    columns = -(-machine.cores // 2)
    for column in range(columns):
        middle = column * STEP + SIDE / 2
        for side in (1, -1)[: 2 if columns + column < machine.cores else 1]:
            axes.plot([middle] * 2, [side * 0.75, side * LANE / 2], color="#444444", lw=0.9)
    box(axes, (-0.9, -0.72), (right + 0.84, 1.44), "white", 0.72, PARTS["data ring"], 3.2)
    for inset in (0.0, 0.12):
        corner, size = (0.1 + inset, -0.3 + inset), (right - 1.1 - 2 * inset, 0.6 - 2 * inset)
        box(axes, corner, size, "none", size[1] / 2, PARTS["partial-sum ring"], 1.5)
    label(
        axes,
        right / 2 - 0.5,
        0.51,
        f"data ring: {machine.data_ring_bytes_per_cycle} bytes per cycle each way",
    )
    wide = machine.partial_ring_bytes_per_cycle
    text = f"{machine.partial_ring_count} partial-sum rings, cores only: {wide} bytes per cycle"
    label(axes, right / 2 - 0.5, -0.52, text)


def _draw_memory(axes: Axes, machine: Machine) -> None:
    box(axes, (-5.6, -1.6), (2.5, 3.2), PARTS["ddr"], 0.15, edge="none")
    text = f"DDR\n{format_quantity(machine.ddr_bytes, 'bytes')}"
    label(axes, -4.35, 0, text, 12, "white")
    box(axes, (-1.15, -0.42), (0.5, 0.84), "white", 0.06, PARTS["ddr"], 1.6)
    arrow = {"arrowstyle": "<|-|>", "lw": 2.2, "color": PARTS["ddr"], "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (-1.15, 0), (-3.1, 0), arrowprops=arrow)
    peak = format_quantity(machine.ddr_peak_bytes_per_second, "bytes/s")
    label(axes, -2.2, -0.55, f"{peak}\nat most")


def _draw_inside(axes: Axes, machine: Machine, right: float) -> None:
    """One core, enlarged, below the two rows."""
    left, low, wide, high = 2.6, -5.8, right - 4.6, 2.75
    for corner in (left, left + wide):
        near = 2 * STEP if corner == left else 2 * STEP + SIDE
        edges = [-LANE / 2 - SIDE, low + high]
        axes.plot([near, corner], edges, color="#777777", lw=0.8, ls=":")
    box(axes, (left, low), (wide, high), PARTS["core"], 0.15)
    box(axes, (left + 0.2, low + 1.75), (wide - 0.4, 0.8), PARTS["lx"], 0.08, edge="none")
    size, rate = format_quantity(machine.lx_bytes, "bytes"), machine.lx_port_bytes_per_cycle
    text = f"LX: {size} of scratchpad that the program manages, {rate} bytes per cycle"
    label(axes, left + wide / 2, low + 2.14, text, 9, "white")
    gap = 0.2
    share = (wide - 0.4 + gap) / machine.corelets_per_core
    for corelet in range(machine.corelets_per_core):
        _draw_corelet(axes, machine, left + 0.2 + corelet * share, low + 0.2, share - gap)
    label(axes, left - 1.4, low + high / 2, "one core,\nopened up", 10)


def _draw_corelet(axes: Axes, machine: Machine, left: float, low: float, wide: float) -> None:
    box(axes, (left, low), (wide, 1.35), "white", 0.08)
    half = wide / 2 - 0.15
    box(axes, (left + 0.1, low + 0.1), (half, 0.8), PARTS["pt"], 0.06, edge="none")
    box(axes, (left + half + 0.2, low + 0.1), (half, 0.8), PARTS["sfp"], 0.06, edge="none")
    array = f"PT, {machine.pt_rows} x {machine.pt_columns}\nmatrix unit"
    label(axes, left + 0.1 + half / 2, low + 0.49, array)
    label(axes, left + 0.2 + half * 1.5, low + 0.49, "SFP\nvector unit")
    label(axes, left + wide / 2, low + 1.11, "corelet")


def label(
    axes: Axes, x: float, y: float, text: str, size: float = 8, colour: str = "black"
) -> None:
    """Text, centred at a point."""
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=colour)


def box(
    axes: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    colour: str,
    rounding: float,
    edge: str = "#444444",
    width: float = 1.0,
) -> None:
    """A rounded rectangle."""
    from matplotlib.patches import FancyBboxPatch

    shape: Any = f"round,pad=0,rounding_size={rounding}"
    axes.add_patch(
        FancyBboxPatch(corner, *size, boxstyle=shape, facecolor=colour, edgecolor=edge, lw=width)
    )
