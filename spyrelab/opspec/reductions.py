"""Reductions over any axes: sums, extremes, moments, norms, truth.

All take attribute ``dims`` (None or empty: all axes).  Outputs have the reduced axes either
dropped or kept as size 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32, I64
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.row_space import Bound, Space, bind, normal_axes
from spyrelab.opspec.rows import Row, Stream, build_rows

__all__ = ["build_moments", "build_norm", "build_reduction", "reduction_bounds"]

Finish = Callable[[Row, Tensor], Tensor]


def reduction_bounds(
    inputs: Sequence[Input], outputs: Sequence[Operand], dims: Sequence[int] | int | None
) -> tuple[Space, list[Bound]]:
    """The space of a reduction of inputs of one size, operands bound to it."""
    first = inputs[0]
    if not isinstance(first, Operand):
        raise OpSpecError("a reduction takes a tensor, not a number")
    axes = normal_axes(dims, first.rank)
    space = Space(first.size, tuple(axis in axes for axis in range(first.rank)))
    everything = range(first.rank)
    bounds = [bind(space, f"in{n}", n, entry, everything) for n, entry in enumerate(inputs)]
    for number, out in enumerate(outputs):
        kept = everything if out.rank == first.rank else space.axes(False)
        bounds.append(bind(space, f"out{number}", len(inputs) + number, out, kept))
    return space, bounds


def _square(v: Tensor) -> Tensor:
    return v * v


def _flags(row: Row, source: Stream) -> Stream:
    return row.map(lambda v: v.differs(0).to(I64), source, dtype=I64)


def _plain(kind: str) -> Callable[[Row, Stream], Tensor]:
    return lambda row, x: row.fold(kind, x)


def _mean(row: Row, x: Stream) -> Tensor:
    if not x.dtype.is_float:
        raise Unsupported("the mean of integers")
    return row.fold("add", x) / float(row.width)


def _nansum(row: Row, x: Stream) -> Tensor:
    if not x.dtype.is_float:
        return row.fold("add", x)
    return row.fold("add", row.map(lambda v: row.b.select(v.equals(v), v, 0.0), x))


def _logsumexp(row: Row, x: Stream) -> Tensor:
    b = row.b
    top = row.fold("max", x)
    shift = b.select(b.absolute(top).equals(math.inf), 0.0, top)
    powers = row.map(lambda v, s: b.exp(v - s), x, shift)
    return b.log(row.fold("add", powers)) + shift


_REDUCTIONS: dict[str, tuple[int, Callable[[Row, Stream], Tensor]]] = {
    "sum": (1, _plain("add")),
    "prod": (1, _plain("mul")),
    "amax": (1, _plain("max")),
    "amin": (1, _plain("min")),
    "mean": (1, _mean),
    "nansum": (1, _nansum),
    "any": (1, lambda row, x: row.fold("max", _flags(row, x))),
    "all": (1, lambda row, x: row.fold("min", _flags(row, x))),
    "count_nonzero": (1, lambda row, x: row.fold("add", _flags(row, x))),
    "logsumexp": (2, _logsumexp),
}


@family(*_REDUCTIONS)
def build_reduction(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dims: Sequence[int] | int | None = None,
    **_: Any,
) -> Module:
    """``out0 = op(in0)`` over ``dims``, folded in f32 (integers in i64)."""
    passes, fold = _REDUCTIONS[op]
    space, bounds = reduction_bounds(inputs, outputs, dims)

    def operation(row: Row) -> None:
        row.store_statistic("out0", fold(row, row.load("in0")))

    return build_rows(op, space, bounds, Demand(10, passes), operation)


@family("var", "std", "var_mean", "std_mean")
def build_moments(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dims: Sequence[int] | int | None = None,
    correction: float = 1,
    **_: Any,
) -> Module:
    """Variance or standard deviation in ``out0``, with the mean in ``out1`` for ``*_mean``.

    The sum of squares around the mean is divided by ``max(0, n - correction)``.
    """
    space, bounds = reduction_bounds(inputs, outputs, dims)

    def operation(row: Row) -> None:
        mean, squares = moments(row, row.load("in0"))
        spread = squares / max(0.0, row.width - float(correction))
        row.store_statistic("out0", row.b.sqrt(spread) if op.startswith("std") else spread)
        if op.endswith("mean"):
            row.store_statistic("out1", mean)

    return build_rows(op, space, bounds, Demand(10, 2), operation)


def moments(row: Row, x: Stream) -> tuple[Tensor, Tensor]:
    """Mean of a row, and the sum of squares around it."""
    mean = row.fold("add", x) / float(row.width)
    off = row.map(lambda v, m: v - m, x, mean)
    return mean, row.fold("add", row.map(_square, off))


@family("norm")
def build_norm(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dims: Sequence[int] | int | None = None,
    p: float = 2.0,
    **_: Any,
) -> Module:
    """The vector norm of order ``p``, any number, infinity included."""
    space, bounds = reduction_bounds(inputs, outputs, dims)

    def operation(row: Row) -> None:
        row.store_statistic("out0", _norm(row, row.load("in0"), float(p)))

    return build_rows(op, space, bounds, Demand(12, 1), operation)


def _norm(row: Row, x: Stream, p: float) -> Tensor:
    b = row.b
    if not x.dtype.is_float:
        raise Unsupported("the norm of integers")
    if p == 0:
        return row.fold("add", _flags(row, x)).to(F32)
    size = row.map(b.absolute, x)
    if math.isinf(p):
        return row.fold("max" if p > 0 else "min", size)
    if p == 1:
        return row.fold("add", size)
    if p == 2:
        return b.sqrt(row.fold("add", row.map(_square, x)))

    def power(base: Tensor, exponent: float) -> Tensor:
        operands = b.matched(base, exponent)
        made: Tensor = b.pure("math.powf", operands, base.type, hint="power")
        return made

    return power(row.fold("add", row.map(lambda v: power(v, p), size)), 1.0 / p)
