"""Matrix products."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.types import F16
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.turned import Turned
from spyrelab.triton.ttir import TtirOperation

__all__ = ["dot", "product"]


@lowers("tt.dot")
def dot(kernel: Kernel, operation: TtirOperation) -> None:
    """``c + a @ b``: sums in f32 (whole numbers: i32), rounded once to the type of ``c``."""
    left, right, into = kernel.values(operation)
    kernel.define(operation.result, product(kernel, left, right, kernel.element(into)))


def product(kernel: Kernel, left: Value, right: Value, into: Tensor) -> Tensor:
    """``into + left @ right``; a matrix that was only turned is read as it lies."""
    b = kernel.b
    if _is_flipped(right):
        x, y = _alike(kernel, kernel.element(left), right.source)  # type: ignore[union-attr]
        return b.matmul(x, y, into, transpose_right=True)
    if not _is_flipped(left):
        x, y = _alike(kernel, kernel.element(left), kernel.element(right))
        return b.matmul(x, y, into)
    x, y = _alike(kernel, left.source, kernel.element(right))  # type: ignore[union-attr]
    name = "batch_matmul_transpose_a" if x.rank == 3 else "matmul_transpose_a"
    made = b.emit(f"linalg.{name}", [x, y, into], [into.type], {"inputs": 2}, hint="product")
    return b.tensor(made[0])


def _is_flipped(value: Value) -> bool:
    """Whether a matrix was never turned, so that the product may read it as it is."""
    return isinstance(value, Turned) and value.swaps_last_two and value.made is None


def _alike(kernel: Kernel, x: Any, y: Any) -> tuple[Any, Any]:
    """Operands of one type: two kinds of fp8 meet in f16, which holds both exactly."""
    if x.dtype == y.dtype:
        return x, y
    return kernel.b.cast(x, F16), kernel.b.cast(y, F16)
