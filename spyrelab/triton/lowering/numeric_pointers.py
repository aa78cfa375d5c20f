"""Pointers made from numbers, and numbers made from pointers.

The numbers are what the host gets from ``data_ptr()``, as in tables: they count from where the
host sees the first byte of the card's memory. No argument says what pointers made from them may
touch, so the sanitizer takes any live allocation for meant.
"""

from __future__ import annotations

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import INDEX
from spyrelab.triton.arguments import KernelArgument, Role
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.pointers import MEMORY, Origin, Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.sums import scaled
from spyrelab.triton.ttir import PointerType, TtirOperation, element_type

__all__ = ["int_to_ptr", "ptr_to_int"]

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


@lowers("tt.ptr_to_int")
def ptr_to_int(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    (pointer,) = kernel.values(operation)
    assert isinstance(pointer, Pointer)
    bytes_on = scaled(pointer.offset, pointer.element.itemsize)
    start = b.plus(_host_address(kernel, pointer.origin), bytes_on.base)
    kind = element_type(operation.result.type)
    if pointer.is_single:
        number = b.scalar_of(start, kind)
        kernel.addresses.add(number.value)
        kernel.define(operation.result, number)
    else:
        # Nothing is known of an address, or comparisons with it would pass for bounds.
        numbers = Lanes(b, pointer.shape, INDEX, start, bytes_on.terms)

        def make() -> Tensor:
            made: Tensor = b.cast(numbers.tensor(), kind)
            return made

        kernel.define(operation.result, Lanes.computed(b, pointer.shape, kind, make))


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


def _host_address(kernel: Kernel, origin: Origin) -> Scalar:
    """Where the host sees what pointers of an origin start from."""
    if origin.number == MEMORY:
        return _host_base(kernel)
    if origin.number < 0:
        raise unsupported(
            "the address of a pointer that may come from several arguments",
            kernel.b.location,
            "take the addresses of the arguments themselves",
        )
    if origin not in kernel.host_addresses:
        entry = KernelArgument(f"{origin.name}_address", Role.ADDRESS, origin.number)
        kernel.host_addresses[origin] = kernel.argument(entry)
    return kernel.host_addresses[origin]
