"""Reshapes: of tensors by way of the flat order, of sums axis by axis."""

from __future__ import annotations

import math

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.builder_values import BuilderError
from spyrelab.triton.lowering.builder import Index, KernelBuilder
from spyrelab.triton.lowering.lanes import Iota, Lanes, Term, same_index
from spyrelab.triton.lowering.sums import merged

__all__ = ["regrouped", "reshaped"]

Shape = tuple[int, ...]


def regrouped(b: KernelBuilder, tensor: Tensor, shape: Shape) -> Tensor:
    """The same elements in row-major order in any other shape."""
    try:
        return b.reshape(tensor, shape)
    except BuilderError:
        return b.reshape(b.reshape(tensor, (math.prod(shape),)), shape)


def reshaped(b: KernelBuilder, source: Lanes, shape: Shape) -> Lanes:
    """An integer tensor in another shape; its terms where they follow the new axes."""

    def make() -> Tensor:
        return regrouped(b, source.tensor(), shape)

    terms: list[Term] = []
    for old, new in _groups(source.shape, shape):
        found = _regroup(b, source, old, new, shape)
        if found is None:
            return Lanes.computed(b, shape, source.dtype, make)
        terms += found
    return Lanes(b, shape, source.dtype, source.base, merged(b, terms), make)


def _groups(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]]:
    """Smallest runs of axes that hold the same elements before and after."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left: list[int] = []
        right: list[int] = []
        a = c = 1
        while (not left and not right) or a != c:
            if (a <= c and i < len(old)) or j >= len(new):
                left.append(i)
                a, i = a * old[i], i + 1
            else:
                right.append(j)
                c, j = c * new[j], j + 1
        while i < len(old) and old[i] == 1:
            left.append(i)
            i += 1
        while j < len(new) and new[j] == 1:
            right.append(j)
            j += 1
        groups.append((left, right))
    return groups


def _regroup(
    b: KernelBuilder, source: Lanes, old: list[int], new: list[int], shape: Shape
) -> list[Term] | None:
    """The terms of the old axes as terms of the new ones; None where they are none."""
    terms = [term for term in source.terms if set(term.axes) & set(old)]
    wide_old = [axis for axis in old if source.shape[axis] > 1]
    wide_new = [axis for axis in new if shape[axis] > 1]
    if len(wide_old) == len(wide_new) == 1:
        places = [wide_new[0]] * len(source.shape)
        if all(len(term.axes) == 1 for term in terms):
            return [term.moved(places) for term in terms]
        return None
    if not terms:
        return []
    step = _flat_step(b, source, terms, wide_old)
    if step is None:
        return None
    found: list[Term] = []
    inner = 1
    for axis in reversed(wide_new):
        found.append(Term(Iota(b, shape[axis]), (axis,), b.times(step, inner)))
        inner *= shape[axis]
    return found


def _flat_step(b: KernelBuilder, source: Lanes, terms: list[Term], axes: list[int]) -> Index | None:
    """The factor if the terms count the elements of some axes in row-major order."""
    factors = {}
    for term in terms:
        if not isinstance(term.source, Iota):
            return None
        factors[term.axes[0]] = term.factor
    if not axes or set(factors) != set(axes):
        return None
    step = factors[axes[-1]]
    inner = 1
    for axis in reversed(axes):
        if not same_index(factors[axis], b.times(step, inner)):
            return None
        inner *= source.shape[axis]
    return step
