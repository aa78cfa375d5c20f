"""The transpose of a matrix, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, element_type, random_array, zeros
from spyrelab.kernels.division import Split, ceil_div, positive, steps, stick_elements
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.operands import operands
from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import Module


def transpose(
    rows: int,
    cols: int,
    dtype: str = "f16",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """``out[c, r] = x[r, c]``.

    Each core owns a run of rows, in whole sticks, and turns tiles of two sticks square.  Both
    may lie in sticks along their own last dimensions.

    Arguments of the kernel: x ``[rows, cols]``, out ``[cols, rows]``.
    Bytes moved: ``2 * rows * cols * itemsize``.
    """
    positive(rows=rows, cols=cols, cores=cores)
    element = element_type(dtype)
    stick = stick_elements(element)
    b = Builder("transpose", grid=(cores,))
    x, out = operands(b, {"x": (rows, cols), "out": (cols, rows)}, element, layouts)
    split = Split.of(rows, cores, 2 * stick, max(out.stick, min(stick, ceil_div(rows, cores))))
    width = min(cols, 2 * stick)
    with (
        split.loop(b, b.compute_tile_id(), "row") as row,
        steps(b, b.constant(0), width, ceil_div(cols, width), cols, "col") as col,
    ):
        out.store(b.transpose(x.load((row, col), (split.tile, width))), (col, row))
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
