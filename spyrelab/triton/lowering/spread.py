"""Tensors of a few axes over the axes of a larger tensor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from spyrelab.ktir.builder import Builder, Tensor
from spyrelab.ktir.ir import DenseElements, Operation, Region, Value
from spyrelab.ktir.types import INDEX, ScalarType, TensorType

__all__ = ["iota", "spread"]

_LONGEST_LIST = 1024
"""Beyond it an iota is computed: its text would grow too long."""
_MOST_AXES = 6
"""Beyond it neighbouring axes are joined: the emulator walks eight."""


def iota(b: Builder, extent: int, dtype: ScalarType, start: int = 0) -> Tensor:
    """``start``, ``start + 1``, ...: ``extent`` numbers."""
    kind = TensorType((extent,), dtype)
    if extent <= _LONGEST_LIST:
        numbers = DenseElements(kind, tuple(range(start, start + extent)))
        value = b.shared_constant(numbers, kind, f"iota_{extent}")
        return Tensor(b, value, None)
    place, made = Value(b.unique("at"), INDEX), Value(b.unique("number"), dtype)
    operations = [Operation("tensor.yield", (place if dtype == INDEX else made,))]
    if dtype != INDEX:
        operations.insert(0, Operation("arith.index_cast", (place,), (made,)))
    region = Region((place,), operations)
    made_tensor = b.tensor(b.emit("tensor.generate", [], [kind], {}, [region], "iota")[0])
    return made_tensor + start if start else made_tensor


def spread(b: Builder, source: Tensor, places: Sequence[int], shape: Sequence[int]) -> Tensor:
    """``source``, whose axis ``i`` is axis ``places[i]`` of ``shape``, repeated along the rest."""
    if list(places) != sorted(places):
        order = sorted(range(len(places)), key=lambda axis: places[axis])
        source, places = b.transpose(source, order), sorted(places)
    added = [axis for axis in range(len(shape)) if axis not in places]
    if not added:
        return source
    if len(shape) > _MOST_AXES:
        return _in_groups(b, source, set(places), shape)
    return b.broadcast(source, shape, added)


def _in_groups(b: Builder, source: Tensor, kept: set[int], shape: Sequence[int]) -> Tensor:
    """The same with neighbouring axes of one kind as one: sorting has an axis for every bit."""
    groups = [
        (is_kept, math.prod(shape[axis] for axis in axes))
        for is_kept, axes in itertools.groupby(range(len(shape)), key=lambda axis: axis in kept)
    ]
    core = b.reshape(source, [extent for is_kept, extent in groups if is_kept])
    added = [number for number, (is_kept, _) in enumerate(groups) if not is_kept]
    wide = b.broadcast(core, [extent for _, extent in groups], added)
    return b.reshape(wide, shape)
