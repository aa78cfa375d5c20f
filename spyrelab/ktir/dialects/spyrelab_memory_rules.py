"""Rules of the operations on single elements of memory."""

from __future__ import annotations

from spyrelab.ktir.check import Check
from spyrelab.ktir.element_access import (
    FLOAT_KINDS,
    INTEGER_KINDS,
    STORED,
    ElementAccess,
    element_access,
)
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.types import I1, INDEX, Dimension, MemRefType, ScalarType, TensorType

Shape = tuple[Dimension, ...]


def gather(check: Check, operation: Operation) -> None:
    """The result has the shape of the offsets, in the row form with one more dimension."""
    access, element = _access(check, operation, takes_rows=True)
    wanted = TensorType(_moved_shape(operation, access), element)
    check.same(operation, "the result", operation.result.type, wanted)


def scatter(check: Check, operation: Operation) -> None:
    """The value has the shape that a gather would give."""
    access, element = _access(check, operation, takes_rows=True)
    _values(check, operation, access, TensorType(_moved_shape(operation, access), element))


def atomic_rmw(check: Check, operation: Operation) -> None:
    """Values and result have the shape of the offsets; the kind fits the element."""
    access, element = _access(check, operation, takes_rows=False)
    known = FLOAT_KINDS if element.is_float else INTEGER_KINDS
    kind = operation.attributes["kind"]
    if kind not in known:
        hint = did_you_mean(str(kind), known) or f"it is one of {', '.join(known)}"
        check.fail(operation, f"there is no {kind} of {element}", hint)
    _values_and_result(check, operation, access, element)


def atomic_cas(check: Check, operation: Operation) -> None:
    """Comparison, value and result have the shape of the offsets; they are whole numbers."""
    access, element = _access(check, operation, takes_rows=False)
    if element.is_float:
        hint = f"make a view of i{element.bits} on the same pointer, and bitcast the values"
        check.fail(operation, f"it compares whole numbers, not {element}", hint)
    _values_and_result(check, operation, access, element)


RULES = {
    "spyrelab.gather": gather,
    "spyrelab.scatter": scatter,
    "spyrelab.atomic_rmw": atomic_rmw,
    "spyrelab.atomic_cas": atomic_cas,
}
"""The rule of every operation on single elements."""


def _access(
    check: Check, operation: Operation, takes_rows: bool
) -> tuple[ElementAccess[Value], ScalarType]:
    least = STORED[operation.name] + 2
    rows = "extent" in operation.attributes
    if rows and not takes_rows:
        check.fail(operation, "an atomic operation takes no rows", "give an offset per element")
    most = least + 2 * rows + 1
    if not most - 1 <= len(operation.operands) <= most:
        count = len(operation.operands)
        check.fail(operation, f"it takes {most - 1} operands and perhaps a mask, not {count}")
    access = element_access(operation, operation.operands)
    view = access.view.type
    if not isinstance(view, MemRefType) or len(view.shape) != 1:
        hint = "make a view of one dimension on the same pointer"
        check.fail(operation, f"%{access.view.name} is a {view}, not a view of rank 1", hint)
    offsets = check.tensor(operation, "offsets", access.offsets)
    if not offsets.element.is_integer or offsets.element == I1:
        check.fail(operation, f"the offsets are a {offsets}", "use index, i32 or i64")
    if access.mask is not None:
        wanted = TensorType(offsets.shape, I1)
        check.same(operation, "the mask", access.mask.type, wanted)
    if rows:
        _row(check, operation, access)
    return access, view.element


def _row(check: Check, operation: Operation, access: ElementAccess[Value]) -> None:
    extent = operation.attributes["extent"]
    if type(extent) is not int or extent < 1:
        check.fail(operation, f"a row of {extent} elements", "give a positive number")
    for what, value in (("stride", access.stride), ("limit", access.limit)):
        if value is not None:
            check.same(operation, f"the {what}", value.type, INDEX)


def _moved_shape(operation: Operation, access: ElementAccess[Value]) -> Shape:
    kind = access.offsets.type
    assert isinstance(kind, TensorType)
    extent = operation.attributes.get("extent")
    return kind.shape if extent is None else (*kind.shape, extent)


def _values(
    check: Check, operation: Operation, access: ElementAccess[Value], wanted: TensorType
) -> None:
    for value in access.values:
        check.same(operation, f"%{value.name}", value.type, wanted)


def _values_and_result(
    check: Check, operation: Operation, access: ElementAccess[Value], element: ScalarType
) -> None:
    wanted = TensorType(_moved_shape(operation, access), element)
    _values(check, operation, access, wanted)
    check.same(operation, "the result", operation.result.type, wanted)
