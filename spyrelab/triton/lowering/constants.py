"""Constants: numbers and tensors written in the kernel."""

from __future__ import annotations

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.ir import DenseElements
from spyrelab.ktir.types import I1, ScalarType, TensorType
from spyrelab.triton.lowering.kernel import Kernel, Value, ktir_type
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.shapes import splatted
from spyrelab.triton.ttir import TtirOperation, TtirType

__all__ = ["zero"]


@lowers("arith.constant")
def constant(kernel: Kernel, operation: TtirOperation) -> None:
    """Literals; equal ones share an operation at the top of the function."""
    b, value = kernel.b, operation.attributes["value"]
    kind = ktir_type(operation.result.type)
    if isinstance(kind, ScalarType):
        kernel.define(operation.result, b.constant(value, kind))
        return
    assert isinstance(value, DenseElements)
    shape = tuple(extent or 0 for extent in kind.shape)
    if value.is_splat:
        kernel.define(
            operation.result, splatted(kernel, b.constant(value.values[0], kind.element), shape)
        )
        return
    table = Tensor(b, b.shared_constant(value, TensorType(shape, kind.element), "table"), None)
    kernel.define(operation.result, kernel.wrapped(table))


@lowers("ub.poison")
def poison(kernel: Kernel, operation: TtirOperation) -> None:
    """A value that nothing may depend on."""
    kernel.define(operation.result, zero(kernel, operation.result.type))


def zero(kernel: Kernel, kind: TtirType) -> Value:
    """Zero of a type of numbers."""
    b, known = kernel.b, ktir_type(kind)
    if isinstance(known, ScalarType):
        return b.constant(0, known)
    shape = tuple(extent or 0 for extent in known.shape)
    if known.element == I1:
        return Mask(b, shape, [b.constant(False, I1)])
    return splatted(kernel, b.constant(0, known.element), shape)
