"""``out = x + y``: the first kernel of the book."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, element_type, random_array, zeros
from spyrelab.kernels.division import Split, positive, stick_elements
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.operands import operands
from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import Module

_TILE = 1 << 17
"""Elements: three f32 tiles of this size still fit the front end's share of a scratchpad."""


def vector_add(
    n: int,
    dtype: str = "f16",
    cores: int = 32,
    tile: int = _TILE,
    layouts: Layouts | None = None,
) -> Module:
    """``out[i] = x[i] + y[i]`` for ``n`` elements.

    Each core owns a run of whole sticks and walks it in tiles of at most ``tile`` elements.

    Arguments of the kernel: x, y, out, each ``[n]`` of ``dtype``.
    Bytes moved: ``3 * n * itemsize``.
    """
    positive(n=n, cores=cores, tile=tile)
    element = element_type(dtype)
    split = Split.of(n, cores, tile, stick_elements(element))
    b = Builder("vector_add", grid=(cores,))
    x, y, out = operands(b, dict.fromkeys(("x", "y", "out"), (n,)), element, layouts)
    with split.loop(b, b.compute_tile_id()) as first:
        left = x.load((first,), (split.tile,))
        right = y.load((first,), (split.tile,))
        out.store(left + right, (first,))
    return b.build()


def spec(x: Array, y: Array, **_: Any) -> Array:
    """The sum in float32."""
    return x + y


def arguments(n: int, dtype: str = "f16", seed: int = 0, **_: Any) -> dict[str, Array]:
    """Random x and y, and room for out."""
    rng = np.random.default_rng(seed)
    return {
        "x": random_array(rng, (n,), dtype),
        "y": random_array(rng, (n,), dtype),
        "out": zeros((n,), dtype),
    }


VECTOR_ADD = Kernel("vector_add", vector_add, spec, arguments)
