"""Layer norm and RMS norm along the rows of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, element_type, random_array, zeros
from spyrelab.kernels.division import LX_BYTES, Split, fold_columns, positive, rows_per_tile
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.operands import Operand, operands
from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32

_LIVE_BYTES = 26
"""Scratchpad bytes per element of a tile at the worst point, weights included."""

_COLUMN_TILE = 8192


def layer_norm(
    rows: int,
    cols: int,
    eps: float = 1e-5,
    dtype: str = "f16",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """``out[r, :] = (x[r, :] - mean) / sqrt(var + eps) * weight + bias``, computed in f32.

    Each core owns a run of rows; weight and bias are loaded once per core.  A row that does
    not fit the scratchpad is read twice, its statistics merged tile by tile (Chan, Golub and
    LeVeque 1979).

    Arguments of the kernel: x, weight, bias, out; ``[rows, cols]`` and ``[cols]``.
    Bytes moved: ``(2 * rows + 2 * cores) * cols * itemsize`` (rows count 3 beyond LX).
    """
    return _norm("layer_norm", rows, cols, eps, dtype, cores, layouts)


def rms_norm(
    rows: int,
    cols: int,
    eps: float = 1e-6,
    dtype: str = "f16",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """``out[r, :] = x[r, :] / sqrt(mean(x[r, :] ** 2) + eps) * weight``, computed in f32.

    Each core owns a run of rows; the weight is loaded once per core.

    Arguments of the kernel: x, weight, out; ``[rows, cols]`` and ``[cols]``.
    Bytes moved: ``(2 * rows + cores) * cols * itemsize`` (rows count 3 beyond LX).
    """
    return _norm("rms_norm", rows, cols, eps, dtype, cores, layouts)


def _norm(
    name: str,
    rows: int,
    cols: int,
    eps: float,
    dtype: str,
    cores: int,
    layouts: Layouts | None,
) -> Module:
    positive(rows=rows, cols=cols, cores=cores)
    element = element_type(dtype)
    centred = name == "layer_norm"
    b = Builder(name, grid=(cores,))
    names = ("x", "weight", "bias", "out") if centred else ("x", "weight", "out")
    sizes = {name: (rows, cols) if name in ("x", "out") else (cols,) for name in names}
    x, *vectors, out = operands(b, sizes, element, layouts)
    split = Split.of(rows, cores, rows_per_tile(cols, x.rows_adjoin))
    core = b.compute_tile_id()
    make = _long_row
    if (split.tile + 1) * cols * _LIVE_BYTES <= LX_BYTES:
        make = _whole_rows
    make(b, split, core, x, vectors, out, eps)
    return b.build()


def _whole_rows(
    b: Builder,
    split: Split,
    core: Scalar,
    x: Operand,
    vectors: list[Operand],
    out: Operand,
    eps: float,
) -> None:
    height, cols = split.tile, x.size[1]
    loaded = [v.load((0,), (cols,)).to(F32) for v in vectors]
    with split.loop(b, core, "row") as row:
        values = x.load((row, 0), (height, cols)).to(F32)
        if len(vectors) == 2:
            mean = (b.reduce("add", values, 1) * (1 / cols)).named("mean")
            values = (values - b.broadcast(mean, (height, cols), 1)).named("centred")
        variance = b.reduce("add", values * values, 1) * (1 / cols)
        scale = b.rsqrt(variance + eps).named("scale")
        result = _affine(b, values, scale, loaded)
        out.store(result.to(x.dtype), (row, 0))


def _affine(b: Builder, centred: Tensor, scale: Tensor, vectors: list[Tensor]) -> Tensor:
    height, width = (extent or 0 for extent in centred.shape)
    result = centred * b.broadcast(scale, (height, width), 1)
    wide = [b.broadcast(vector, (height, width), 0) for vector in vectors]
    result = result * wide[0]
    return result + wide[1] if len(wide) == 2 else result


def _long_row(
    b: Builder,
    split: Split,
    core: Scalar,
    x: Operand,
    vectors: list[Operand],
    out: Operand,
    eps: float,
) -> None:
    cols = x.size[1]
    with split.loop(b, core, "row") as row:
        centred = len(vectors) == 2
        mean, squares = _moments(b, x, row, cols) if centred else (None, _squares(b, x, row, cols))
        scale = b.rsqrt(squares * (1 / cols) + eps).named("scale")

        def write(column: Any, width: int) -> tuple[()]:
            values = x.load((row, column), (1, width)).to(F32)
            if mean is not None:
                values = values - b.broadcast(mean, (1, width), 1)
            loaded = [v.load((column,), (width,)).to(F32) for v in vectors]
            out.store(_affine(b, values, scale, loaded).to(x.dtype), (row, column))
            return ()

        fold_columns(b, cols, _COLUMN_TILE, {}, write)


def _squares(b: Builder, x: Operand, row: Scalar, cols: int) -> Tensor:
    def add(column: Any, width: int, total: Tensor) -> tuple[Tensor]:
        values = x.load((row, column), (1, width)).to(F32)
        return (b.reduce("add", values * values, 1, initial=total),)

    (squares,) = fold_columns(b, cols, _COLUMN_TILE, {"squares": b.fill((1,), 0.0)}, add)
    return squares


def _moments(b: Builder, x: Operand, row: Scalar, cols: int) -> tuple[Tensor, Tensor]:
    def merge(
        column: Any, width: int, seen: Tensor, mean: Tensor, squares: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        values = x.load((row, column), (1, width)).to(F32)
        own = b.reduce("add", values, 1) * (1 / width)
        off = values - b.broadcast(own, (1, width), 1)
        shift, count = own - mean, seen + float(width)
        part = shift * (float(width) / count)
        spread = b.reduce("add", off * off, 1, initial=squares)
        return count, mean + part, spread + shift * part * seen

    start = {name: b.fill((1,), 0.0) for name in ("seen", "mean", "squares")}
    _, mean, squares = fold_columns(b, cols, _COLUMN_TILE, start, merge)
    return mean, squares


def layer_norm_spec(x: Array, weight: Array, bias: Array, eps: float = 1e-5, **_: Any) -> Array:
    """Layer norm in float32 (statistics in float64)."""
    mean = x.mean(axis=-1, keepdims=True, dtype=np.float64)
    variance = np.square(x - mean).mean(axis=-1, keepdims=True)
    return ((x - mean) / np.sqrt(variance + eps) * weight + bias).astype(np.float32)


def rms_norm_spec(x: Array, weight: Array, eps: float = 1e-6, **_: Any) -> Array:
    """RMS norm in float32 (statistics in float64)."""
    mean = np.square(x, dtype=np.float64).mean(axis=-1, keepdims=True)
    return (x / np.sqrt(mean + eps) * weight).astype(np.float32)


def layer_norm_arguments(
    rows: int, cols: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random x, weight and bias, and room for out."""
    rng = np.random.default_rng(seed)
    return {
        "x": random_array(rng, (rows, cols), dtype),
        "weight": random_array(rng, (cols,), dtype),
        "bias": random_array(rng, (cols,), dtype),
        "out": zeros((rows, cols), dtype),
    }


def rms_norm_arguments(
    rows: int, cols: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random x and weight, and room for out."""
    made = layer_norm_arguments(rows, cols, dtype, seed)
    return {name: array for name, array in made.items() if name != "bias"}


LAYER_NORM = Kernel("layer_norm", layer_norm, layer_norm_spec, layer_norm_arguments)


RMS_NORM = Kernel("rms_norm", rms_norm, rms_norm_spec, rms_norm_arguments)
