"""Arithmetic, functions and casts of floats: one operation of KTIR each."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.builder_values import Element
from spyrelab.ktir.types import F32, I8, I16, ScalarType, TensorType
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import TtirOperation, element_type

__all__ = ["apply", "converted"]

_SAME = {
    *("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.negf"),
    *("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
    *("math.exp", "math.exp2", "math.log", "math.log2", "math.log10", "math.log1p", "math.expm1"),
    *("math.sqrt", "math.rsqrt", "math.cbrt", "math.sin", "math.cos", "math.tan", "math.asin"),
    *("math.acos", "math.atan", "math.sinh", "math.cosh", "math.tanh", "math.asinh", "math.acosh"),
    *("math.atanh", "math.erf", "math.erfc", "math.absf", "math.ceil", "math.floor", "math.round"),
    *("math.roundeven", "math.trunc", "math.powf", "math.atan2", "math.copysign", "math.fma"),
    *("math.absi", "math.ctpop", "math.ctlz", "math.cttz", "math.ipowi"),
}
_SPELLED = {
    "tt.precise_divf": "arith.divf",
    "tt.precise_sqrt": "math.sqrt",
}


def apply(kernel: Kernel, name: str, *operands: Any, to: ScalarType | None = None) -> Any:
    """An elementwise operation on scalars and tensors of one shape; ``to``: the result's type."""
    b = kernel.b
    wide = [operand for operand in operands if isinstance(operand, Tensor)]
    if wide:
        like = wide[0]
        operands = tuple(b.lifted(operand, like) for operand in operands)
        return b.pure(name, operands, TensorType(like.shape, to or like.dtype))
    known = next(operand for operand in operands if isinstance(operand, Scalar))
    operands = tuple(b.lifted(operand, known) for operand in operands)
    return b.pure(name, operands, to or known.dtype)


@lowers(*_SAME, *_SPELLED)
def elementwise(kernel: Kernel, operation: TtirOperation) -> None:
    name = _SPELLED.get(operation.name, operation.name)
    operands = kernel.elements(kernel.values(operation))
    kernel.define(operation.result, kernel.wrapped(apply(kernel, name, *operands)))


@lowers("tt.clampf")
def clamp(kernel: Kernel, operation: TtirOperation) -> None:
    """Between two bounds; ``propagateNan`` decides whether NaN stays."""
    value, low, high = kernel.elements(kernel.values(operation))
    keeps_nan = bool(operation.attributes.get("propagateNan"))
    most, least = ("maximumf", "minimumf") if keeps_nan else ("maxnumf", "minnumf")
    raised = apply(kernel, f"arith.{most}", value, low)
    kernel.define(operation.result, kernel.wrapped(apply(kernel, f"arith.{least}", raised, high)))


@lowers("arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.extf")
def cast(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.elements(kernel.values(operation))
    target = element_type(operation.result.type)
    kernel.define(
        operation.result, kernel.wrapped(apply(kernel, operation.name, source, to=target))
    )


@lowers("arith.truncf", "tt.fp_to_fp")
def float_to_float(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.elements(kernel.values(operation))
    target = element_type(operation.result.type)
    to_zero = operation.attributes.get("rounding") == 0
    result = converted(kernel, source, target)
    if to_zero and target.bits < source.dtype.bits:
        result = _toward_zero(kernel, source, result)
    kernel.define(operation.result, kernel.wrapped(result))


def converted(kernel: Kernel, source: Element, target: ScalarType) -> Any:
    """A float in another float type, rounded to nearest even."""
    return kernel.b.cast(source, target)


def _toward_zero(kernel: Kernel, source: Any, nearest: Any) -> Any:
    """The neighbour of ``nearest`` that is not farther from zero than ``source``."""
    bits = {8: I8, 16: I16}[nearest.dtype.bits]
    wide = source.dtype if source.dtype == F32 else F32
    back = apply(kernel, "arith.extf", nearest, to=wide)
    original = source if source.dtype == wide else apply(kernel, "arith.extf", source, to=wide)
    larger = kernel.b.compare(
        "gt", apply(kernel, "math.absf", back), apply(kernel, "math.absf", original)
    )
    pattern = apply(kernel, "arith.bitcast", nearest, to=bits)
    one_less = apply(kernel, "arith.subi", pattern, 1)
    chosen = kernel.b.select(larger, one_less, pattern)
    return apply(kernel, "arith.bitcast", chosen, to=nearest.dtype)
