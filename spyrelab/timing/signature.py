"""When two iterations ask the card for the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.timing.nodes import Loop, Node, Step

__all__ = ["signature"]


def signature(nodes: Sequence[Node]) -> tuple[Any, ...]:
    """A key that is equal for nodes of equal engines, times and counts (places may differ)."""
    return tuple(_of(node) for node in nodes)


def _of(node: Node) -> tuple[Any, ...]:
    if isinstance(node, Loop):
        return tuple((run.count, signature(run.body)) for run in node.runs)
    return _of_step(node)


def _of_step(step: Step) -> tuple[Any, ...]:
    counts = tuple((name, values.tobytes()) for name, values in sorted(step.counts.items()))
    return id(step.operation), step.engine, step.seconds.tobytes(), step.port_seconds, counts
