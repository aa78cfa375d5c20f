"""Tensor descriptors: a view of the whole tensor, and blocks of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spyrelab.ktir.builder import Scalar, Tensor, View
from spyrelab.ktir.types import INDEX
from spyrelab.triton.arguments import AccessKind
from spyrelab.triton.lowering.access import Access, Form
from spyrelab.triton.lowering.atomics import apply_atomic
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.gathers import load_elements, store_elements
from spyrelab.triton.lowering.kernel import Kernel, Value, tensor_shape
from spyrelab.triton.lowering.lanes import Iota, Lanes, Term
from spyrelab.triton.lowering.masks import Mask, Piece, Side
from spyrelab.triton.lowering.pointers import Descriptor, Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.reshapes import regrouped
from spyrelab.triton.lowering.sums import merged, scaled
from spyrelab.triton.ttir import DescriptorType, TtirOperation

__all__ = ["block_access"]

_KINDS = ("", "add", "min", "max", "", "", "and", "or", "xor")
_NAN = 2


@lowers("tt.make_tensor_descriptor")
def make_descriptor(kernel: Kernel, operation: TtirOperation) -> None:
    """Whatever lies outside of its sizes reads as zero (or NaN) and is not written."""
    pointer, *numbers = kernel.values(operation)
    kind = operation.result.type
    assert isinstance(pointer, Pointer)
    assert isinstance(kind, DescriptorType)
    indices = [kernel.b.index(number) for number in numbers if isinstance(number, Scalar)]
    rank = len(kind.shape)
    sizes, strides = tuple(indices[:rank]), tuple(indices[rank:])
    fills_nan = operation.attributes.get("padding") == _NAN
    kernel.define(operation.result, Descriptor(pointer, sizes, strides, kind.shape, fills_nan))


def _view(kernel: Kernel, descriptor: Descriptor) -> View:
    """The whole tensor."""
    b, pointer = kernel.b, descriptor.pointer
    start = b.plus(kernel.address(pointer.origin, pointer.element), pointer.offset.base)
    sizes = [kernel.computed(s) if isinstance(s, int) else s for s in descriptor.sizes]
    dims = list(zip(sizes, descriptor.strides, strict=True))
    return kernel.view(pointer.origin, pointer.element, start, dims)


def _corner(kernel: Kernel, places: Sequence[Value]) -> tuple[Index, ...]:
    return tuple(kernel.b.index(place) for place in places if isinstance(place, Scalar))


@lowers("tt.descriptor_load")
def descriptor_load(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    descriptor, *places = kernel.values(operation)
    assert isinstance(descriptor, Descriptor)
    kernel.note("load", descriptor.pointer.origin, AccessKind.DESCRIPTOR)
    corner = _corner(kernel, places)
    view = _view(kernel, descriptor)
    tensor = b.load(view[tuple(map(b.scalar_of, corner))], descriptor.block)
    if descriptor.fills_nan and tensor.dtype.is_float:
        inside = block_access(kernel, descriptor, corner).mask.tensor()
        nan = b.full(descriptor.block, math.nan, tensor.dtype)
        tensor = b.select(inside, tensor, nan)
    shape = tensor_shape(operation.result.type)
    kernel.define(operation.result, kernel.wrapped(regrouped(b, tensor, shape)))


@lowers("tt.descriptor_store")
def descriptor_store(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    descriptor, value, *places = kernel.values(operation)
    assert isinstance(descriptor, Descriptor)
    kernel.note("store", descriptor.pointer.origin, AccessKind.DESCRIPTOR)
    view = _view(kernel, descriptor)
    tensor = regrouped(b, kernel.element(value), descriptor.block)
    b.store(tensor, view[tuple(map(b.scalar_of, _corner(kernel, places)))])


@lowers("tt.descriptor_reduce")
def descriptor_reduce(kernel: Kernel, operation: TtirOperation) -> None:
    descriptor, value, *places = kernel.values(operation)
    assert isinstance(descriptor, Descriptor)
    tensor = kernel.element(value)
    kind = _KINDS[operation.attributes["kind"]]
    if not kind:
        raise unsupported("a descriptor that counts up or down", operation.location)
    if tensor.dtype.is_float and kind != "add":
        raise unsupported(
            f"a descriptor's atomic {kind} of floats", operation.location, "use atomic_add"
        )
    kernel.note("atomic", descriptor.pointer.origin, AccessKind.ATOMIC)
    access = block_access(kernel, descriptor, _corner(kernel, places))
    block = regrouped(kernel.b, tensor, descriptor.block)
    apply_atomic(kernel, access, "fadd" if tensor.dtype.is_float else kind, block)


def block_access(kernel: Kernel, descriptor: Descriptor, corner: Sequence[Index]) -> Access:
    """The elements of a block by their offsets; masked where they lie outside."""
    b, pointer = kernel.b, descriptor.pointer
    base = pointer.offset.base
    terms: list[Term] = []
    sides: list[Side] = []
    axes = zip(corner, descriptor.sizes, descriptor.strides, descriptor.block, strict=True)
    for axis, (place, size, stride, extent) in enumerate(axes):
        base = b.plus(base, b.times(place, stride))
        if extent > 1:
            terms.append(Term(Iota(b, extent), (axis,), stride))
        sides.append(Side(axis, False, b.minus(size, place)))
        if not b.is_not_negative(place):
            sides.append(Side(axis, True, b.minus(0, place)))
    offset = Lanes(b, descriptor.block, INDEX, base, merged(b, terms))
    mask = Mask(b, descriptor.block, (), sides)
    return Access(pointer.origin, pointer.element, descriptor.block, offset, mask, Form.GATHER)


@lowers("tt.descriptor_gather")
def descriptor_gather(kernel: Kernel, operation: TtirOperation) -> None:
    descriptor, rows, column = kernel.values(operation)
    assert isinstance(descriptor, Descriptor)
    access = _rows(kernel, descriptor, rows, column)
    kernel.note("load", access.origin, AccessKind.INDIRECT)
    kernel.define(operation.result, load_elements(kernel, access))


@lowers("tt.descriptor_scatter")
def descriptor_scatter(kernel: Kernel, operation: TtirOperation) -> None:
    descriptor, rows, column, value = kernel.values(operation)
    assert isinstance(descriptor, Descriptor)
    access = _rows(kernel, descriptor, rows, column)
    kernel.note("store", access.origin, AccessKind.INDIRECT)
    store_elements(kernel, access, kernel.element(value))


def _rows(kernel: Kernel, descriptor: Descriptor, rows: Value, column: Value) -> Access:
    """Rows of a matrix by number, from one column on."""
    b, pointer = kernel.b, descriptor.pointer
    assert isinstance(rows, Lanes)
    assert isinstance(column, Scalar)
    count, extent = rows.shape[0], descriptor.block[-1]
    shape, first = (count, extent), b.index(column)
    scaled_rows = scaled(rows, descriptor.strides[0])
    base = b.plus(pointer.offset.base, b.times(first, descriptor.strides[1]))
    terms = (*scaled_rows.terms, Term(Iota(b, extent), (1,), descriptor.strides[1]))
    offset = Lanes(b, shape, INDEX, b.plus(base, scaled_rows.base), merged(b, terms))

    def make() -> Tensor:
        numbers = b.cast(rows.tensor(), INDEX)
        limit = b.splat(b.scalar_of(descriptor.sizes[0]), (count,))
        made: Tensor = b.compare("lt", numbers, limit)
        return made

    holds = Mask.computed(b, (count,), make)
    pieces = [Piece(piece.value, piece.axes) for piece in holds.pieces]
    limit = Side(1, False, b.minus(descriptor.sizes[1], first))
    mask = Mask(b, shape, (), [limit], pieces)
    return Access(pointer.origin, pointer.element, shape, offset, mask, Form.GATHER)
