"""Sum, mean, maximum or minimum along the rows of a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, KernelError, element_type, random_array, zeros
from spyrelab.kernels.division import Split, fold_columns, positive, rows_per_tile
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.operands import operands
from spyrelab.ktir.builder import Builder, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32

_FOLDS = {
    "sum": ("add", 0.0),
    "mean": ("add", 0.0),
    "max": ("max", -math.inf),
    "min": ("min", math.inf),
}

_COLUMN_TILE = 8192


def row_reduce(
    rows: int,
    cols: int,
    kind: str = "sum",
    dtype: str = "f16",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """``out[r] = kind(x[r, :])`` in f32, for kind sum, mean, max or min.

    Each core owns a run of rows; long rows are folded column tile by column tile.  An ``out``
    in sticks gives each core whole sticks of rows; a sparse one, a row per stick, any rows.

    Arguments of the kernel: x ``[rows, cols]``, out ``[rows]``.
    Bytes moved: ``rows * (cols + 1) * itemsize``.
    """
    positive(rows=rows, cols=cols, cores=cores)
    if kind not in _FOLDS:
        raise KernelError(f"kind = {kind!r} is none of {', '.join(_FOLDS)}")
    fold, identity = _FOLDS[kind]
    element = element_type(dtype)
    b = Builder(f"row_{kind}", grid=(cores,))
    x, out = operands(b, {"x": (rows, cols), "out": (rows,)}, element, layouts)
    split = Split.of(rows, cores, rows_per_tile(cols, x.rows_adjoin), out.stick)
    with split.loop(b, b.compute_tile_id(), "row") as row:

        def add(column: Any, width: int, total: Tensor) -> tuple[Tensor]:
            values = x.load((row, column), (split.tile, width)).to(F32)
            return (b.reduce(fold, values, 1, initial=total),)

        start = {"total": b.fill((split.tile,), identity)}
        (total,) = fold_columns(b, cols, _COLUMN_TILE, start, add)
        out.store((total * (1 / cols) if kind == "mean" else total).to(element), (row,))
    return b.build()


def spec(x: Array, kind: str = "sum", **_: Any) -> Array:
    """The fold in float32 (sums in float64)."""
    if kind in ("sum", "mean"):
        return getattr(np, kind)(x, axis=-1, dtype=np.float64).astype(np.float32)
    return getattr(np, kind)(x, axis=-1)


def arguments(
    rows: int, cols: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random x, and room for out."""
    rng = np.random.default_rng(seed)
    return {"x": random_array(rng, (rows, cols), dtype), "out": zeros((rows,), dtype)}


ROW_REDUCE = Kernel("row_reduce", row_reduce, spec, arguments)
