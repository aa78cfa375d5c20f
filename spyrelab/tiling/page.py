"""A plan as HTML for notebooks: its programs over time, their operations, and what stays in LX."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spyrelab.tiling.planning import Plan

__all__ = ["plan_html"]

HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")


def plan_html(plan: Plan) -> str:
    """Programs of a plan: operations, splits, and what stays in the scratchpads, and where."""
    rows = []
    for number, bundle in enumerate(plan.bundles):
        for spec in bundle.specs:
            split = ", ".join(
                f"{name} {extent}/{parts}" if parts > 1 else f"{name} {extent}"
                for name, (extent, parts) in spec.iteration_space.items()
            )
            stays = ", ".join(
                f"{arg.name} at {arg.lx_address:,}"
                for arg in spec.args
                if arg.lx_address is not None
            )
            cells = (f"{number}", spec.op, split, stays)
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    whole = plan.seconds or 1.0
    bars, x = [], 0.0
    for number, bundle in enumerate(plan.bundles):
        wide = 900 * bundle.seconds / whole
        words = f"program {number}: {bundle.seconds * 1e6:,.1f} µs, {bundle.port_bytes:,} B"
        bars.append(
            f"<rect x='{x:.1f}' y='0' width='{max(wide - 1, 0.5):.1f}' height='24'"
            f" fill='{HUES[number % len(HUES)]}'><title>{escape(words)}</title></rect>"
        )
        x += wide
    head = "".join(f"<th>{name}</th>" for name in ("program", "operation", "split", "in LX"))
    return (
        f"<div><p>{escape(plan.planner)} plan: {plan.seconds * 1e6:,.1f} µs,"
        f" {len(plan.bundles)} programs, {plan.port_bytes:,} B through the port</p>"
        f"<svg viewBox='0 0 900 24' width='100%' style='max-width:900px' role='img'"
        f" aria-label='programs over predicted time'>{''.join(bars)}</svg>"
        f"<table><tr>{head}</tr>{''.join(rows)}</table></div>"
    )
