"""Indices that were loaded from memory in a way that an indirect access can do itself."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.deferred import Deferred
from spyrelab.triton.lowering.lanes import Lanes, Numbers, Term
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import Origin

__all__ = ["Loaded"]


class Loaded(Numbers):
    """Elements of a table: those at ``offset`` from where its origin starts.

    Attributes
    ----------
    offset
        Over the axes of the load; its terms are `Iota` or `Divided`.
    mask
        Of the load: what it leaves out reads as zero.
    """

    def __init__(
        self, value: Deferred, origin: Origin, element: ScalarType, offset: Lanes, mask: Mask
    ) -> None:
        super().__init__(value)
        self.origin = origin
        self.element = element
        self.offset = offset
        self.mask = mask

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.offset.terms

    @property
    def base(self) -> Index:
        return self.offset.base


def places_of(source: Numbers, axes: Sequence[int]) -> list[int]:
    """Where the axes of a source's own value lie in the tensor that uses it; -1 for none."""
    back = dict(zip(source.axes, axes, strict=True))
    return [back.get(axis, -1) for axis in range(len(source.value.shape))]
