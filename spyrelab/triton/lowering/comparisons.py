"""Comparisons: of whole numbers as bounds of an axis where they are such, of floats as computed."""

from __future__ import annotations

from dataclasses import replace

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.dialects.arith import FLOAT_PREDICATES, INTEGER_PREDICATES
from spyrelab.ktir.types import I1, TensorType
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.integers import joint_shape
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Divided, Iota, Lanes, Term
from spyrelab.triton.lowering.masks import Mask, Side
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.sums import added, negated_terms
from spyrelab.triton.lowering.truths import as_mask
from spyrelab.triton.ttir import TtirOperation

__all__ = ["compare_integers"]


@lowers("arith.cmpi")
def compare_integers(kernel: Kernel, operation: TtirOperation) -> None:
    left, right = kernel.values(operation)
    predicate = INTEGER_PREDICATES[operation.attributes["predicate"]]
    kernel.define(operation.result, _integers(kernel, predicate, left, right))


def _integers(kernel: Kernel, predicate: str, left: Value, right: Value) -> Value:
    b, shape = kernel.b, joint_shape([left, right])
    attributes = {"predicate": predicate}
    if shape is None:
        if predicate in ("eq", "ne") and _is_address(kernel, left) and _is_zero(right):
            return b.constant(int(predicate == "ne"), I1)
        return b.pure("arith.cmpi", kernel.elements([left, right]), I1, attributes, "holds")

    def make() -> Tensor:
        x, y = kernel.lanes(left, shape).tensor(), kernel.lanes(right, shape).tensor()
        kind = TensorType(x.shape, I1)
        made: Tensor = b.pure("arith.cmpi", (x, y), kind, attributes, "holds")
        return made

    if isinstance(left, Mask) or isinstance(right, Mask):
        return Mask.computed(b, shape, make)
    first, second = kernel.lanes(left, shape), kernel.lanes(right, shape)
    if predicate in ("ne", "sgt", "ugt") and not second.terms and second.base == 0:
        truths = as_mask(first, make)
        if truths is not None:
            return truths
    known = _known(kernel, predicate, first, second)
    if known is None:
        return Mask.computed(b, shape, make)
    conditions, sides = known
    return Mask(b, shape, conditions, sides, (), make)


def _is_address(kernel: Kernel, value: Value) -> bool:
    """No tensor lies at 0: ``if pointer:`` asks whether there is one."""
    return isinstance(value, Scalar) and value.value in kernel.addresses


def _is_zero(value: Value) -> bool:
    return isinstance(value, Scalar) and value.constant == 0


_Known = tuple[list[Scalar], list[Side]]


def _known(kernel: Kernel, predicate: str, left: Lanes, right: Lanes) -> _Known | None:
    """The comparison as conditions and bounds, if it is some."""
    if not left.is_small or not right.is_small:
        return None
    if predicate[0] == "u":
        if not (left.is_not_negative and right.is_not_negative):
            return None
        predicate = f"s{predicate[1:]}"
    less = added(left, right, True, left.tensor)
    more = added(right, left, True, left.tensor)
    match predicate:
        case "slt":
            return _negative(kernel, less, more, 0)
        case "sle":
            return _negative(kernel, less, more, -1)
        case "sgt":
            return _negative(kernel, more, less, 0)
        case "sge":
            return _negative(kernel, more, less, -1)
        case "eq":
            low = _negative(kernel, less, more, -1)
            high = _negative(kernel, more, less, -1)
            if low is None or high is None:
                return None
            return [*low[0], *high[0]], [*low[1], *high[1]]
    return None


def _negative(kernel: Kernel, value: Lanes, opposite: Lanes, plus: int) -> _Known | None:
    """Where ``value + plus < 0``; ``opposite`` is ``-value``."""
    b = kernel.b
    base, minus_base = b.plus(value.base, plus), b.plus(opposite.base, -plus)
    if not value.terms:
        return [b.is_less(base, 0)], []
    if len(value.terms) != 1 or not isinstance(value.terms[0].factor, int):
        return None
    term = value.terms[0]
    if isinstance(term.source, Iota):
        return [], [_side(kernel, term, base, minus_base)]
    if isinstance(term.source, Divided) and not term.source.is_rest:
        return _quotient(kernel, term, base, minus_base)
    return None


def _side(kernel: Kernel, term: Term, base: Index, minus_base: Index) -> Side:
    """Where ``base + factor * index < 0``."""
    b, factor = kernel.b, term.factor
    assert isinstance(factor, int)
    if factor > 0:
        return Side(term.axes[0], False, b.ceil_divided(minus_base, factor))
    first = b.plus(b.floor_divided(base, -factor), 1)
    return Side(term.axes[0], True, first)


def _quotient(kernel: Kernel, term: Term, base: Index, minus_base: Index) -> _Known | None:
    """Where ``base +- inner // divisor < 0``."""
    b, source = kernel.b, term.source
    assert isinstance(source, Divided)
    if term.factor not in (1, -1) or not source.inner.is_not_negative:
        return None
    inner, divisor = source.inner, source.divisor
    back = dict(zip(source.axes, term.axes, strict=True))
    places = [back.get(axis, -1) for axis in range(len(inner.shape))]
    terms = tuple(t.moved(places) for t in inner.terms)
    if term.factor == 1:
        limit = b.times(minus_base, divisor)
        start, sign = inner.base, 0
        up, down = b.minus(start, limit), b.minus(limit, start)
        opposite = negated_terms(b, terms)
    else:
        limit = b.times(b.plus(base, 1), divisor)
        sign = -1
        up, down = b.minus(limit, inner.base), b.minus(inner.base, limit)
        terms, opposite = negated_terms(b, terms), terms
    below = Lanes(b, (), inner.dtype, up, terms)
    found = _negative(kernel, below, Lanes(b, (), inner.dtype, down, opposite), sign)
    if found is None or inner.base != 0:
        return found
    conditions, sides = found
    return conditions, [replace(side, multiple=divisor) for side in sides]


@lowers("arith.cmpf")
def compare_floats(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    attributes = {"predicate": FLOAT_PREDICATES[operation.attributes["predicate"]]}
    x, y = b.matched(*kernel.elements(kernel.values(operation)))
    kind = TensorType(x.shape, I1) if isinstance(x, Tensor) else I1
    kernel.define(
        operation.result, kernel.wrapped(b.pure("arith.cmpf", (x, y), kind, attributes, "holds"))
    )
