"""Softmax and its kin along any axis, forward and backward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.ir import Module
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.reductions import reduction_bounds
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_chunks import Piece
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.rows import Row, Stream, build_rows

__all__ = ["build_softmax"]


def _softmax(row: Row) -> Stream:
    off, total = _off_and_total(row, row.load("in0"))
    return row.map(lambda p, s: p * s, row.map(row.b.exp, off), 1.0 / total)


def _log_softmax(row: Row) -> Stream:
    off, total = _off_and_total(row, row.load("in0"))
    return row.map(lambda v, t: v - t, off, row.b.log(total))


def _off_and_total(row: Row, x: Stream) -> tuple[Stream, Tensor]:
    """``x - max(x)`` and the sum of its exponentials."""
    if not row.is_resident:
        top, total = _online(row, x)
        return row.map(lambda v, t: v - t, x, top), total
    off = row.map(lambda v, t: v - t, x, row.fold("max", x))
    return off, row.fold("add", row.map(row.b.exp, off))


def _online(row: Row, x: Stream) -> tuple[Tensor, Tensor]:
    """Maximum and sum in one pass: the sum is scaled down whenever the maximum grows."""
    b = row.b

    def level(top: Tensor) -> Tensor:
        # A row may begin with a tile of -inf, whose distance to itself is NaN.
        lowered: Tensor = b.select(top.equals(-math.inf), 0.0, top)
        return lowered

    def merge(piece: Piece, top: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        values = x.at(piece)
        higher = b.reduce("max", values, row.axis, initial=top)
        powers = b.exp(values - row.spread(level(higher), piece))
        return higher, b.reduce("add", powers, row.axis, total * b.exp(top - level(higher)))

    start = [b.fill((row.height,), -math.inf), b.fill((row.height,), 0.0)]
    own, total = row.walk(start, merge)
    top = row.exchanged("max", own)
    return top, row.exchanged("add", total * b.exp(own - level(top)))


def _softmax_backward(row: Row) -> Stream:
    grad, out = row.load("in0"), row.load("in1")
    total = row.fold("add", row.map(_product, grad, out))
    return row.map(lambda g, o, t: (g - t) * o, grad, out, total)


def _log_softmax_backward(row: Row) -> Stream:
    grad, out = row.load("in0"), row.load("in1")
    total = row.fold("add", grad)
    return row.map(lambda g, o, t: g - row.b.exp(o) * t, grad, out, total)


def _product(a: Tensor, b: Tensor) -> Tensor:
    return a * b


_KERNELS: dict[str, tuple[int, Callable[[Row], Stream]]] = {
    "softmax": (10, _softmax),
    "log_softmax": (10, _log_softmax),
    "softmax_backward": (14, _softmax_backward),
    "log_softmax_backward": (14, _log_softmax_backward),
}


@family(*_KERNELS)
def build_softmax(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], dim: int = -1, **_: Any
) -> Module:
    """Softmax or its logarithm of ``in0`` along ``dim``; computed in f32.

    The backward operations take the gradient and the forward result.
    """
    live, kernel = _KERNELS[op]
    space, bounds = reduction_bounds(inputs, outputs, dim)

    def operation(row: Row) -> None:
        row.store("out0", kernel(row))

    return build_rows(op, space, bounds, Demand(live, 3), operation)
