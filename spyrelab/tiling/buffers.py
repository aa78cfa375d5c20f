"""Tensors that stay on the cores: what each core holds, and whether that is what another needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout import contiguous_strides
from spyrelab.machine import SPYRE
from spyrelab.opspec import element_type
from spyrelab.opspec.spec import TensorArg
from spyrelab.tiling.cut import Slicing

__all__ = ["Buffer", "Held", "holding", "is_sparse"]


def is_sparse(arg: TensorArg) -> bool:
    """Whether every element of an operand stands alone in a stick."""
    return bool(arg.stride_map) and arg.stride_map[-1] == -1 and arg.device_size[-1] > 1


class Held(NamedTuple):
    """What cores hold of a tensor: ``boxes[core, device dimension] = (low, high)``."""

    boxes: NDArray[np.int64]

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the largest box."""
        sizes = self.boxes[:, :, 1] - self.boxes[:, :, 0]
        return tuple(int(n) for n in sizes.max(axis=0))

    def nbytes(self, itemsize: int) -> int:
        """Bytes of a core's scratchpad, in whole sticks."""
        stick = SPYRE.stick_bytes
        return -(-math.prod(self.extents) * itemsize // stick) * stick

    def apart(self, other: Held) -> NDArray[np.int64] | None:
        """``[cores, device dimensions]``: where in a core's box the box of another begins.

        None if a core lacks a part of it.
        """
        cores = len(other.boxes)
        if cores > len(self.boxes):
            return None
        mine = self.boxes[:cores]
        apart = other.boxes[:, :, 0] - mine[:, :, 0]
        if (apart < 0).any() or (other.boxes[:, :, 1] > mine[:, :, 1]).any():
            return None
        return apart

    def covers(self, other: Held) -> bool:
        """Whether every core finds in its box what another asks for."""
        return self.apart(other) is not None


def holding(slicing: Slicing, arg: TensorArg, whole: bool = True) -> Held:
    """What the cores touch of an operand."""
    boxes = slicing.box(arg, whole)
    if is_sparse(arg):
        boxes = boxes.copy()
        boxes[:, -1] = (0, arg.device_size[-1])
    return Held(boxes)


@dataclass(frozen=True)
class Buffer:
    """A tensor's place in every core's scratchpad."""

    name: str
    dtype: str
    address: int
    held: Held

    @property
    def itemsize(self) -> int:
        return element_type(self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        return self.held.nbytes(self.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements per step of each device dimension."""
        return contiguous_strides(self.held.extents)
