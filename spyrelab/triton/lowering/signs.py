"""Divisions in an index: the kernel rounds toward zero, subscripts round down."""

from __future__ import annotations

from spyrelab.ktir.builder import Scalar
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.lanes import Divided, Iota, Lanes
from spyrelab.triton.lowering.loaded import Loaded

__all__ = ["divides_alike"]


def divides_alike(kernel: Kernel, offset: Lanes) -> Scalar | None:
    """The condition under which both are the same; None if they always are."""
    b = kernel.b
    conditions = [b.is_less(-1, least) for least in _dividends(kernel, offset)]
    holds = b.all_of(conditions)
    return None if holds.constant else holds


def _dividends(kernel: Kernel, offset: Lanes) -> list[Index]:
    """The least dividend of each division that is not known to be at least zero."""
    found: list[Index] = []
    for term in offset.terms:
        if isinstance(term.source, Loaded):
            found += _dividends(kernel, term.source.offset)
        if isinstance(term.source, Divided):
            inner = term.source.inner
            found += _dividends(kernel, inner)
            least = _least(kernel, inner)
            if not kernel.b.is_not_negative(least):
                found.append(least)
    return found


def _least(kernel: Kernel, inner: Lanes) -> Index:
    b, total = kernel.b, inner.base
    for term in inner.terms:
        assert isinstance(term.factor, int)
        if term.factor < 0 and isinstance(term.source, Iota):
            total = b.plus(total, term.factor * (term.source.extent - 1))
    return total
