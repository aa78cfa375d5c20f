"""Gradients of the norms: of the input, and of weight and bias.

Gradients of weight and bias sum over rows, so they are programs of their own
(``*_parameters_backward``), except for batch norm, where one pass gives all three.
"""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.ir import Module
from spyrelab.opspec.norm_operands import (
    NormOperands,
    bound_operands,
    channel_operands,
    full_size,
)
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.row_space import Space
from spyrelab.opspec.rows import Row, Stream, build_rows

__all__ = [
    "build_batch_norm_backward",
    "build_group_norm_backward",
    "build_norm_backward",
    "build_parameters_backward",
]

_DEMAND = Demand(28, 2)


def _normal(row: Row, mean: str, rstd: str) -> Stream:
    """The normalised input, from ``in1`` and the saved statistics."""
    x = row.load("in1")
    if not mean:
        return row.map(lambda v, r: v * r, x, row.statistic(rstd))
    return row.map(lambda v, m, r: (v - m) * r, x, row.statistic(mean), row.statistic(rstd))


def _input_gradient(row: Row, gradient: Stream, normal: Stream, rstd: str, centred: bool) -> None:
    """``rstd * (g - mean(g) - normal * mean(g * normal))`` to ``out0``."""
    share = 1.0 / row.width
    along = row.map(lambda g, n: g * n, gradient, normal)
    if not centred:
        shift = row.fold("add", along) * share
        result = row.map(
            lambda g, n, s, r: (g - n * s) * r, gradient, normal, shift, row.statistic(rstd)
        )
    else:
        total, product = row.folds(("add", gradient), ("add", along))
        result = row.map(
            lambda g, n, t, s, r: (g - t - n * s) * r,
            gradient,
            normal,
            total * share,
            product * share,
            row.statistic(rstd),
        )
    row.store("out0", result)


def _weighted(row: Row, weight: str) -> Stream:
    gradient = row.load("in0")
    if not weight:
        return gradient
    return row.map(lambda g, w: g * w, gradient, row.load(weight))


def _row_operands(
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    normalized_dims: int,
    weight: bool,
    over_rows: bool = False,
) -> NormOperands:
    """Operands grad, x, statistics, weight; with ``over_rows`` the kept axes are the row's."""
    size = full_size(inputs)
    rank, kept = len(size), len(size) - normalized_dims
    everything, row = range(rank), range(kept, rank)
    space = Space(size, tuple((axis < kept) == over_rows for axis in range(rank)))
    axes = [everything, everything]
    for entry in inputs[2 : len(inputs) - weight]:
        axes.append(
            everything if isinstance(entry, Operand) and entry.rank == rank else range(kept)
        )
    axes += [row] * weight + [row if over_rows else everything] * len(outputs)
    return bound_operands(space, inputs, outputs, axes)


@family("layer_norm_backward", "rms_norm_backward")
def build_norm_backward(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    normalized_dims: int = 1,
    weight: bool = False,
    **_: Any,
) -> Module:
    """The gradient of x.  Inputs: gradient, x, mean (layer norm only), rstd, perhaps weight."""
    centred = op == "layer_norm_backward"
    operands = _row_operands(inputs, outputs, normalized_dims, weight)
    mean, rstd = ("in2", "in3") if centred else ("", "in2")
    last = f"in{len(inputs) - 1}" if weight else ""

    def operation(row: Row) -> None:
        _input_gradient(row, _weighted(row, last), _normal(row, mean, rstd), rstd, centred)

    return build_rows(op, operands.space, operands.bounds, _DEMAND, operation)


@family("layer_norm_parameters_backward", "rms_norm_parameters_backward")
def build_parameters_backward(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    normalized_dims: int = 1,
    **_: Any,
) -> Module:
    """Gradients of weight and, with a second output, bias.

    Inputs: gradient, x, mean (layer norm only), rstd.
    """
    centred = op.startswith("layer")
    operands = _row_operands(inputs, outputs, normalized_dims, False, over_rows=True)
    rstd = "in3" if centred else "in2"

    def operation(row: Row) -> None:
        gradient, x = row.load("in0"), row.load("in1")
        if centred:
            x = row.map(lambda v, m: v - m, x, row.load("in2"))
        along = row.map(lambda g, v, r: g * v * r, gradient, x, row.load(rstd))
        wanted = [("add", along), ("add", gradient)][: len(outputs)]
        for number, total in enumerate(row.folds(*wanted)):
            row.store_statistic(f"out{number}", total)

    return build_rows(op, operands.space, operands.bounds, Demand(32, 1), operation)


@family("group_norm_backward")
def build_group_norm_backward(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    groups: int = 1,
    weight: bool = False,
    **_: Any,
) -> Module:
    """The gradient of x.  Inputs: gradient, x, mean and rstd ``[N, groups]``, perhaps weight."""
    size = full_size(inputs)
    extents = (size[0], groups, size[1] // groups, *size[2:])
    space = Space(extents, (False, False) + (True,) * (len(extents) - 2))
    everything = (0, (1, 2), *range(3, len(extents)))
    axes = [everything, everything, (0, 1), (0, 1), *([((1, 2),)] * weight), everything]
    operands = bound_operands(space, inputs, outputs, axes)

    def operation(row: Row) -> None:
        gradient = _weighted(row, "in4" if weight else "")
        _input_gradient(row, gradient, _normal(row, "in2", "in3"), "in3", True)

    return build_rows(op, operands.space, operands.bounds, _DEMAND, operation)


@family("batch_norm_backward")
def build_batch_norm_backward(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    training: bool = True,
    weight: bool = False,
    **_: Any,
) -> Module:
    """Gradients of x and, with three outputs, of weight and bias.

    Inputs: gradient, x, mean and 1 / sqrt(var + eps) ``[C]``, perhaps weight.  Without
    ``training`` the statistics are constants.
    """
    operands = channel_operands(inputs, outputs, False, False, tensors=2)

    def operation(row: Row) -> None:
        gradient, normal = row.load("in0"), _normal(row, "in2", "in3")
        along = row.map(lambda g, n: g * n, gradient, normal)
        scale = row.statistic("in3")
        if weight:
            scale = scale * row.statistic("in4")
        if training or len(outputs) > 1:
            total, product = row.folds(("add", gradient), ("add", along))
        if training:
            share = 1.0 / row.width
            gradient = row.map(
                lambda g, n, t, s: g - t - n * s, gradient, normal, total * share, product * share
            )
        row.store("out0", row.map(lambda g, s: g * s, gradient, scale))
        if len(outputs) > 1:
            row.store_statistic("out1", product)
            row.store_statistic("out2", total)

    return build_rows(op, operands.space, operands.bounds, _DEMAND, operation)
