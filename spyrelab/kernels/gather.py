"""Rows of a table picked by number: embedding look-up."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, element_type, index_type, random_array, zeros
from spyrelab.kernels.division import (
    TILE_ELEMENTS,
    Split,
    fold_columns,
    positive,
    rows_per_tile,
)
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts, known_layouts
from spyrelab.kernels.operands import Operand
from spyrelab.ktir.builder import Builder, Scalar, View
from spyrelab.ktir.ir import Module


def gather(
    count: int,
    table_rows: int,
    cols: int,
    dtype: str = "f16",
    index: str = "i32",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """``out[i, :] = table[ids[i], :]`` for ``count`` ids of type ``index`` (i32 or i64).

    Each core owns a run of ids and picks a few rows at a time through an indirect tile; the
    rows that do not fill a tile are picked one by one, so that no id beyond the end is read.

    Arguments of the kernel: table ``[table_rows, cols]``, ids ``[count]``, out
    ``[count, cols]``.
    Bytes moved: ``count * (2 * cols * itemsize + id size)``.
    """
    positive(count=count, table_rows=table_rows, cols=cols, cores=cores)
    element = element_type(dtype)
    split = Split.of(count, cores, rows_per_tile(cols))
    chosen = known_layouts(layouts, ("table", "out"))
    b = Builder("gather", grid=(cores,))
    table_at, ids_at, out_at = b.pointers("table", "ids", "out")
    table = Operand.of(b, table_at, (table_rows, cols), element, chosen)
    ids = b.view(ids_at, sizes=(count,), dtype=index_type(index))
    out = Operand.of(b, out_at, (count, cols), element, chosen)
    with split.loop(b, b.compute_tile_id(), "row") as row:
        if count % split.tile == 0:
            _pick(b, table, ids, out, row, split.tile)
        else:
            whole = b.if_(row + split.tile <= count)
            with whole:
                _pick(b, table, ids, out, row, split.tile)
            with whole.otherwise(), b.loop(row, count, names="last") as last:
                _pick(b, table, ids, out, last, 1)
    return b.build()


def _pick(b: Builder, table: Operand, ids: View, out: Operand, row: Scalar, height: int) -> None:
    def copy(column: Any, width: int) -> tuple[()]:
        rows = table.gather((height, width), lambda i: ids[row + i], column)
        out.store(rows, (row, column))
        return ()

    fold_columns(b, table.size[1], TILE_ELEMENTS, {}, copy)


def spec(table: Array, ids: Array, **_: Any) -> Array:
    """NumPy's own indexing."""
    return table[ids]


def arguments(
    count: int,
    table_rows: int,
    cols: int,
    dtype: str = "f16",
    index: str = "i32",
    seed: int = 0,
    **_: Any,
) -> dict[str, Array]:
    """A random table, random ids, and room for out."""
    rng = np.random.default_rng(seed)
    return {
        "table": random_array(rng, (table_rows, cols), dtype),
        "ids": rng.integers(0, table_rows, count).astype(f"int{index[1:]}"),
        "out": zeros((count, cols), dtype),
    }


GATHER = Kernel("gather", gather, spec, arguments)
