"""What of a loop's next iteration can begin before this one ends, and what overlapping costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spyrelab.timing.contraction import combine
from spyrelab.timing.nodes import Engine, Node, Step
from spyrelab.timing.transfers import Card

__all__ = ["fits_twice", "parted", "pressure"]


def parted(body: Sequence[Node]) -> tuple[list[Step], list[Node]]:
    """Loads of an iteration that can go ahead of the one before, and the rest."""
    if any(isinstance(n, Step) and n.fence for n in body):
        return [], list(body)
    ahead = [n for n in body if isinstance(n, Step) and n.engine is Engine.LOAD]
    kept = {id(node) for node in ahead}
    return ahead, [node for node in body if id(node) not in kept]


def fits_twice(card: Card, body: Sequence[Node]) -> bool:
    """Whether the back end's share of the scratchpad holds the next iteration's loads."""
    loads = [n for n in body if isinstance(n, Step) and n.engine is Engine.LOAD]
    total = sum(float(n.counts["ddr_read"].max()) for n in loads if "ddr_read" in n.counts)
    return total <= card.fraction * card.machine.lx_bytes


def pressure(card: Card, body: Sequence[Node]) -> tuple[float, float]:
    """Port seconds of an iteration, and how much its engines slow each other down."""
    steps = [n for n in body if isinstance(n, Step) and n.engine is not Engine.NONE]
    port = sum(step.port_seconds for step in steps)
    if len(steps) < sum(not isinstance(n, Step) or n.engine is not Engine.NONE for n in body):
        return port, 1.0
    busy: dict[Engine, list[np.ndarray]] = {}
    for step in steps:
        busy.setdefault(step.engine, []).append(step.seconds)
    sums = (np.maximum(np.array(seconds), 0.0).sum(axis=0) for seconds in busy.values())
    times = [port, *(float(array.max()) for array in sums)]
    largest = max(times, default=0.0)
    if largest <= 0:
        return port, 1.0
    together = float(combine([np.asarray(t) for t in times], card.constants.overlap_exponent))
    return port * together / largest, together / largest
