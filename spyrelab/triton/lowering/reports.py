"""Prints, assertions and assumptions."""

from __future__ import annotations

from spyrelab.ktir.builder import Scalar
from spyrelab.ktir.dialects.arith import INTEGER_PREDICATES
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.programs import coordinate
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import TtirOperation

__all__ = ["device_print"]


@lowers("tt.print")
def device_print(kernel: Kernel, operation: TtirOperation) -> None:
    """``tl.device_print``: with the program's place in the grid."""
    b = kernel.b
    values = kernel.elements(kernel.values(operation))
    signed = operation.attributes.get("isSigned", ())
    unsigned = [
        number
        for number, (value, has_sign) in enumerate(zip(values, signed, strict=False))
        if not has_sign and value.dtype.is_integer
    ]
    places = [b.scalar_of(coordinate(kernel, axis)) for axis in range(3)]
    b.print_(
        operation.attributes["prefix"].strip().removesuffix(":"),
        *values,
        hex=bool(operation.attributes.get("hex")),
        program=places,
        unsigned=unsigned,
    )


@lowers("tt.assert")
def device_assert(kernel: Kernel, operation: TtirOperation) -> None:
    (condition,) = kernel.elements(kernel.values(operation))
    kernel.b.assert_(condition, operation.attributes["message"])


@lowers("llvm.intr.assume")
def assume(kernel: Kernel, operation: TtirOperation) -> None:
    """``tl.assume``: of use where it says that a number is not negative."""
    makers = kernel.makers
    pending = [operation.operands[0]]
    while pending:
        maker = makers.get(pending.pop())
        if maker is None:
            continue
        if maker.name == "arith.andi":
            pending += maker.operands
        elif maker.name == "arith.cmpi":
            _note_sign(kernel, maker)


def _note_sign(kernel: Kernel, comparison: TtirOperation) -> None:
    left, right = kernel.values(comparison)
    predicate = INTEGER_PREDICATES[comparison.attributes["predicate"]]
    if predicate in ("slt", "sle"):
        left, right = right, left
    if not isinstance(left, Scalar) or not isinstance(right, Scalar):
        return
    least = {"sge": 0, "sle": 0, "sgt": -1, "slt": -1}.get(predicate)
    if least is not None and right.constant is not None and right.constant >= least:
        kernel.b.never_negative(left)
