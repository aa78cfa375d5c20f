"""Loads and stores through pointers."""

from __future__ import annotations

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import I1
from spyrelab.triton.arguments import AccessKind
from spyrelab.triton.lowering.access import Access, Form, access_of
from spyrelab.triton.lowering.boxes import load_box, store_box
from spyrelab.triton.lowering.control import branch
from spyrelab.triton.lowering.deferred import Deferred
from spyrelab.triton.lowering.gathers import load_elements, store_elements
from spyrelab.triton.lowering.indirect import load_indirect, store_indirect
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.loaded import Loaded
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.reshapes import regrouped
from spyrelab.triton.lowering.signs import divides_alike
from spyrelab.triton.lowering.turned import Turned
from spyrelab.triton.lowering.unfold import unfolded
from spyrelab.triton.lowering.wraps import unwrapped
from spyrelab.triton.ttir import TtirOperation

__all__ = ["mask_of"]


def mask_of(kernel: Kernel, value: Value, shape: tuple[int, ...]) -> Mask:
    """A mask operand: a tensor of i1, or one i1 for all."""
    if isinstance(value, Mask):
        return value
    assert isinstance(value, Scalar)
    return Mask(kernel.b, shape, [value])


@lowers("tt.load")
def load(kernel: Kernel, operation: TtirOperation) -> None:
    pointer, *rest = kernel.values(operation)
    assert isinstance(pointer, Pointer)
    _, has_mask, has_other = operation.attributes["operandSegmentSizes"]
    mask = mask_of(kernel, rest[0], pointer.shape) if has_mask else None
    other = rest[-1] if has_other else None
    access = access_of(kernel, pointer, mask)
    _note(kernel, "load", access)
    kernel.define(operation.result, _loaded(kernel, access, other))


def _note(kernel: Kernel, operation: str, access: Access) -> None:
    form = unfolded(kernel, access).form
    why, advice = access.why, access.advice
    if form is Form.INDIRECT and divides_alike(kernel, access.offset) is not None:
        why = "gathered where a dividend is negative"
    if operation == "load":
        guarded = unwrapped(kernel, access)
        if guarded is not None:
            form, why = guarded[1].form, "only blocks that wrap around are gathered"
            advice = "mask the rows that do not exist instead of wrapping around"
    kernel.note(operation, access.origin, AccessKind(form.value), why, advice)


def _loaded(kernel: Kernel, access: Access, other: Value | None) -> Value:
    """The loaded value; indices of tables that nobody writes are not loaded before they are
    needed."""
    b = kernel.b
    fill = None if other is None or _is_zero(kernel, other) else other
    whole = access.element.is_integer and access.element.bits > 1
    table = whole and access.shape and access.form is not Form.GATHER and fill is None
    if table and not access.origin.is_written and _is_one_level(access):

        def make() -> Tensor:
            tensor = kernel.element(_moved(kernel, access))
            assert isinstance(tensor, Tensor)
            return tensor

        value = Deferred(b, access.shape, access.element, make)
        source = Loaded(value, access.origin, access.element, access.offset, access.mask)
        return Lanes.of(source, b, access.shape, access.element)
    result = _moved(kernel, access)
    if fill is not None:
        condition = access.mask.tensor() if access.shape else b.all_of(access.mask.conditions)
        result = b.select(condition, kernel.element(result), kernel.element(fill))
    if isinstance(result, Turned) and not access.element.is_float:
        result = result.tensor()
    return result if isinstance(result, Turned) else kernel.wrapped(kernel.element(result))


def _is_one_level(access: Access) -> bool:
    return not any(isinstance(term.source, Loaded) for term in access.offset.terms)


def _moved(kernel: Kernel, access: Access) -> Value:
    """The elements of an access in its best form."""
    guarded = unwrapped(kernel, access)
    if guarded is not None:
        condition, straight = guarded
        sides = (
            lambda: [kernel.wrapped(kernel.element(_moved(kernel, straight)))],
            lambda: [kernel.wrapped(kernel.element(load_elements(kernel, access)))],
        )
        return branch(kernel, condition, sides)[0]
    if access.form is Form.GATHER:
        return load_elements(kernel, access)
    alike = divides_alike(kernel, access.offset)
    if alike is not None:
        ways = (
            lambda: [kernel.wrapped(kernel.element(_directly(kernel, access)))],
            lambda: [kernel.wrapped(kernel.element(load_elements(kernel, access)))],
        )
        return branch(kernel, alike, ways)[0]
    return _directly(kernel, access)


def _directly(kernel: Kernel, access: Access) -> Value:
    """The elements of a box or an indirect tile."""
    split = unfolded(kernel, access)
    if split.form is Form.INDIRECT:
        return load_indirect(kernel, split)
    result = load_box(kernel, split)
    if split.shape == access.shape:
        return result
    return regrouped(kernel.b, kernel.element(result), access.shape)


def _is_zero(kernel: Kernel, value: Value) -> bool:
    """Whether a value is the constant zero everywhere."""
    if isinstance(value, Scalar):
        return value.constant == 0
    if isinstance(value, Lanes):
        return not value.terms and value.base == 0 and isinstance(value.base, int)
    return isinstance(value, Tensor) and kernel.splats.get(value.value) == 0


@lowers("tt.store")
def store(kernel: Kernel, operation: TtirOperation) -> None:
    pointer, value, *rest = kernel.values(operation)
    assert isinstance(pointer, Pointer)
    mask = mask_of(kernel, rest[0], pointer.shape) if rest else None
    access = access_of(kernel, pointer, mask)
    _note(kernel, "store", access)
    element = kernel.element(value)
    if element.dtype == I1 and pointer.element != I1:
        element = kernel.b.cast(element, pointer.element)
    _write(kernel, access, element)


def _write(kernel: Kernel, access: Access, element: Scalar | Tensor) -> None:
    """Store in the best form of an access."""
    if access.form is Form.GATHER:
        store_elements(kernel, access, element)
        return
    alike = divides_alike(kernel, access.offset)
    if alike is None:
        _write_directly(kernel, access, element)
        return

    def directly() -> list[Value]:
        _write_directly(kernel, access, element)
        return []

    def one_by_one() -> list[Value]:
        store_elements(kernel, access, element)
        return []

    branch(kernel, alike, (directly, one_by_one))


def _write_directly(kernel: Kernel, access: Access, element: Scalar | Tensor) -> None:
    split = unfolded(kernel, access)
    if isinstance(element, Tensor) and split.shape != access.shape:
        element = regrouped(kernel.b, element, split.shape)
    if split.form is Form.BOX:
        store_box(kernel, split, element)
    else:
        assert isinstance(element, Tensor)
        store_indirect(kernel, split, element)
