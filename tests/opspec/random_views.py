"""Random views of random tensors, for property tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from spyrelab.layout import SpyreTensorLayout
from tests.opspec.host import Array, Host, Tensor

EXTENTS = st.one_of(st.integers(1, 8), st.sampled_from([1, 2, 63, 64, 65, 66, 100, 127, 129, 192]))
MOST_ELEMENTS = 8_000
FLOATS = ("f16", "f32")


@st.composite
def sizes(draw: Any, most: int = 3) -> tuple[int, ...]:
    """A shape with few elements."""
    size = tuple(draw(st.lists(EXTENTS, max_size=most)))
    while math.prod(size) > MOST_ELEMENTS:
        size = size[1:]
    return size


@dataclass(frozen=True)
class Plan:
    """A tensor to make, and the view of it to take."""

    dtype: str
    size: tuple[int, ...]
    layout: SpyreTensorLayout
    permutation: tuple[int, ...]
    index: tuple[slice, ...]
    expanded: tuple[int, ...]
    seed: int

    def values(self) -> Array:
        """What the tensor holds."""
        generator = np.random.default_rng(self.seed)
        low, high = (0, 2) if self.dtype == "i1" else (-9, 10)
        return generator.integers(low, high, self.size)

    def expected(self) -> Array:
        """What the view shows."""
        part = self.values().transpose(self.permutation)[self.index]
        return np.broadcast_to(part, self.expanded)

    def place(self, host: Host) -> Tensor:
        """The view, of a fresh tensor."""
        tensor = host.put(self.values(), self.dtype, self.layout)
        return tensor.transpose(*self.permutation)[self.index].expand(*self.expanded)


@st.composite
def views(draw: Any, size: tuple[int, ...], dtype: str, is_output: bool = False) -> Plan:
    """A view of ``size``: sliced, stepped, permuted, expanded, in any layout."""
    base, index = [], []
    for extent in size:
        most = 70 if math.prod((*base, *size[len(base) :])) < MOST_ELEMENTS else 1
        kind = draw(st.sampled_from(["whole", "whole", "slice", "step", "one"]))
        if kind == "slice":
            low, high = draw(st.integers(0, most)), draw(st.integers(0, most))
            base.append(low + extent + high)
            index.append(slice(low, low + extent))
        elif kind == "step":
            step, low = draw(st.integers(2, 3)), draw(st.integers(0, 4))
            base.append(low + extent * step)
            index.append(slice(low, low + (extent - 1) * step + 1, step))
        else:
            base.append(1 if kind == "one" and not is_output else extent)
            index.append(slice(None))
    permutation = tuple(draw(st.permutations(range(len(size)))))
    own = [0] * len(size)
    for axis, place in enumerate(permutation):
        own[place] = base[axis]
    return Plan(
        dtype,
        tuple(own),
        draw(_layouts(tuple(own), dtype)),
        permutation,
        tuple(index),
        size,
        draw(st.integers(0, 99)),
    )


def _layouts(size: tuple[int, ...], dtype: str) -> st.SearchStrategy[SpyreTensorLayout]:
    linear = st.just(SpyreTensorLayout.linear(size, dtype))
    if dtype not in FLOATS:
        return linear
    tiled = st.permutations(range(len(size))).map(
        lambda order: SpyreTensorLayout.default(size, dtype, order)
    )
    return st.one_of(tiled, tiled, linear, st.just(SpyreTensorLayout.sparse(size, dtype)))
