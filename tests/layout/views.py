"""Random layouts and views of random tensors."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from spyrelab.layout import SpyreTensorLayout

FLOATS = ("f16", "bf16", "df16", "f32", "f8E4M3FN", "f8E5M2")
TYPES = (*FLOATS, "i1", "i8", "i16", "i32", "i64")
EXTENTS = (1, 2, 3, 5, 10, 63, 64, 65, 127, 128, 129)


@dataclass
class Sample:
    """A tensor with strides of its own inside a storage, and its layout."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    layout: SpyreTensorLayout
    storage: NDArray

    @property
    def array(self) -> NDArray:
        return self.view(self.size, self.stride, 0)

    def view(self, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> NDArray:
        steps = [step * self.storage.itemsize for step in stride]
        return as_strided(self.storage[offset:], size, steps)


def random_size(rng: random.Random) -> tuple[int, ...]:
    rank = rng.randint(0, 4)
    wide = rng.randrange(rank) if rank and rng.random() < 0.3 else rank - 1
    return tuple(rng.choice(EXTENTS) if d == wide else rng.randint(1, 6) for d in range(rank))


def dense_strides(size: tuple[int, ...], order: list[int]) -> tuple[int, ...]:
    """Strides of a dense tensor whose dimensions lie in ``order``, outermost first."""
    stride, step = [0] * len(size), 1
    for dimension in reversed(order):
        stride[dimension] = step
        step *= size[dimension]
    return tuple(stride)


def random_sample(rng: random.Random, types: tuple[str, ...] = TYPES) -> Sample:
    size = random_size(rng)
    memory, order = list(range(len(size))), list(range(len(size)))
    if rng.random() < 0.4:
        rng.shuffle(memory)
    rng.shuffle(order)
    stride, dtype = dense_strides(size, memory), rng.choice(types)
    layout = rng.choice(
        [
            SpyreTensorLayout.default(size, dtype, host_stride=stride),
            SpyreTensorLayout.default(size, dtype, order, stride),
            SpyreTensorLayout.sparse(size, dtype, stride),
            SpyreTensorLayout.linear(size, dtype, stride),
        ]
    )
    if rng.random() < 0.2:
        layout = layout.canonical()
    count = int(np.prod(size))
    storage = (np.arange(count) % 251 + 1).astype(f"u{layout.itemsize}")
    return Sample(size, stride, layout, storage)


def random_view(rng: random.Random, sample: Sample) -> tuple[list[int], list[int], int]:
    """Permutations, steps, slices, expansions, selections and splits of dimensions."""
    size, stride, offset = list(sample.size), list(sample.stride), 0
    for _ in range(rng.randint(1, 4)):
        if not size:
            break
        at, other, kind = rng.randrange(len(size)), rng.randrange(len(size)), rng.randrange(5)
        if kind == 0:
            size[at], size[other] = size[other], size[at]
            stride[at], stride[other] = stride[other], stride[at]
        elif kind == 1:
            low, step = rng.randrange(size[at]), rng.choice([1, 1, 2, 3, 64])
            high = rng.randint(low + 1, size[at])
            offset += low * stride[at]
            size[at], stride[at] = -(-(high - low) // step), stride[at] * step
        elif kind == 2:
            size.insert(at, rng.randint(1, 3))
            stride.insert(at, 0)
        elif kind == 3:
            offset += rng.randrange(size[at]) * stride[at]
            del size[at], stride[at]
        else:
            inner = rng.choice([n for n in range(1, size[at] + 1) if size[at] % n == 0])
            size[at : at + 1] = [size[at] // inner, inner]
            stride[at : at + 1] = [stride[at] * inner, stride[at]]
    return size, stride, offset


def random_strided(rng: random.Random, sample: Sample) -> tuple[list[int], list[int], int]:
    """Any ``as_strided`` inside the storage: diagonals, overlaps, steps, merged dimensions."""
    left = len(sample.storage) - 1
    offset = rng.randint(0, left)
    left -= offset
    size, stride = [], []
    for _ in range(rng.randint(0, 3)):
        step = rng.choice([0, 1, 1, 2, 3, 64, 65, *sample.stride, sum(sample.stride)])
        extent = rng.randint(1, min(left // step + 1, 140)) if step else rng.randint(1, 4)
        size.append(extent)
        stride.append(step)
        left -= (extent - 1) * step
    return size, stride, offset
