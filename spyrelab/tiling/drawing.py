"""Pictures of plans: who touches what, and what happens when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.cut import REPLICAS, Slicing
from spyrelab.tiling.loops import each
from spyrelab.tiling.planning import Bundle, Plan
from spyrelab.tiling.signature import is_product, signature_of
from spyrelab.viz.picture import describe, new_axes
from spyrelab.viz.style import BASELINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

__all__ = ["draw_boxes", "draw_plans", "draw_traffic"]

ORANGE, AMBER, GREEN, BLUE = "#d55e00", "#e69f00", "#009e73", "#0072b2"
GAP = 0.22
"""Between the operands of a product, relative to the longest side."""


# -- who touches what ----------------------------------------------------------------------------


class _Matrix(NamedTuple):
    """An operand of a product on the picture: symbol, corner and length down and across."""

    name: str
    down: tuple[str, float, float]
    across: tuple[str, float, float]


def draw_boxes(spec: OpSpec, core: int) -> Axes:
    """The operands of a product ``[M, K] @ [K, N]``, cut as its spec says.

    Each block is marked with the cores that touch it; those of ``core`` are coloured.
    """
    slicing = Slicing.of(spec)
    sizes = {symbol: float(extent) for symbol, (extent, _) in spec.iteration_space.items()}
    unit = 1 / max(sizes.values())
    length = {symbol: max(size * unit, 0.16) for symbol, size in sizes.items()}
    left, top = length["K"] + GAP, length["K"] + GAP
    k_down, k_across = ("K", 0.0, length["K"]), ("K", 0.0, length["K"])
    rows, columns = ("M", top, length["M"]), ("N", left, length["N"])
    matrices = (
        _Matrix("x", rows, k_across),
        _Matrix("w", k_down, columns),
        _Matrix("result", rows, columns),
    )
    wide, high = left + length["N"], top + length["M"]
    axes = new_axes(1.2 + 3.1 * wide, 0.5 + 3.1 * high, frame=False)
    for matrix, colour in zip(matrices, (BLUE, GREEN, ORANGE), strict=True):
        _draw_matrix(axes, slicing, matrix, core, colour)
    axes.set_xlim(-0.14, wide + 0.02)
    axes.set_ylim(high + 0.02, -0.1)
    return describe(axes, _in_words(slicing, core))


def _draw_matrix(axes: Axes, slicing: Slicing, matrix: _Matrix, core: int, colour: str) -> None:
    down, across = matrix.down, matrix.across
    for row in range(slicing.cuts[down[0]].parts):
        for column in range(slicing.cuts[across[0]].parts):
            cores = list(_touching(slicing, {down[0]: row, across[0]: column}))
            y, high = _stretch(slicing, down, row)
            x, wide = _stretch(slicing, across, column)
            mine = core in cores
            axes.add_patch(_block(x, y, wide, high, colour if mine else "#f4f4f4", mine))
            tall = high > 1.2 * wide
            axes.text(
                x + wide / 2, y + high / 2, _span(cores), ha="center", va="center", fontsize=7.5,
                color="white" if mine else "#555555", rotation=90 if tall else 0,
            )  # fmt: skip
    name = f"{matrix.name} [{down[0]}, {across[0]}]"
    axes.text(across[1], down[1] - 0.03, name, va="bottom", fontsize=9.5, fontweight="bold")


def _block(x: float, y: float, wide: float, high: float, colour: str, mine: bool) -> Rectangle:
    from matplotlib.patches import Rectangle as Block

    edge = "#333333" if mine else "#b8b8b8"
    return Block((x, y), wide, high, fc=colour, ec=edge, lw=1.2 if mine else 0.7, zorder=1 + mine)


def _stretch(slicing: Slicing, side: tuple[str, float, float], part: int) -> tuple[float, float]:
    """Where a part of a side begins on the picture, and how long it is."""
    symbol, corner, length = side
    cut = slicing.cuts[symbol]
    low, high = part * cut.piece, min((part + 1) * cut.piece, cut.extent)
    return corner + length * low / cut.extent, length * (high - low) / cut.extent


def _touching(slicing: Slicing, parts: Mapping[str, int]) -> Iterator[int]:
    for core in range(slicing.cores):
        at = {s: core // inner % count for s, (inner, count) in slicing.places.items()}
        if all(at.get(symbol, 0) == part for symbol, part in parts.items()):
            yield core


def _span(cores: Sequence[int]) -> str:
    """Numbers in short: ``0-3``, ``1, 9, 17, ...``."""
    if len(cores) == 1:
        return str(cores[0])
    steps = {b - a for a, b in pairwise(cores)}
    if steps == {1}:
        return f"{cores[0]}–{cores[-1]}"
    if len(cores) <= 2:
        return f"{cores[0]}, {cores[1]}"
    return f"{cores[0]}, {cores[1]} … {cores[-1]}"


def _in_words(slicing: Slicing, core: int) -> str:
    cut = ", ".join(f"{s} into {c.parts}" for s, c in slicing.cuts.items() if c.parts > 1)
    return (
        f"Three matrices, cut: {cut or 'nothing'}. Every block names the cores that touch it; the "
        f"blocks of core {core} are coloured."
    )


# -- what crosses the port ------------------------------------------------------------------------


def draw_traffic(bars: Mapping[str, Mapping[str, float]], unit: str, least: float = 0) -> Axes:
    """Groups of bars: for each label a value per stage; a line at the least that there can be."""
    names = list(next(iter(bars.values())))
    axes = new_axes(7.5, 3.0)
    colours = (BASELINE, "#56b4e9", BLUE, GREEN, AMBER)
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [group + (number - (len(names) - 1) / 2) * width for group in range(len(bars))]
        heights = [values[name] for values in bars.values()]
        drawn = axes.bar(places, heights, width * 0.92, color=colours[number], label=name)
        axes.bar_label(drawn, fmt="%.4g", fontsize=8, padding=1)
    axes.set_xticks(range(len(bars)), list(bars))
    axes.set_ylabel(unit)
    axes.grid(axis="x", visible=False)
    axes.tick_params(axis="x", length=0)
    if least:
        axes.axhline(least, color="#333333", lw=1, ls="--", zorder=3)
    axes.legend(
        ncols=len(names), loc="lower left", bbox_to_anchor=(-0.02, 1.0), fontsize=8.5, frameon=False
    )
    said = "; ".join(
        f"{label}: " + ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        for label, values in bars.items()
    )
    return describe(axes, f"Bars of {unit}. {said}.")


# -- what happens when ----------------------------------------------------------------------------


class _Bar(NamedTuple):
    spec: OpSpec
    start: float
    seconds: float


def draw_plans(plans: Mapping[str, Plan]) -> Axes:
    """Plans as lanes of operations over predicted time, with an arc for each tensor that stays.

    Inside a bundle the operations have the shares of its time that they take alone.
    """
    axes = new_axes(9.5, 0.75 + 1.15 * len(plans))
    longest = max(plan.seconds for plan in plans.values()) * 1e6
    for lane, plan in enumerate(plans.values()):
        bars = list(_bars(plan))
        _draw_launches(axes, plan, lane)
        for bar in bars:
            _draw_operation(axes, bar, lane, longest)
        _draw_arcs(axes, bars, lane)
        total = f" {plan.seconds * 1e6:.0f} µs"
        axes.text(plan.seconds * 1e6, lane, total, va="center", fontsize=9, fontweight="bold")
    axes.set_yticks(range(len(plans)), list(plans))
    axes.set_ylim(len(plans) - 0.55, -0.8)
    axes.set_xlim(0, longest * 1.09)
    axes.set_xlabel("predicted time (µs)")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    _legend(axes, {_colour(spec) for plan in plans.values() for spec, _ in each(plan.items)})
    said = "; ".join(
        f"{name}: {plan.seconds * 1e6:.0f} µs, launches: {len(plan.bundles)}, "
        f"tensors that stay on the cores: {len(plan.resident)}"
        for name, plan in plans.items()
    )
    return describe(axes, f"Timelines of plans, operation by operation. {said}.")


def _bars(plan: Plan) -> Iterator[_Bar]:
    costs = Costs()
    start = 0.0
    for bundle in plan.bundles:
        alone = _shares(bundle, costs)
        rest = bundle.seconds - costs.launch
        at = start + costs.launch
        for (spec, _), seconds in zip(each(bundle.items), alone, strict=True):
            took = rest * seconds / sum(alone)
            yield _Bar(spec, at, took)
            at += took
        start += bundle.seconds


def _shares(bundle: Bundle, costs: Costs) -> list[float]:
    return [costs.seconds(spec, turns or None) for spec, turns in each(bundle.items)]


def _draw_launches(axes: Axes, plan: Plan, lane: int) -> None:
    start, launch = 0.0, Costs().launch * 1e6
    for bundle in plan.bundles:
        axes.broken_barh([(start, launch)], (lane - 0.25, 0.5), color="#333333", lw=0)
        start += bundle.seconds * 1e6


def _draw_operation(axes: Axes, bar: _Bar, lane: int, longest: float) -> None:
    start, took = bar.start * 1e6, bar.seconds * 1e6
    colour = _colour(bar.spec)
    axes.broken_barh([(start, took)], (lane - 0.25, 0.5), fc=colour, ec="white", lw=0.8)
    cut = _split(bar.spec)
    share = took / longest
    if share > 0.022:
        text = f"{bar.spec.op}\n{cut}" if share > 0.011 * max(len(cut), len(bar.spec.op)) else ""
        sideways = not text
        axes.text(
            start + took / 2, lane, text or bar.spec.op, ha="center", va="center", fontsize=7.5,
            color="white" if colour != AMBER else "black", rotation=90 if sideways else 0,
        )  # fmt: skip


def _split(spec: OpSpec) -> str:
    parts = [f"{s}/{n}" for s, (_, n) in spec.iteration_space.items() if n > 1]
    copies = spec.op_info.get(REPLICAS, 1)
    return " ".join(parts) + (f" x{copies}" if copies > 1 else "")


def _draw_arcs(axes: Axes, bars: Sequence[_Bar], lane: int) -> None:
    from matplotlib.patches import FancyArrowPatch

    for number, bar in enumerate(bars):
        for arg in bar.spec.outputs:
            readers = [
                later
                for later in bars[number + 1 :]
                if any(a.name == arg.name for a in later.spec.inputs)
            ]
            for reader in readers if arg.lx_address is not None else ():
                ends = [((b.start + b.seconds / 2) * 1e6, lane - 0.25) for b in (bar, reader)]
                arc = FancyArrowPatch(
                    ends[0], ends[1], connectionstyle="arc3,rad=-0.35", arrowstyle="-|>",
                    mutation_scale=7, color=BLUE, lw=1.1, shrinkA=1, shrinkB=1,
                )  # fmt: skip
                axes.add_patch(arc)


def _colour(spec: OpSpec) -> str:
    if is_product(spec.op):
        return ORANGE
    found = signature_of(spec)
    return GREEN if found is not None and found.shared else AMBER


def _legend(axes: Axes, used: set[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = {"launch": "#333333", "product": ORANGE, "pointwise": AMBER, "over rows": GREEN}
    shown = {name: c for name, c in names.items() if c in used or name == "launch"}
    handles: list[object] = [Patch(color=colour, label=name) for name, colour in shown.items()]
    handles.append(Line2D([], [], color=BLUE, label="stays on the cores"))
    axes.legend(
        handles=handles, ncols=5, loc="lower left", bbox_to_anchor=(-0.02, 1.0), fontsize=8.5,
        handlelength=1.2, columnspacing=1.4, frameon=False,
    )  # fmt: skip
