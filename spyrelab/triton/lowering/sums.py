"""Arithmetic on sums: the part of integer arithmetic that addresses are made of."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.builder import Index, KernelBuilder
from spyrelab.triton.lowering.deferred import Deferred, Make
from spyrelab.triton.lowering.lanes import Divided, Lanes, Term

__all__ = ["added", "cast_lanes", "divided", "merged", "negated_terms", "scaled"]


def merged(b: KernelBuilder, terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms of one source as one; terms of factor 0 are left out."""
    found: dict[object, Term] = {}
    for term in terms:
        known = found.get(term.key)
        factor = term.factor if known is None else b.plus(known.factor, term.factor)
        found[term.key] = Term(term.source, term.axes, factor)
    return tuple(term for term in found.values() if term.factor != 0)


def negated_terms(b: KernelBuilder, terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms of the opposite sign."""
    return tuple(Term(t.source, t.axes, b.times(t.factor, -1)) for t in terms)


def added(left: Lanes, right: Lanes, minus: bool, make: Make) -> Lanes:
    """``left + right``, or their difference."""
    b = left.b
    terms = negated_terms(b, right.terms) if minus else right.terms
    base = b.minus(left.base, right.base) if minus else b.plus(left.base, right.base)
    return Lanes(b, left.shape, left.dtype, base, merged(b, (*left.terms, *terms)), make)


def scaled(source: Lanes, factor: Index, make: Make | None = None) -> Lanes:
    """``source * factor``."""
    b = source.b
    terms = [Term(t.source, t.axes, b.times(t.factor, factor)) for t in source.terms]
    base = b.times(source.base, factor)
    return Lanes(b, source.shape, source.dtype, base, merged(b, terms), make)


def divided(source: Lanes, divisor: int, is_rest: bool, make: Make) -> Lanes:
    """Quotient or rest of a sum by a positive number, rounded as the kernel does."""
    b = source.b
    if divisor == 1:
        if is_rest:
            return Lanes(b, source.shape, source.dtype, 0, (), make)
        return Lanes(b, source.shape, source.dtype, source.base, source.terms, make)
    inner = Divided(Deferred(b, source.shape, source.dtype, make), source, divisor, is_rest)
    return Lanes.of(inner, b, source.shape, source.dtype)


def cast_lanes(source: Lanes, dtype: ScalarType, make: Make) -> Lanes:
    """The same sum in another integer type."""
    return Lanes(source.b, source.shape, dtype, source.base, source.terms, make)


def lifted(b: KernelBuilder, value: Scalar | Tensor, shape: tuple[int, ...]) -> Tensor:
    """A scalar as a tensor of a shape."""
    return b.splat(value, shape) if isinstance(value, Scalar) else value
