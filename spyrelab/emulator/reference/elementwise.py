"""Elementwise operations: arith, math, spyreop and the named linalg forms of them.

What each computes stands in the table `spyrelab.emulator.elementwise`, which the compiled engine
uses as well; here it is only applied and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spyrelab.emulator.elementwise import LINALG_NAMES, TABLE, Elementwise, named_row
from spyrelab.emulator.errors import LoweringError, UnsupportedError, place
from spyrelab.emulator.reference.core import Array, Core
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.scalars import typed
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import I1, ScalarType, TensorType, element_of


@reference(*(name for name in TABLE if not name.startswith("linalg.")))
def elementwise(core: Core, operation: Operation, *operands: Array) -> Array:
    """An operation of the elementwise table on corresponding elements."""
    types = [element_of(value.type) for value in operation.operands]
    return _apply(core, operation, TABLE[operation.name], operands, types)


@reference(*(f"linalg.{name}" for name in sorted(LINALG_NAMES)))
def named(core: Core, operation: Operation, *operands: Array) -> Array:
    """The arith or math operation of that name; what ``outs`` held does not count.

    Operands are first cast to the element type of ``outs``.
    """
    *ins, outs = operands
    element = element_of(operation.result.type)
    try:
        row = named_row(operation.name.removeprefix("linalg."), element)
    except KeyError as error:
        raise UnsupportedError(f"{place(operation)}: {error.args[0]}") from None
    condition = 1 if operation.name == "linalg.select" else 0
    kinds = [I1] * condition + [element] * (len(ins) - condition)
    result = _apply(core, operation, row, list(map(typed, ins, kinds)), kinds)
    return np.broadcast_to(result, outs.shape)


def _apply(
    core: Core,
    operation: Operation,
    row: Elementwise,
    operands: Sequence[Array],
    types: Sequence[ScalarType],
) -> Array:
    kind = operation.result.type
    if isinstance(kind, TensorType) and len({a.shape for a in operands if a.ndim}) > 1:
        shapes = ", ".join(str(list(array.shape)) for array in operands)
        raise LoweringError(f"{place(operation)}: operands of different shapes {shapes}")
    result = np.asarray(row.reference(operands, element_of(kind), types, operation.attributes))
    core.count_elements(row.cost.value, kind, result)
    return result


@reference(
    "spyreop.exx2",
    "spyreop.exx2_fused",
    "spyreop.layernormscale",
    "spyreop.layernormscale_fused",
    "spyreop.layernormnorm",
    "spyreop.slice_reduction",
)
def undefined(core: Core, operation: Operation, *operands: Array) -> Array:
    """Read and printed only: no public source fixes the numbers of these operations.

    The row length and epsilon of the layer-norm helpers, and the slice of a slice reduction,
    are nowhere stated; write the computation out with linalg and arith instead.
    """
    raise UnsupportedError(
        f"{place(operation)}: no public source defines its numbers; write the computation out "
        "with linalg and arith operations"
    )
