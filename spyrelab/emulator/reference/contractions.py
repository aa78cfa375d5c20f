"""The matmul family: products of matrices, batched or not, added to what ``outs`` holds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import LoweringError, place
from spyrelab.emulator.reference.core import Array, Core
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.scalars import typed
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import element_of


def _transposed(array: Array) -> Array:
    return np.swapaxes(array, -1, -2)


_AS_MATRICES: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "linalg.matmul": lambda a, b: (a, b),
    "linalg.batch_matmul": lambda a, b: (a, b),
    "linalg.matmul_transpose_a": lambda a, b: (_transposed(a), b),
    "linalg.matmul_transpose_b": lambda a, b: (a, _transposed(b)),
    "linalg.batch_matmul_transpose_a": lambda a, b: (_transposed(a), b),
    "linalg.batch_matmul_transpose_b": lambda a, b: (a, _transposed(b)),
    "linalg.matvec": lambda a, b: (a, b[:, None]),
    "linalg.batch_matvec": lambda a, b: (a, b[:, :, None]),
    "linalg.vecmat": lambda a, b: (a[None, :], b),
    "linalg.dot": lambda a, b: (a[None, :], b[:, None]),
}


@reference(*_AS_MATRICES)
def contract(core: Core, operation: Operation, left: Array, right: Array, outs: Array) -> Array:
    """Sum from zero over ascending k, in float32 with a rounding after each multiplication and
    each addition (or in int64); one rounding to the result type at the end."""
    a, b = _AS_MATRICES[operation.name](left, right)
    shape = (*a.shape[:-1], b.shape[-1])
    if a.shape[:-2] + a.shape[-1:] != b.shape[:-1] or math.prod(shape) != outs.size:
        shapes = [list(array.shape) for array in (left, right, outs)]
        raise LoweringError(f"{place(operation)}: shapes {shapes} do not fit together")
    total = np.zeros(shape, outs.dtype)
    with np.errstate(all="ignore"):
        for k in range(a.shape[-1]):
            total = total + a[..., :, k, None] * b[..., None, k, :]
        result = outs + total.reshape(outs.shape)
    core.count(Column.OPS_PT, total.size * a.shape[-1])
    return typed(result, element_of(operation.result.type))
