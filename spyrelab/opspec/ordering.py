"""Order along one axis: sort, topk, the k-th value, the median.

NaN is the greatest value; equal elements keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import I64
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.reductions import reduction_bounds
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_chunks import Piece
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.row_space import Bound, Space, bind, require_simple
from spyrelab.opspec.rows import Row, Stream, build_rows
from spyrelab.opspec.sort_network import (
    LAST_KEY,
    indices_of,
    packed,
    padded_width,
    sorted_tile,
    values_of,
)

__all__ = ["build_order", "build_rank"]

_WHOLE = Demand(72, 1, whole=True)
"""A padded key takes 8 bytes, at most two per element, and four copies are alive."""

_PIECES = Demand(72, 1, ordered=True, alone=True)
_NAN_RANK = 0x7FC00000


@family("sort", "topk")
def build_order(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dim: int = -1,
    k: int = 0,
    largest: bool = True,
    descending: bool = False,
    **_: Any,
) -> Module:
    """Values in ``out0`` and indices in ``out1`` (i64): all of them, or the first ``k``.

    ``topk`` is always sorted.
    """
    space, bounds = _operands(inputs, outputs, dim)
    extent = k if op == "topk" else space.count(True)
    down = largest if op == "topk" else descending
    is_long = op == "topk" and space.count(True) > _WHOLE.lx_elements

    def operation(row: Row) -> None:
        x = row.load("in0")
        first = _best_of_long(row, x, down, extent) if is_long else _sorted(row, x, down, extent)
        keys = row.part(first, 0, extent)
        row.put_line_end("out0", values_of(row.b, keys, x.dtype.is_float, down), extent)
        row.put_line_end("out1", indices_of(row.b, keys), extent)

    return build_rows(op, space, bounds, _PIECES if is_long else _WHOLE, operation)


def _operands(
    inputs: Sequence[Input], outputs: Sequence[Operand], dim: int
) -> tuple[Space, list[Bound]]:
    """As for a reduction, but outputs have an extent of their own along ``dim``."""
    first = inputs[0]
    if not isinstance(first, Operand) or first.dtype == "i64":
        raise Unsupported("sorting i64")
    space, bounds = reduction_bounds(inputs, (), dim)
    for number, out in enumerate(outputs):
        own = Space(out.size, space.reduced)
        if any(
            a != b for a, b, r in zip(out.size, first.size, space.reduced, strict=True) if not r
        ):
            raise OpSpecError(f"sizes {first.size} and {out.size} differ beside dim {dim}")
        bounds.append(bind(own, f"out{number}", 1 + number, out, range(first.rank)))
    require_simple(bounds, space.axes(True))
    return space, bounds


def _keys(row: Row, x: Stream, descending: bool) -> Stream:
    return row.map(lambda v, i: packed(row.b, v, i, descending), x, row.index(), dtype=I64)


def _sorted(row: Row, x: Stream, descending: bool, count: int | None = None) -> Tensor:
    """The first ``count`` keys of the row (default all), in order, and perhaps more."""
    keys, width = _keys(row, x, descending), padded_width(row.width)
    gathered = _LineOfKeys(row, width)
    for piece in row.pieces():
        gathered.add(keys.at(piece), piece.width)
    return sorted_tile(row.b, gathered.tile, row.axis, count)


def _best_of_long(row: Row, x: Stream, descending: bool, count: int) -> Tensor:
    """The first keys of a row that does not fit: sorted piece by piece with the best so far."""
    keys, kept = _keys(row, x, descending), padded_width(count)
    if row.height * 2 * kept > _WHOLE.lx_elements:
        raise Unsupported(f"the {count} greatest of a row longer than the scratchpad")

    def body(piece: Piece, best: Tensor) -> Sequence[Tensor]:
        gathered = _LineOfKeys(row, padded_width(kept + piece.width))
        gathered.add(best, kept)
        gathered.add(keys.at(piece), piece.width)
        return [sorted_tile(row.b, gathered.tile, row.axis, kept)]

    shape = (row.height, kept) if row.axis else (kept, row.height)
    (best,) = row.walk([row.b.fill(shape, LAST_KEY, I64)], body)
    result: Tensor = best
    return result


class _LineOfKeys:
    """A tile of rows of keys that pieces are put into one after the other."""

    def __init__(self, row: Row, width: int) -> None:
        shape = (row.height, width) if row.axis else (width, row.height)
        self._row, self._end = row, 0
        self.tile = row.b.fill(shape, LAST_KEY, I64)

    def add(self, keys: Tensor, width: int) -> None:
        if keys.shape == self.tile.shape:
            self.tile = keys
            return
        at = (0, self._end) if self._row.axis else (self._end, 0)
        self.tile = self._row.b.insert_slice(keys, self.tile, at)
        self._end += width


@family("kthvalue", "median")
def build_rank(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dims: Sequence[int] | int | None = None,
    k: int = 1,
    **_: Any,
) -> Module:
    """The ``k``-th least value, or the lower median (NaN if there is one).

    Outputs: the value, and perhaps its index (i64; over several axes row-major).
    """
    if isinstance(inputs[0], Operand) and inputs[0].dtype == "i64":
        raise Unsupported("sorting i64")
    space, bounds = reduction_bounds(inputs, outputs, dims)

    def operation(row: Row) -> None:
        b, x = row.b, row.load("in0")
        keys = _sorted(row, x, False)
        at = (row.width - 1) // 2 if op == "median" else k - 1
        chosen = b.reshape(row.part(keys, at, 1), (row.height,))
        if op == "median" and x.dtype.is_float:
            is_nan = (keys >= _NAN_RANK << 32) & (keys < LAST_KEY)
            first = b.reduce("min", b.select(is_nan, keys, LAST_KEY), row.axis)
            chosen = b.select(first < LAST_KEY, first, chosen)
        results = (values_of(b, chosen, x.dtype.is_float, False), indices_of(b, chosen))
        for number, result in enumerate(results[: len(outputs)]):
            row.store_statistic(f"out{number}", result)

    return build_rows(op, space, bounds, _WHOLE, operation)
