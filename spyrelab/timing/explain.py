"""A program's time in words: what bounds it, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spyrelab.ktir.types import SCALARS
from spyrelab.machine import Machine
from spyrelab.timing.contraction import (
    Contraction,
    left_passes,
    right_passes,
    rows_per_pass,
)

if TYPE_CHECKING:
    from spyrelab.timing.result import Estimate

__all__ = ["explain"]

_BOUND = 0.6
"""A unit that is idle for longer does not bound a program by itself."""

_NOTEWORTHY = 0.1
"""Shares below a tenth are not worth a sentence."""


def explain(estimate: Estimate) -> str:
    """Sentences on what an estimate is made of."""
    unit = estimate.bottleneck
    cores = f"{estimate.card.cores} core{'s' if estimate.card.cores > 1 else ''}"
    lines = [
        f"@{estimate.name}: {estimate.seconds * 1e6:,.1f} us ({estimate.cycles:,} cycles) on "
        f"{cores}.",
        _bound(estimate, unit),
    ]
    others = [
        f"{estimate.describe(name)} {estimate.busy(name):.0%}"
        for name in ("port", "load", "store", "pt", "sfp", "lx", "ring", "sums")
        if name != unit and estimate.busy(name) >= _NOTEWORTHY
    ]
    if others:
        lines.append(f"Busy meanwhile: {', '.join(others)}.")
    lines.append(_traffic(estimate))
    if estimate.inexact:
        lines.append(f"Counts may be off: {estimate.inexact[0]}.")
    if estimate.lx_overflow is not None:
        lines.append(f"The program does not fit the scratchpad: {estimate.lx_overflow}")
    if estimate.plan is not None:
        lines.extend(_product(estimate))
    elif unit == "turns":
        lines.append("Larger tiles would help: fewer turns for the same work.")
    elif unit in ("port", "load") and estimate.busy(unit) >= _BOUND:
        lines.append(
            "Larger tiles do not help a stream; fewer passes over memory do: keep what is used "
            "twice in the scratchpad, or fuse the kernels before and after."
        )
    return "\n".join(lines)


def _bound(estimate: Estimate, unit: str) -> str:
    share, said = estimate.busy(unit), estimate.describe(unit)
    if unit == "launch" or (unit == "turns" and share >= _BOUND):
        return f"{share:.0%} of the time goes to the {said}: that bounds it."
    if share >= _BOUND:
        return f"The {said} bounds it: {share:.0%} of the time it is busy."
    return (
        f"Nothing takes most of the time; the {said} takes {share:.0%}. The rest is "
        "waiting: for the launch, for the first tiles and for each other."
    )


def _traffic(estimate: Estimate) -> str:
    asked = sum(
        int(estimate.counts[name].sum())
        for name in ("ddr_read", "ddr_write")
        if name in estimate.counts
    )
    crossed = estimate.port_bytes
    rate = crossed / estimate.seconds / 1e9
    return (
        f"Cores ask for {_size(asked)}; {_size(crossed)} cross the memory port, "
        f"{rate:,.3g} GB/s on average."
    )


def _size(nbytes: float) -> str:
    for unit, factor in (("MB", 1e6), ("KB", 1e3)):
        if nbytes >= 0.1 * factor:
            return f"{nbytes / factor:,.1f} {unit}"
    return f"{nbytes:,.0f} B"


def _product(estimate: Estimate) -> list[str]:
    plan = estimate.plan
    assert plan is not None
    work, (left, right) = plan.contraction, plan.names
    lines = []
    passes, again = int(right_passes(work)), int(left_passes(work, estimate.machine))
    cores = float(work.cores)
    more_m = work.right_sharers < cores and work.rows > 1
    more_n = work.left_sharers < cores and work.columns > 1
    of_m = "; more parts of m would help" if more_m else ""
    if again > 1:
        lines.append(
            f"Operand {left} is read {again} times: a core's block of "
            f"{work.core_left_bytes / work.batch / 1e6:,.2f} MB does not fit {work.fraction:.0%} "
            f"of the scratchpad; a larger share would help{of_m.replace('; more', ', and more')}."
        )
    if passes > 1:
        lines.append(
            f"Operand {right} is read {passes} times: a core has {work.rows} rows, and one "
            f"reading serves {int(rows_per_pass(work.columns))}{of_m}."
        )
    if estimate.bottleneck == "load":
        help_ = ", so more parts of n would help" if more_n else ""
        lines.append(
            f"Each core takes in {work.core_right_bytes / 1e6:,.1f} MB of {right} itself "
            f"({work.right_sharers:.0f} cores share each block): a core's own rate is the "
            f"limit{help_}."
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
    from spyrelab.timing.splits import best_split, scheduled_seconds

    machine, constants = estimate.machine, estimate.card.constants
    cores, dtype = int(work.cores), _dtype(work, machine)
    if dtype is None:
        return ["No rate of the matrix unit is known for this type, so splits are not compared."]
    try:
        best = best_split(
            *whole_extents(work), dtype, float(work.fraction), cores, machine, constants
        )
    except TimingError:
        return []
    alone = float(scheduled_seconds(work, machine, constants))
    whole = "" if cores == machine.cores else f" over {cores} core{'s' if cores > 1 else ''}"
    if best.seconds > 0.97 * alone:
        return [f"No other split{whole} is predicted to be faster by more than 3 %."]
    split = " ".join(f"{axis}{part}" for axis, part in zip("bmnk", best.split, strict=True))
    product = "" if estimate.seconds < 1.1 * alone else " for the product alone"
    return [
        f"The split {split}{whole} is predicted to take {best.seconds * 1e6:,.1f} us{product}, "
        f"this one {alone * 1e6:,.1f} us."
    ]


def _dtype(work: Contraction, machine: Machine) -> str | None:
    """A type of the work's rate and size of elements."""
    return next(
        (
            name
            for name, rate in machine.macs_per_cycle.items()
            if name in SCALARS
            and rate == work.macs_per_cycle
            and min(SCALARS[name].itemsize, 2) == work.itemsize
        ),
        None,
    )


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
