"""Softmax along the rows of a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, element_type, random_array, zeros
from spyrelab.kernels.division import (
    LX_BYTES,
    Split,
    ceil_div,
    fold_columns,
    positive,
    rows_per_tile,
)
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.operands import Operand, operands
from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32

_LIVE_BYTES = 16
"""Scratchpad bytes per element of a tile at the worst point: two f32 and two narrow tiles."""

_COLUMN_TILE = 8192
_WORTH = 384
"""Elements of a tile below which a turn of a loop costs more than what it hides."""


def softmax(
    rows: int,
    cols: int,
    dtype: str = "f16",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """``out[r, :] = exp(x[r, :] - max) / sum(exp(x[r, :] - max))``, computed in f32.

    Each core owns a run of rows and takes a few whole rows at a time.  A row that does not
    fit the scratchpad is read twice: once for a running maximum and sum, once to write.

    Arguments of the kernel: x, out, each ``[rows, cols]`` of ``dtype``.
    Bytes moved: ``2 * rows * cols * itemsize`` (3 for rows beyond the scratchpad).
    """
    positive(rows=rows, cols=cols, cores=cores)
    element = element_type(dtype)
    b = Builder("softmax", grid=(cores,))
    x, out = operands(b, {"x": (rows, cols), "out": (rows, cols)}, element, layouts)
    height = min(rows_per_tile(cols), _overlapping(ceil_div(rows, cores), cols))
    if x.rows_adjoin:
        height = max(height, rows_per_tile(cols, rows_adjoin=True))
    split = Split.of(rows, cores, height)
    with split.loop(b, b.compute_tile_id(), "row") as row:
        if split.tile * cols * _LIVE_BYTES <= LX_BYTES:
            _whole_rows(b, x, out, row, split.tile, cols)
        else:
            _long_row(b, x, out, row, cols)
    return b.build()


def _overlapping(share: int, cols: int) -> int:
    """Rows of a tile so that a core has several: one loads while another is computed.

    Shares that come out more than a fifth larger stay whole, and small ones: a turn of a loop
    costs more than what it hides.
    """
    for count in (2, 3, 4):
        size = ceil_div(share, count)
        if count <= share and count * size <= 1.2 * share and size * cols >= _WORTH:
            return size
    return share


def _whole_rows(b: Builder, x: Operand, out: Operand, row: Scalar, height: int, cols: int) -> None:
    values = x.load((row, 0), (height, cols)).to(F32)
    powers = b.exp(values - _wide(b, b.reduce("max", values, 1).named("top"), cols))
    scale = (1.0 / b.reduce("add", powers, 1)).named("scale")
    out.store((powers * _wide(b, scale, cols)).to(x.dtype), (row, 0))


def _long_row(b: Builder, x: Operand, out: Operand, row: Scalar, cols: int) -> None:
    def statistics(column: Any, width: int, top: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        values = x.load((row, column), (1, width)).to(F32)
        higher = b.reduce("max", values, 1, initial=top)
        powers = b.exp(values - _wide(b, higher, width))
        return higher, b.reduce("add", powers, 1, initial=total * b.exp(top - higher))

    start = {"top": b.fill((1,), -math.inf), "total": b.fill((1,), 0.0)}
    top, total = fold_columns(b, cols, _COLUMN_TILE, start, statistics)
    scale = 1.0 / total

    def write(column: Any, width: int) -> tuple[()]:
        values = x.load((row, column), (1, width)).to(F32)
        powers = b.exp(values - _wide(b, top, width))
        out.store((powers * _wide(b, scale, width)).to(x.dtype), (row, column))
        return ()

    fold_columns(b, cols, _COLUMN_TILE, {}, write)


def _wide(b: Builder, column: Tensor, width: int) -> Tensor:
    return b.broadcast(column, (column.shape[0] or 1, width), 1)


def spec(x: Array, **_: Any) -> Array:
    """Softmax in float32."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def arguments(
    rows: int, cols: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random x, and room for out."""
    rng = np.random.default_rng(seed)
    return {"x": random_array(rng, (rows, cols), dtype, 2.0), "out": zeros((rows, cols), dtype)}


SOFTMAX = Kernel("softmax", softmax, spec, arguments)
