"""Pointer arithmetic, and the choice between two values of any kind."""

from __future__ import annotations

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import INDEX
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.floats import apply
from spyrelab.triton.lowering.integers import joint_shape
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import Origin, Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.sums import merged, scaled
from spyrelab.triton.lowering.truths import as_numbers
from spyrelab.triton.ttir import PointerType, TtirOperation, element_type

__all__ = ["joined_origin", "shifted"]


@lowers("tt.addptr")
def add_pointer(kernel: Kernel, operation: TtirOperation) -> None:
    pointer, offset = kernel.values(operation)
    assert isinstance(pointer, Pointer)
    kernel.define(operation.result, shifted(kernel, pointer, offset))


def shifted(kernel: Kernel, pointer: Pointer, offset: Value) -> Pointer:
    """Pointers some elements further on."""
    b, old = kernel.b, pointer.offset
    shape = pointer.shape or joint_shape([offset]) or ()
    if isinstance(offset, Scalar):
        base = b.plus(old.base, b.index(offset))
        return Pointer(pointer.origin, pointer.element, Lanes(b, shape, INDEX, base, old.terms))
    lanes = kernel.lanes(offset, shape)
    terms = merged(b, (*old.terms, *lanes.terms))
    base = b.plus(old.base, lanes.base)
    return Pointer(pointer.origin, pointer.element, Lanes(b, shape, INDEX, base, terms))


@lowers("tt.bitcast", "arith.bitcast")
def bitcast(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    target = operation.result.type
    if isinstance(source, Pointer):
        assert isinstance(target, PointerType)
        kernel.define(operation.result, _recast(kernel, source, target))
        return
    element = element_type(target)
    tensor = kernel.element(source)
    if tensor.dtype == element:
        kernel.define(operation.result, source)
        return
    kernel.define(
        operation.result, kernel.wrapped(apply(kernel, "arith.bitcast", tensor, to=element))
    )


def _recast(kernel: Kernel, source: Pointer, target: PointerType) -> Pointer:
    """The same places as elements of another type."""
    b = kernel.b
    before, after = source.element.itemsize, target.pointee.itemsize
    if before == after:
        return Pointer(source.origin, target.pointee, source.offset)
    if before % after == 0:
        offset = scaled(source.offset, before // after)
        return Pointer(source.origin, target.pointee, offset)
    if not source.offset.terms:
        base = b.floor_divided(source.offset.base, after // before)
        lanes = Lanes(b, source.shape, INDEX, base, ())
        return Pointer(source.origin, target.pointee, lanes)
    raise unsupported(
        f"pointers to {source.element} become pointers to the larger {target.pointee}",
        b.location,
        "cast the argument before adding offsets to it",
    )


@lowers("arith.select")
def select(kernel: Kernel, operation: TtirOperation) -> None:
    condition, left, right = kernel.values(operation)
    kernel.define(operation.result, chosen(kernel, condition, left, right))


def chosen(kernel: Kernel, condition: Value, left: Value, right: Value) -> Value:
    """``left`` where the condition holds, else ``right``."""
    b = kernel.b
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        return _chosen_pointer(kernel, condition, left, right)
    shape = joint_shape([left, right])
    if isinstance(condition, Scalar):
        if shape is None or not isinstance(left, Lanes) or not isinstance(right, Lanes):
            result = b.select(condition, *kernel.elements([left, right]))
            known = [x for x in (left, right) if isinstance(x, Scalar)]
            if isinstance(result, Scalar) and all(map(b.is_not_negative, known)):
                b.never_negative(result)
            return kernel.wrapped(result)
        return _chosen_lanes(kernel, condition, left, right)
    assert shape is not None or isinstance(condition, Mask)
    if isinstance(left, Lanes) or isinstance(right, Lanes):
        assert shape is not None
        first, second = kernel.lanes(left, shape), kernel.lanes(right, shape)

        def make() -> Tensor:
            made: Tensor = b.select(kernel.element(condition), first.tensor(), second.tensor())
            return made

        if isinstance(condition, Mask) and _is_number(first, 1) and _is_number(second, 0):
            return as_numbers(condition, first.dtype, make)
        return Lanes.computed(b, shape, first.dtype, make)
    holds, x, y = kernel.elements([condition, left, right])
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        x = b.splat(x, holds.shape)
    return kernel.wrapped(b.select(holds, x, y))


def _is_number(lanes: Lanes, number: int) -> bool:
    return not lanes.terms and lanes.base == number


def _chosen_lanes(kernel: Kernel, condition: Scalar, left: Lanes, right: Lanes) -> Lanes:
    b = kernel.b

    def make() -> Tensor:
        made: Tensor = b.select(condition, left.tensor(), right.tensor())
        return made

    if left.has_terms_of(right):
        base = b.if_else(condition, left.base, right.base)
        return Lanes(b, left.shape, left.dtype, base, left.terms, make)
    return Lanes.computed(b, left.shape, left.dtype, make)


def _chosen_pointer(kernel: Kernel, condition: Value, left: Pointer, right: Pointer) -> Pointer:
    if not isinstance(condition, Scalar):
        if left.origin is not right.origin:
            raise unsupported(
                "a mask chooses between pointers of two arguments",
                kernel.b.location,
                "load through both with opposite masks and choose between the values",
            )
        offset = chosen(kernel, condition, left.offset, right.offset)
    else:
        offset = _chosen_lanes(kernel, condition, left.offset, right.offset)
    assert isinstance(offset, Lanes)
    origin = left.origin
    if right.origin is not origin:
        assert isinstance(condition, Scalar)
        origin = joined_origin(kernel, condition, left, right)
    return Pointer(origin, left.element, offset)


def joined_origin(kernel: Kernel, condition: Scalar, left: Pointer, right: Pointer) -> Origin:
    """The origin of pointers that come from one of two arguments."""
    b = kernel.b
    first, second = (kernel.address(p.origin, left.element) for p in (left, right))
    with b.near([condition, first, second]):
        address = b.select(condition, first, second)
    written = left.origin.is_written or right.origin.is_written
    return Origin("", -1, {left.element.itemsize: address}, written)
