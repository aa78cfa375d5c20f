"""Boxes that transfers touch over all iterations of the loops round them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spyrelab.timing.nodes import Access

__all__ = ["joined_hull", "stretch"]


def stretch(
    access: Access,
    turn: Any,
    count: Any,
    low: Sequence[dict[Any, np.ndarray]],
    high: Sequence[dict[Any, np.ndarray]],
) -> None:
    """Let a box that moves with a loop cover ``count`` iterations, a number or one per core."""
    busy = (access.highs > access.lows).all(axis=1)
    for axis, (down, up) in enumerate(zip(low, high, strict=True)):
        if turn in down:
            access.lows[:, axis] += np.where(busy, np.minimum(down.pop(turn), 0), 0) * (count - 1)
        if turn in up:
            access.highs[:, axis] += np.where(busy, np.maximum(up.pop(turn), 0), 0) * (count - 1)


def joined_hull(before: Access | None, access: Access) -> Access:
    """The boxes that two accesses touch together."""
    if before is None:
        return access
    fresh = (access.highs <= access.lows).any(axis=1, keepdims=True)
    empty = (before.highs <= before.lows).any(axis=1, keepdims=True)
    lows = np.where(empty, access.lows, np.minimum(before.lows, access.lows))
    highs = np.where(empty, access.highs, np.maximum(before.highs, access.highs))
    return replace(
        before,
        lows=np.where(fresh, before.lows, lows),
        highs=np.where(fresh, before.highs, highs),
        exact=before.exact and access.exact,
    )
