"""Pointers made from numbers: addresses that the host took with ``data_ptr()``, as in tables.

They count from where the host sees the first byte of the card's memory. No argument says what
they may touch, so the sanitizer takes any live allocation for meant.
"""

from __future__ import annotations

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import INDEX
from spyrelab.triton.arguments import KernelArgument, Role
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.pointers import MEMORY, Origin, Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import PointerType, TtirOperation

__all__ = ["int_to_ptr"]

_SIZES = (1, 2, 4, 8)


@lowers("tt.int_to_ptr")
def int_to_ptr(kernel: Kernel, operation: TtirOperation) -> None:
    b, kind = kernel.b, operation.result.type
    assert isinstance(kind, PointerType)
    number = kernel.element(kernel.value(operation.operands[0]))
    origin, base, size = _memory(kernel), _host_base(kernel), kind.pointee.itemsize
    if isinstance(number, Scalar):
        place = b.floor_divided(b.minus(b.index(number), base), size)
        offset = Lanes(b, (), INDEX, place, ())
    else:
        tensor = number

        def make() -> Tensor:
            places: Tensor = (b.cast(tensor, INDEX) - base) // size
            return places

        offset = Lanes.computed(b, kind.shape or (), INDEX, make)
    kernel.define(operation.result, Pointer(origin, kind.pointee, offset))


def _memory(kernel: Kernel) -> Origin:
    """The first byte of the card's memory, from which such pointers count."""
    if kernel.memory is None:
        first = kernel.b.constant(0)
        kernel.memory = Origin("memory", MEMORY, dict.fromkeys(_SIZES, first))
    return kernel.memory


def _host_base(kernel: Kernel) -> Scalar:
    if kernel.host_base is None:
        kernel.host_base = kernel.argument(KernelArgument("host_base", Role.HOST_BASE, 0))
    return kernel.host_base
