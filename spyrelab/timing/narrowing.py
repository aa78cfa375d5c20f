"""The steps of an iteration for some of its cores: those that have not left the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.timing.nodes import Engine, Node, Step

__all__ = ["narrowed"]


def narrowed(body: Sequence[Node], masks: np.ndarray) -> list[tuple[Node, ...]]:
    """The body for every mask of ``masks`` [number, cores]."""
    columns = [_narrow(node, masks) for node in body if isinstance(node, Step)]
    assert len(columns) == len(body)
    if not columns:
        return [()] * len(masks)
    return [tuple(step for step in row if step is not None) for row in zip(*columns, strict=True)]


def _narrow(step: Step, masks: np.ndarray) -> Sequence[Step | None]:
    """A step for every mask; None where nobody takes part."""
    if step.engine is Engine.NONE and not step.counts:
        return [step] * len(masks)
    if step.narrow is not None:
        return [step.narrow(mask, step) for mask in masks]
    seconds = step.seconds
    taken: Any  # which masks leave somebody
    if step.engine is not Engine.NONE:
        seconds = np.where(masks, seconds, -1.0)
        taken = (seconds >= 0).any(axis=1)
    else:
        seconds = np.broadcast_to(seconds, masks.shape)
        some = [np.where(masks, n, 0).any(axis=1) for n in step.counts.values()]
        taken = np.array(some).any(axis=0)
    counts = {name: np.where(masks, n, 0) for name, n in step.counts.items()}
    found: list[Step | None] = []
    for row in range(len(masks)):
        mine = {name: values[row] for name, values in counts.items()}
        found.append(step.changed(seconds=seconds[row], counts=mine) if taken[row] else None)
    return found
