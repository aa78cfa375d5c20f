"""Atomic operations: element by element in the order of programs."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.triton.arguments import AccessKind
from spyrelab.triton.lowering.access import Access, access_of
from spyrelab.triton.lowering.gathers import elements_of
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.memory import mask_of
from spyrelab.triton.lowering.pointers import Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import TtirOperation

__all__ = ["apply_atomic"]

_KINDS = ("", "and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "xchg")


@lowers("tt.atomic_rmw")
def read_modify_write(kernel: Kernel, operation: TtirOperation) -> None:
    pointer, value, *rest = kernel.values(operation)
    assert isinstance(pointer, Pointer)
    mask = mask_of(kernel, rest[0], pointer.shape) if rest else None
    access = access_of(kernel, pointer, mask)
    kernel.note("atomic_rmw", pointer.origin, AccessKind.ATOMIC)
    kind = _KINDS[operation.attributes["atomic_rmw_op"]]
    result = apply_atomic(kernel, access, kind, kernel.element(value))
    kernel.define(operation.result, kernel.wrapped(result))


def apply_atomic(kernel: Kernel, access: Access, kind: str, value: Any) -> Any:
    """What the elements of an access held before ``kind`` was done to them."""
    b = kernel.b
    found = elements_of(kernel, access, rows=False)
    tensor = _tensor(kernel, value, found.offsets)
    before = b.atomic_rmw(kind, tensor, found.view, found.offsets, found.mask)
    return before if access.shape else before.item(0)


@lowers("tt.atomic_cas")
def compare_and_swap(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    pointer, *values = kernel.values(operation)
    assert isinstance(pointer, Pointer)
    kernel.note("atomic_cas", pointer.origin, AccessKind.ATOMIC)
    found = elements_of(kernel, access_of(kernel, pointer, None), rows=False)
    compare, new = (_tensor(kernel, v, found.offsets) for v in kernel.elements(values))
    before = b.atomic_cas(compare, new, found.view, found.offsets)
    result = before if pointer.shape else before.item(0)
    kernel.define(operation.result, kernel.wrapped(result))


def _tensor(kernel: Kernel, value: Any, like: Tensor) -> Tensor:
    if isinstance(value, Scalar):
        return kernel.b.splat(value, like.shape)
    assert isinstance(value, Tensor)
    return value
