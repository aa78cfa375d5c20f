"""What an access to memory touches, and which form of access that makes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.lanes import Divided, Iota, Lanes, Term, Wrapped
from spyrelab.triton.lowering.loaded import Loaded
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import Origin, Pointer

__all__ = ["Access", "Form", "access_of", "form_of", "zero_sized"]


class Form(Enum):
    """Ways to reach memory, best first."""

    BOX = "box"
    INDIRECT = "indirect"
    GATHER = "gather"


@dataclass(frozen=True)
class Access:
    """Elements at ``offset`` from where an origin starts, as far as a mask lets them.

    Attributes
    ----------
    shape
        Of the tensor that moves.
    offset
        In elements, over the axes of ``shape``.
    form
        The best form that it has.
    why, advice
        What stands in the way of a better one.
    """

    origin: Origin
    element: ScalarType
    shape: tuple[int, ...]
    offset: Lanes
    mask: Mask
    form: Form
    why: str = ""
    advice: str = ""


def access_of(kernel: Kernel, pointer: Pointer, mask: Mask | None) -> Access:
    """What a load or store through pointers touches."""
    shape = pointer.shape
    chosen = mask if mask is not None else Mask(kernel.b, shape)
    form, why, advice = form_of(pointer.offset, chosen)
    return Access(pointer.origin, pointer.element, shape, pointer.offset, chosen, form, why, advice)


_MASK_ADVICE = (
    "compare the index along one axis with a bound in the mask, and apply the rest with tl.where "
    "after the load"
)
_INDEX_ADVICE = (
    "add offsets per axis (pid * BLOCK + tl.arange), read page numbers straight from a table that "
    "the kernel does not write, or use a tensor descriptor"
)


def form_of(offset: Lanes, mask: Mask) -> tuple[Form, str, str]:
    """The best form of an access, or why there is no better one than a gather, and advice."""
    if mask.pieces:
        return Form.GATHER, "its mask is no bound of an index along one axis", _MASK_ADVICE
    if all(isinstance(term.source, Iota) for term in offset.terms) and _one_per_axis(offset):
        return Form.BOX, "", ""
    for term in offset.terms:
        problem = _subscript_problem(term)
        if problem:
            return Form.GATHER, problem, _INDEX_ADVICE
    return Form.INDIRECT, "", ""


def _one_per_axis(offset: Lanes) -> bool:
    axes = [term.axes[0] for term in offset.terms]
    return len(set(axes)) == len(axes)


def _subscript_problem(term: Term) -> str:
    """Why a term cannot be a subscript of an indirect tile; empty if it can."""
    source = term.source
    if isinstance(source, Iota):
        return ""
    if isinstance(source, Divided):
        return _linear_problem(source)
    if isinstance(source, Loaded):
        for own in source.terms:
            problem = _subscript_problem(own)
            if problem:
                return problem
            if isinstance(own.source, Loaded):
                return "its index is read through another index"
        return ""
    if isinstance(source, Wrapped):
        return "its index may wrap around at a number known only at run time"
    return "its offsets are computed from values that were loaded or combined bit by bit"


def _linear_problem(source: Divided) -> str:
    for term in source.inner.terms:
        if not isinstance(term.factor, int):
            return "it divides an index that has a factor known only at run time"
        if isinstance(term.source, Iota):
            continue
        if isinstance(term.source, Divided):
            problem = _linear_problem(term.source)
            if problem:
                return problem
            continue
        return "it divides an index that was loaded or computed"
    return ""


def zero_sized(kernel: Kernel, mask: Mask, extent: Index) -> Index:
    """``extent``, or 0 where a condition of the mask fails."""
    if not mask.conditions:
        return extent
    return kernel.b.if_else(kernel.b.all_of(mask.conditions), extent, 0)
