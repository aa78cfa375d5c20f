"""The transpose of a matrix, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, element_type, random_array, zeros
from spyrelab.kernels.division import Split, ceil_div, positive, steps, stick_elements
from spyrelab.kernels.kernel import Kernel
from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import Module


def transpose(rows: int, cols: int, dtype: str = "f16", cores: int = 32) -> Module:
    """``out[c, r] = x[r, c]``.

    Each core owns a run of rows, in whole sticks, and turns tiles of two sticks square.

    Arguments of the kernel: x ``[rows, cols]``, out ``[cols, rows]``.
    Bytes moved: ``2 * rows * cols * itemsize``.
    """
    positive(rows=rows, cols=cols, cores=cores)
    element = element_type(dtype)
    stick = stick_elements(element)
    split = Split.of(rows, cores, 2 * stick, min(stick, ceil_div(rows, cores)))
    width = min(cols, 2 * stick)
    b = Builder("transpose", grid=(cores,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=element)
    out = b.view(out_at, sizes=(cols, rows), dtype=element)
    with (
        split.loop(b, b.compute_tile_id(), "row") as row,
        steps(b, b.constant(0), width, ceil_div(cols, width), cols, "col") as col,
    ):
        b.store(b.transpose(b.load(x[row, col], shape=(split.tile, width))), out[col, row])
    return b.build()


def spec(x: Array, **_: Any) -> Array:
    """NumPy's transpose."""
    return np.ascontiguousarray(x.T)


def arguments(
    rows: int, cols: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random x, and room for out."""
    rng = np.random.default_rng(seed)
    return {"x": random_array(rng, (rows, cols), dtype), "out": zeros((cols, rows), dtype)}


TRANSPOSE = Kernel("transpose", transpose, spec, arguments)
