"""Whole numbers: addition and multiplication of sums, division, everything else as computed."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import I1, I32, I64, INDEX, ScalarType, TensorType
from spyrelab.triton.lowering.deferred import Deferred
from spyrelab.triton.lowering.floats import apply
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Iota, Lanes, Term, Wrapped
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.spread import iota
from spyrelab.triton.lowering.sums import added, cast_lanes, divided, lifted, scaled
from spyrelab.triton.lowering.truths import as_mask, as_numbers
from spyrelab.triton.ttir import TtirOperation, element_type

__all__ = ["binary", "joint_shape", "operate"]

_KEEP_SIGN = {
    *("arith.addi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui"),
    *("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.andi", "arith.shrsi"),
}
_NAMES = {
    *("arith.shli", "arith.shrsi", "arith.shrui", "arith.minsi", "arith.maxsi", "arith.minui"),
    *("arith.maxui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"),
    *("arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi"),
    *("arith.remui", "arith.andi", "arith.ori", "arith.xori"),
}


def joint_shape(values: list[Value]) -> tuple[int, ...] | None:
    """The shape of the tensors among values; None if all are scalars."""
    for value in values:
        if isinstance(value, Tensor):
            return tuple(extent or 0 for extent in value.shape)
        if not isinstance(value, Scalar):
            return value.shape  # type: ignore[union-attr]
    return None


@lowers(*_NAMES)
def integer_operation(kernel: Kernel, operation: TtirOperation) -> None:
    left, right = kernel.values(operation)
    kernel.define(operation.result, binary(kernel, operation.name, left, right))


def binary(kernel: Kernel, name: str, left: Value, right: Value) -> Value:
    """A two-operand operation on whole numbers or truth values."""
    shape = joint_shape([left, right])
    if shape is None:
        return _on_scalars(kernel, name, left, right)  # type: ignore[arg-type]
    if isinstance(left, Mask) or isinstance(right, Mask):
        return _on_masks(kernel, name, left, right, shape)
    a, c = kernel.lanes(left, shape), kernel.lanes(right, shape)
    return operate(kernel, name, a, c)


def _on_scalars(kernel: Kernel, name: str, left: Scalar, right: Scalar) -> Scalar:
    b = kernel.b
    x, y = left.constant, right.constant
    if name == "arith.addi" and (x == 0 or y == 0) and left.dtype != I1:
        return right if x == 0 else left
    if name == "arith.muli" and 1 in (x, y) and left.dtype != I1:
        return right if x == 1 else left
    if name in ("arith.divsi", "arith.divui") and y == 1:
        return left
    made: Scalar = b.pure(name, (left, right), left.dtype, hint=name.removeprefix("arith."))
    signs = b.is_not_negative(left), b.is_not_negative(right)
    masked = name in ("arith.andi", "arith.maxsi") and any(signs)
    if masked or (all(signs) and name in _KEEP_SIGN):
        b.never_negative(made)
    return made


def _on_masks(
    kernel: Kernel, name: str, left: Value, right: Value, shape: tuple[int, ...]
) -> Value:
    b = kernel.b
    sides = [
        value if not isinstance(value, Scalar) else Mask(b, shape, [value])
        for value in (left, right)
    ]
    first, second = sides
    # Of truth values a product is what "and" is.
    both = name in ("arith.andi", "arith.muli")
    if both and isinstance(first, Mask) and isinstance(second, Mask):
        return first.both(second)

    def make() -> Tensor:
        pair = [lifted(b, kernel.element(side), shape) for side in sides]
        made: Tensor = b.pure(name, pair, pair[0].type, hint="holds")
        return made

    return Mask.computed(b, shape, make)


def operate(kernel: Kernel, name: str, left: Lanes, right: Lanes) -> Lanes:
    """The operation on integer tensors, as a sum where it is one."""
    b = kernel.b

    def make() -> Tensor:
        made: Tensor = b.pure(name, (left.tensor(), right.tensor()), left.tensor().type)
        return made

    known = right.base if not right.terms and isinstance(right.base, int) else None
    match name:
        case "arith.addi" | "arith.subi":
            return added(left, right, name == "arith.subi", make)
        case "arith.muli" if not right.terms:
            return scaled(left, right.base, make)
        case "arith.muli" if not left.terms:
            return scaled(right, left.base, make)
        case "arith.shli" if known is not None and 0 <= known < 31:
            return scaled(left, 1 << known, make)
    if known is None and name in ("arith.remsi", "arith.remui") and left.terms:
        wraps = not right.terms and left.is_small and all(_steps_up(t) for t in left.terms)
        if wraps:
            value = Deferred(b, left.shape, left.dtype, make)
            return Lanes.of(Wrapped(value, left, right.base), b, left.shape, left.dtype)
    if known is not None and known > 0 and left.terms and left.is_small:
        power = known & (known - 1) == 0
        match name:
            case "arith.divsi" | "arith.divui":
                return divided(left, known, False, make)
            case "arith.remsi" | "arith.remui":
                return divided(left, known, True, make)
            case "arith.shrsi" | "arith.shrui" if known < 31 and left.is_not_negative:
                return divided(left, 1 << known, False, make)
            case "arith.andi" if left.is_not_negative and known & (known + 1) == 0 and not power:
                return divided(left, known + 1, True, make)
    return Lanes.computed(b, left.shape, left.dtype, make)


def _steps_up(term: Term) -> bool:
    return isinstance(term.source, Iota) and isinstance(term.factor, int) and term.factor > 0


@lowers("tt.make_range")
def make_range(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    start, end = operation.attributes["start"], operation.attributes["end"]
    dtype = element_type(operation.result.type)
    extent = end - start
    terms = (Term(Iota(b, extent), (0,), 1),) if extent > 1 else ()

    def make() -> Tensor:
        return iota(b, extent, dtype, start)

    kernel.define(operation.result, Lanes(b, (extent,), dtype, start, terms, make))


@lowers("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def integer_cast(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    target = element_type(operation.result.type)
    kernel.define(operation.result, _cast(kernel, operation.name, source, target))


def _cast(kernel: Kernel, name: str, source: Value, target: ScalarType) -> Value:
    b = kernel.b
    if isinstance(source, Scalar):
        widens = name in ("arith.extsi", "arith.index_cast") and source.dtype != I1
        if source.constant is not None and widens:
            return b.constant(source.constant, target)
        made: Scalar = b.pure(name, (source,), target, hint="cast")
        unsigned = name in ("arith.extui", "arith.index_castui")
        if unsigned or (name != "arith.trunci" and b.is_not_negative(source)):
            b.never_negative(made)
        return made
    shape = joint_shape([source])
    assert shape is not None

    def make() -> Tensor:
        tensor = kernel.element(source)
        made: Tensor = b.pure(name, (tensor,), TensorType(tensor.shape, target), hint="cast")
        return made

    if target == I1:
        truths = as_mask(source, make) if isinstance(source, Lanes) else None
        return truths or Mask.computed(b, shape, make)
    if isinstance(source, Mask) and name == "arith.extui":
        return as_numbers(source, target, make)
    if isinstance(source, Lanes) and source.is_small and source.dtype != INDEX:
        narrow = name == "arith.trunci" and target.bits < 32
        signless = name == "arith.extui" and not source.is_not_negative
        if not narrow and not signless:
            return cast_lanes(source, target, make)
    return Lanes.computed(b, shape, target, make)


@lowers("tt.mulhiui")
def high_product(kernel: Kernel, operation: TtirOperation) -> None:
    """Upper half of the product of unsigned numbers."""
    b = kernel.b
    left, right = kernel.values(operation)
    shape = joint_shape([left, right])
    bits = element_type(operation.result.type).bits
    if bits not in (32, 64):
        raise ValueError(f"mulhiui of {bits} bits")

    def make(x: Any, y: Any) -> Any:
        return _high_of_32(kernel, x, y) if bits == 32 else _high_of_64(kernel, x, y)

    if shape is None:
        kernel.define(operation.result, make(left, right))
        return
    a, c = kernel.lanes(left, shape), kernel.lanes(right, shape)

    def tensor() -> Tensor:
        made: Tensor = make(a.tensor(), c.tensor())
        return made

    kernel.define(operation.result, Lanes.computed(b, shape, a.dtype, tensor))


def _high_of_32(kernel: Kernel, x: Any, y: Any) -> Any:
    wide = [apply(kernel, "arith.extui", side, to=I64) for side in (x, y)]
    high = apply(kernel, "arith.shrui", apply(kernel, "arith.muli", *wide), 32)
    return apply(kernel, "arith.trunci", high, to=I32)


def _high_of_64(kernel: Kernel, x: Any, y: Any) -> Any:
    """By four products of 32-bit digits (Hacker's Delight, 8-2)."""

    def low(value: Any) -> Any:
        return apply(kernel, "arith.andi", value, (1 << 32) - 1)

    def high(value: Any) -> Any:
        return apply(kernel, "arith.shrui", value, 32)

    first = high(x) * low(y) + high(low(x) * low(y))
    second = low(x) * high(y) + low(first)
    return high(x) * high(y) + high(first) + high(second)
