"""When two iterations ask the card for the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spyrelab.timing.nodes import Iterations, Loop, Node, Step

__all__ = ["same"]


def same(one: Sequence[Node], other: Sequence[Node]) -> bool:
    """Whether nodes have equal engines, times and counts (places may differ)."""
    return len(one) == len(other) and all(map(_alike, one, other))


def _alike(one: Node, other: Node) -> bool:
    if isinstance(one, Step) and isinstance(other, Step):
        return one is other or _same_step(one, other)
    if isinstance(one, Loop) and isinstance(other, Loop):
        return _same_runs(one.runs, other.runs)
    return False


def _same_runs(one: Sequence[Iterations], other: Sequence[Iterations]) -> bool:
    return len(one) == len(other) and all(
        a.count == b.count and same(a.body, b.body) and _same_runs(a.pattern, b.pattern)
        for a, b in zip(one, other, strict=True)
    )


def _same_step(one: Step, other: Step) -> bool:
    return (
        one.operation is other.operation
        and one.engine is other.engine
        and one.port_seconds == other.port_seconds
        and _same_bytes(one.seconds, other.seconds)
        and one.counts.keys() == other.counts.keys()
        and all(_same_bytes(one.counts[name], other.counts[name]) for name in one.counts)
    )


def _same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    return one is other or one.tobytes() == other.tobytes()
