"""A program's time in words: what bounds it, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spyrelab.timing.contraction import (
    Contraction,
    left_passes,
    right_passes,
    rows_per_pass,
)

if TYPE_CHECKING:
    from spyrelab.timing.result import Estimate

__all__ = ["explain"]

_NOTEWORTHY = 0.1
"""Shares below a tenth are not worth a sentence."""


def explain(estimate: Estimate) -> str:
    """Sentences on what an estimate is made of."""
    unit = estimate.bottleneck
    share = estimate.busy(unit) if unit != "launch" else 1.0
    lines = [
        f"@{estimate.name}: {estimate.seconds * 1e6:,.1f} us ({estimate.cycles:,} cycles) on "
        f"{estimate.card.cores} cores.",
        f"{share:.0%} of the time the {estimate.describe(unit)} is busy: that bounds it.",
    ]
    others = [
        f"{estimate.describe(name)} {estimate.busy(name):.0%}"
        for name in ("port", "load", "pt", "sfp", "lx", "ring", "sums")
        if name != unit and estimate.busy(name) >= _NOTEWORTHY
    ]
    if others:
        lines.append(f"Busy meanwhile: {', '.join(others)}.")
    lines.append(_traffic(estimate))
    if estimate.plan is not None:
        lines.extend(_product(estimate))
    elif unit in ("port", "load"):
        lines.append(
            "Larger tiles do not help a stream; fewer passes over memory do: keep what is used "
            "twice in the scratchpad, or fuse the kernels before and after."
        )
    return "\n".join(lines)


def _traffic(estimate: Estimate) -> str:
    asked = sum(
        int(estimate.counts[name].sum())
        for name in ("ddr_read", "ddr_write")
        if name in estimate.counts
    )
    crossed = estimate.port_bytes
    rate = crossed / estimate.seconds / 1e9
    return (
        f"Cores ask for {asked / 1e6:,.1f} MB; {crossed / 1e6:,.1f} MB cross the memory port, "
        f"{rate:,.0f} GB/s on average."
    )


def _product(estimate: Estimate) -> list[str]:
    plan = estimate.plan
    assert plan is not None
    work, (left, right) = plan.contraction, plan.names
    lines = []
    passes, again = int(right_passes(work)), int(left_passes(work, estimate.machine))
    if again > 1:
        lines.append(
            f"Operand {left} is read {again} times: a core's block of "
            f"{work.core_left_bytes / work.batch / 1e6:,.2f} MB does not fit {work.fraction:.0%} "
            "of the scratchpad; a larger share or more parts of m would help."
        )
    if passes > 1:
        lines.append(
            f"Operand {right} is read {passes} times: a core has {work.rows} rows, and one "
            f"reading serves {int(rows_per_pass(work.columns))}; more parts of m would help."
        )
    if estimate.bottleneck == "load" or work.right_sharers >= 16:
        lines.append(
            f"Each core takes in {work.core_right_bytes / 1e6:,.1f} MB of {right} itself "
            f"({work.right_sharers:.0f} cores share each block): a core's own rate is the "
            "limit, so more parts of n would help."
        )
    if work.partners > 1:
        where = "far apart, so their chains wait for each other" if work.distant else "near"
        lines.append(
            f"Sums of {work.partners} partners travel the partial-sum ring ({where}); the "
            f"matrix unit feeds them at a part of its rate."
        )
    if work.batched and float(plan.busy.port_spill) > _NOTEWORTHY * float(plan.busy.port):
        lines.append(
            f"{float(plan.busy.port_spill) / float(plan.busy.port):.0%} of the port's time are "
            f"sums that leave and come back: the back end has {work.fraction:.0%} of the "
            "scratchpad; a larger share would help."
        )
    lines.extend(_better(estimate, work))
    return lines


def _better(estimate: Estimate, work: Contraction) -> list[str]:
    from spyrelab.timing.errors import TimingError
    from spyrelab.timing.splits import best_split

    extents = whole_extents(work)
    try:
        best = best_split(
            *extents, lx_backend_fraction=float(work.fraction), machine=estimate.machine
        )
    except TimingError:
        return []
    if best.seconds > 0.97 * estimate.seconds:
        return ["No other split is predicted to be faster by more than 3 %."]
    split = " ".join(f"{axis}{part}" for axis, part in zip("bmnk", best.split, strict=True))
    return [f"The split {split} is predicted to take {best.seconds * 1e6:,.1f} us."]


def whole_extents(work: Contraction) -> tuple[int, int, int, int]:
    """Extents of the whole product, from one core's share and who shares what."""
    cores = float(work.cores)
    columns_parts = max(1.0, float(work.left_sharers))
    rows_parts = max(1.0, float(work.right_sharers))
    depth_parts = max(1, int(work.partners))
    batch_parts = max(1.0, cores / (columns_parts * rows_parts * depth_parts))
    return (
        round(work.batch * batch_parts),
        round(work.rows * rows_parts),
        round(work.columns * columns_parts),
        round(work.depth * depth_parts),
    )
