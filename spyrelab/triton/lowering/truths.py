"""Masks as numbers, which is what ``tl.where(mask, 1, 0)`` makes of them, and back."""

from __future__ import annotations

from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.deferred import Deferred, Make
from spyrelab.triton.lowering.lanes import Lanes, Numbers
from spyrelab.triton.lowering.masks import Mask

__all__ = ["as_mask", "as_numbers"]


class _Truth(Numbers):
    """1 where a mask holds, 0 elsewhere."""

    def __init__(self, value: Deferred, mask: Mask) -> None:
        super().__init__(value)
        self.mask = mask


def as_numbers(mask: Mask, dtype: ScalarType, make: Make) -> Lanes:
    """1 where a mask holds, 0 elsewhere; ``make`` gives these numbers."""
    value = Deferred(mask.b, mask.shape, dtype, make)
    return Lanes.of(_Truth(value, mask), mask.b, mask.shape, dtype)


def as_mask(numbers: Lanes, make: Make) -> Mask | None:
    """Where numbers are not zero, if they were made of a mask; ``make`` gives these truths."""
    if numbers.base != 0 or len(numbers.terms) != 1:
        return None
    (term,) = numbers.terms
    if not isinstance(term.source, _Truth) or term.factor != 1:
        return None
    mask = term.source.mask
    places = [0] * len(mask.shape)
    for axis, place in zip(term.source.axes, term.axes, strict=True):
        places[axis] = place
    return mask.moved(places, numbers.shape, make)
