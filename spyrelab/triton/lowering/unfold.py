"""Accesses that split an axis: ``m // G`` and ``m % G`` are two axes of a box.

Grouped-query attention does that: row ``m`` of a block is token ``m // G`` and head ``m % G``.
"""

from __future__ import annotations

from dataclasses import replace

from spyrelab.triton.lowering.access import Access, Form, form_of
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.lanes import Divided, Iota, Lanes, Term
from spyrelab.triton.lowering.masks import Mask, Side
from spyrelab.triton.lowering.sums import merged

__all__ = ["unfolded"]


def unfolded(kernel: Kernel, access: Access) -> Access:
    """The access over more axes if that makes it a box, else the access itself.

    The tensor that moves is reshaped.
    """
    if access.form is not Form.INDIRECT:
        return access
    current = access
    for axis in reversed(range(len(access.shape))):
        group = _group(current, axis)
        if group:
            current = _split(kernel, current, axis, group)
    form, _, _ = form_of(current.offset, current.mask)
    return replace(current, form=form) if form is Form.BOX else access


def _group(access: Access, axis: int) -> int:
    """The number that every division of an axis divides by; 0 if there is no such number."""
    groups: set[int] = set()
    for term in access.offset.terms:
        if axis not in term.axes or isinstance(term.source, Iota):
            continue
        if not isinstance(term.source, Divided) or not _divides_axis(term.source):
            return 0
        groups.add(term.source.divisor)
    if len(groups) != 1:
        return 0
    (group,) = groups
    fits = access.shape[axis] % group == 0 and access.shape[axis] > group
    for side in access.mask.sides:
        if side.axis == axis:
            multiple = side.limit if isinstance(side.limit, int) else side.multiple
            fits = fits and multiple % group == 0
    return group if fits else 0


def _divides_axis(source: Divided) -> bool:
    inner = source.inner
    if inner.base != 0 or len(inner.terms) != 1:
        return False
    (term,) = inner.terms
    return isinstance(term.source, Iota) and term.factor == 1


def _split(kernel: Kernel, access: Access, axis: int, group: int) -> Access:
    b, shape = kernel.b, access.shape
    outer = shape[axis] // group
    whole = (*shape[:axis], outer, group, *shape[axis + 1 :])
    places = [place + (place > axis) for place in range(len(shape))]
    terms: list[Term] = []
    for term in access.offset.terms:
        if axis not in term.axes:
            terms.append(term.moved(places))
        elif isinstance(term.source, Divided):
            extent, place = (group, axis + 1) if term.source.is_rest else (outer, axis)
            terms.append(Term(Iota(b, extent), (place,), term.factor))
        else:
            terms.append(Term(Iota(b, outer), (axis,), b.times(term.factor, group)))
            terms.append(Term(Iota(b, group), (axis + 1,), term.factor))
    sides = [
        Side(axis, side.is_low, b.floor_divided(side.limit, group), side.multiple // group)
        if side.axis == axis
        else replace(side, axis=places[side.axis])
        for side in access.mask.sides
    ]
    offset = Lanes(b, whole, access.offset.dtype, access.offset.base, merged(b, terms))
    mask = Mask(b, whole, access.mask.conditions, sides)
    return replace(access, shape=whole, offset=offset, mask=mask)
