"""Accesses whose index wraps around: ``(pid * BLOCK + tl.arange(0, BLOCK)) % M``.

Hardly any block wraps, and those that do not are boxes. Which it is, is decided when the program
runs.
"""

from __future__ import annotations

from dataclasses import replace

from spyrelab.ktir.builder import Scalar
from spyrelab.triton.lowering.access import Access, Form, form_of
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.lanes import Iota, Lanes, Term, Wrapped
from spyrelab.triton.lowering.loaded import places_of
from spyrelab.triton.lowering.sums import merged

__all__ = ["unwrapped"]


def unwrapped(kernel: Kernel, access: Access) -> tuple[Scalar, Access] | None:
    """The access where nothing wraps around, and the condition for that.

    None if nothing in it can wrap, or if it would be no better.
    """
    wraps = [term for term in access.offset.terms if isinstance(term.source, Wrapped)]
    if access.form is not Form.GATHER or access.mask.pieces or not wraps:
        return None
    b, offset = kernel.b, access.offset
    base = offset.base
    terms = [term for term in offset.terms if term not in wraps]
    conditions: list[Scalar] = []
    for term in wraps:
        source = term.source
        assert isinstance(source, Wrapped)
        inner = source.inner
        # Computed in front of whatever keeps the kernel from dividing by zero.
        start = b.rest_of(inner.base, b.most(source.divisor, 1))
        last = start
        places = places_of(source, term.axes)
        for own in inner.terms:
            assert isinstance(own.source, Iota)
            last = b.plus(last, b.times(own.source.extent - 1, own.factor))
            moved = own.moved(places)
            terms.append(Term(moved.source, moved.axes, b.times(own.factor, term.factor)))
        base = b.plus(base, b.times(start, term.factor))
        conditions.append(b.is_less(last, source.divisor))
        if not b.is_not_negative(inner.base):
            conditions.append(b.is_less(-1, inner.base))
    straight = Lanes(b, offset.shape, offset.dtype, base, merged(b, terms))
    form, _, _ = form_of(straight, access.mask)
    if form is Form.GATHER:
        return None
    return b.all_of(conditions), replace(access, offset=straight, form=form)
