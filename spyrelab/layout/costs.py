"""What it costs to move a tensor from one layout to another."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from spyrelab.layout.errors import LayoutError
from spyrelab.layout.restickify import restickify
from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.timing import estimate

__all__ = ["Cost", "bytes_moved", "predicted_seconds"]

Cost = Callable[[tuple[int, ...], str, SpyreTensorLayout, SpyreTensorLayout], float]
"""Of converting a tensor: ``cost(size, dtype, source, target)``; infinite where impossible."""


@lru_cache(maxsize=1 << 14)
def predicted_seconds(
    size: tuple[int, ...], dtype: str, source: SpyreTensorLayout, target: SpyreTensorLayout
) -> float:
    """Predicted seconds of the restickify program, one launch of its own."""
    del dtype  # the layouts say it
    try:
        return estimate(restickify(size, source, target)).seconds
    except LayoutError:
        return math.inf


def bytes_moved(
    size: tuple[int, ...], dtype: str, source: SpyreTensorLayout, target: SpyreTensorLayout
) -> float:
    """Elements read and written, in bytes: a cost that knows nothing of sticks."""
    del dtype
    return float(math.prod(size) * (source.itemsize + target.itemsize))
