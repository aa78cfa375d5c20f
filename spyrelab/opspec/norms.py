"""Layer, RMS, group and batch norm, forward.

Inputs are ``in0 = x``, then weight and bias where attributes ``weight`` and ``bias`` say so.
Outputs are the result, then the statistics where they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.ir import Module
from spyrelab.opspec.errors import OpSpecError
from spyrelab.opspec.norm_operands import (
    NormOperands,
    channel_operands,
    group_operands,
    layer_operands,
)
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.reductions import moments
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.rows import Row, Stream, build_rows

__all__ = ["build_batch_norm", "build_group_norm", "build_layer_norm", "build_rms_norm"]


def scaled(row: Row, normal: Stream, operands: NormOperands) -> Stream:
    """``normal * weight + bias``, of those that there are."""
    result = normal
    if operands.weight:
        result = row.map(lambda v, w: v * w, result, row.load(operands.weight))
    if operands.bias:
        result = row.map(lambda v, b: v + b, result, row.load(operands.bias))
    return result


def _centred_norm(row: Row, operands: NormOperands, eps: float) -> tuple[Tensor, Tensor]:
    x = row.load("in0")
    mean, squares = moments(row, x)
    rstd = row.b.rsqrt(squares / float(row.width) + eps)
    normal = row.map(lambda v, m, r: (v - m) * r, x, mean, rstd)
    row.store("out0", scaled(row, normal, operands))
    return mean, rstd


def _store_statistics(row: Row, outputs: Sequence[Operand], *statistics: Tensor) -> None:
    for number, statistic in enumerate(statistics[: len(outputs) - 1], 1):
        row.store_statistic(f"out{number}", statistic)


@family("layer_norm")
def build_layer_norm(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    normalized_dims: int = 1,
    eps: float = 1e-5,
    weight: bool = False,
    bias: bool = False,
    **_: Any,
) -> Module:
    """``(x - mean) * rstd * weight + bias`` over the last ``normalized_dims`` dimensions.

    Outputs: the result, and perhaps mean and rstd.
    """
    operands = layer_operands(inputs, outputs, normalized_dims, weight, bias)

    def operation(row: Row) -> None:
        _store_statistics(row, outputs, *_centred_norm(row, operands, eps))

    return build_rows(op, operands.space, operands.bounds, Demand(22, 3), operation)


@family("rms_norm")
def build_rms_norm(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    normalized_dims: int = 1,
    eps: float = 1e-6,
    weight: bool = False,
    **_: Any,
) -> Module:
    """``x * rstd * weight``, where rstd is ``1 / sqrt(mean(x ** 2) + eps)``.

    Outputs: the result, and perhaps rstd.
    """
    operands = layer_operands(inputs, outputs, normalized_dims, weight, False)

    def operation(row: Row) -> None:
        x = row.load("in0")
        squares = row.fold("add", row.map(lambda v: v * v, x))
        rstd = row.b.rsqrt(squares / float(row.width) + eps)
        row.store("out0", scaled(row, row.map(lambda v, r: v * r, x, rstd), operands))
        _store_statistics(row, outputs, rstd)

    return build_rows(op, operands.space, operands.bounds, Demand(18, 2), operation)


@family("group_norm")
def build_group_norm(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    groups: int = 1,
    eps: float = 1e-5,
    weight: bool = False,
    bias: bool = False,
    **_: Any,
) -> Module:
    """Layer norm of each of ``groups`` groups of channels of ``x [N, C, ...]``.

    Outputs: the result, and perhaps mean and rstd ``[N, groups]``.
    """
    operands = group_operands(inputs, outputs, groups, weight, bias)

    def operation(row: Row) -> None:
        _store_statistics(row, outputs, *_centred_norm(row, operands, eps))

    return build_rows(op, operands.space, operands.bounds, Demand(22, 3), operation)


@family("batch_norm")
def build_batch_norm(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    eps: float = 1e-5,
    momentum: float = 0.1,
    training: bool = False,
    weight: bool = False,
    bias: bool = False,
    running: bool = False,
    **_: Any,
) -> Module:
    """Batch norm of ``x [N, C, ...]`` by channel.

    Inputs: x, weight, bias, and running mean and variance where ``running`` (they have to be
    there unless ``training``).  Outputs: the result; in training perhaps also mean and
    1 / sqrt(var + eps) of the batch, and then perhaps the new running mean and variance.
    """
    operands = channel_operands(inputs, outputs, weight, bias)
    first = 1 + weight + bias
    if not training and not running:
        raise OpSpecError("batch_norm without training needs running statistics")

    def operation(row: Row) -> None:
        if not training:
            mean = row.statistic(f"in{first}")
            rstd = row.b.rsqrt(row.statistic(f"in{first + 1}") + eps)
            normal = row.map(lambda v, m, r: (v - m) * r, row.load("in0"), mean, rstd)
            row.store("out0", scaled(row, normal, operands))
            return
        mean, rstd = _centred_norm(row, operands, eps)
        _store_statistics(row, outputs[:3], mean, rstd)
        if len(outputs) > 3:
            variance = (1.0 / (rstd * rstd) - eps) * (row.width / max(1.0, row.width - 1.0))
            for number, now in enumerate((mean, variance)):
                old = row.statistic(f"in{first + number}") * (1.0 - momentum)
                row.store_statistic(f"out{3 + number}", old + now * momentum)

    return build_rows(op, operands.space, operands.bounds, Demand(22, 3), operation)
