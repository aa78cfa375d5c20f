"""Tensors whose axes are in another order than wanted; products take them as they are."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.builder import Tensor
from spyrelab.triton.lowering.builder import KernelBuilder
from spyrelab.triton.lowering.deferred import Deferred

__all__ = ["Turned"]


class Turned(Deferred):
    """Axis ``i`` of this is axis ``order[i]`` of ``source``."""

    def __init__(self, b: KernelBuilder, source: Tensor, order: Sequence[int]) -> None:
        self.source = source
        self.order = tuple(order)
        shape = tuple(source.shape[axis] or 0 for axis in order)
        super().__init__(b, shape, source.dtype, lambda: b.transpose(source, self.order))

    @property
    def swaps_last_two(self) -> bool:
        """Whether only the last two axes have changed places."""
        rank = len(self.order)
        return self.order == (*range(rank - 2), rank - 1, rank - 2)
