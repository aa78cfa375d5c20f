"""Where extremes lie: argmax, argmin, max and min with indices.

The first occurrence is found; NaN is greater and less than everything, as in torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import I64
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.reductions import reduction_bounds
from spyrelab.opspec.registry import family
from spyrelab.opspec.row_plan import Demand
from spyrelab.opspec.rows import Row, build_rows

__all__ = ["build_aminmax", "build_position"]

_NOWHERE = (1 << 63) - 1


@family("argmax", "argmin", "max_dim", "min_dim")
def build_position(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dims: Sequence[int] | int | None = None,
    **_: Any,
) -> Module:
    """Index of the extreme over ``dims`` (over several, row-major), i64.

    ``argmax`` and ``argmin`` have one output, ``max_dim`` and ``min_dim`` the value first.
    """
    space, bounds = reduction_bounds(inputs, outputs, dims)
    kind = "max" if "max" in op else "min"

    def operation(row: Row) -> None:
        extreme, place = _extreme(row, kind)
        results = (extreme, place) if op.endswith("dim") else (place,)
        for number, result in enumerate(results):
            row.store_statistic(f"out{number}", result)

    return build_rows(op, space, bounds, Demand(22, 2), operation)


def _extreme(row: Row, kind: str) -> tuple[Tensor, Tensor]:
    b, x = row.b, row.load("in0")
    extreme = row.fold(kind, x)

    def candidate(v: Tensor, top: Tensor, index: Tensor) -> Tensor:
        holds = v.equals(top)
        if v.dtype.is_float:
            holds = holds | v.differs(v)
        found: Tensor = b.select(holds, index, _NOWHERE)
        return found

    places = row.map(candidate, x, extreme, row.index(), dtype=I64)
    return extreme, row.fold("min", places)


@family("aminmax")
def build_aminmax(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    dims: Sequence[int] | int | None = None,
    **_: Any,
) -> Module:
    """The least value in ``out0`` and the greatest in ``out1``, in one pass."""
    space, bounds = reduction_bounds(inputs, outputs, dims)

    def operation(row: Row) -> None:
        x = row.load("in0")
        for number, result in enumerate(row.folds(("min", x), ("max", x))):
            row.store_statistic(f"out{number}", result)

    return build_rows(op, space, bounds, Demand(16, 1), operation)
