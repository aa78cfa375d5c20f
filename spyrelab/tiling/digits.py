"""Tensors in one device dimension, seen in as many as operations walk.

What a core has of ``[M, K]`` in one dimension is no run of elements where it has columns; in two
it is a box.  The addresses are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from spyrelab.layout import contiguous_strides
from spyrelab.opspec.coordinates import Coordinate, Term
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.loops import replaced

__all__ = ["is_linear", "unfolded"]

Extents = Mapping[str, int]


def is_linear(arg: TensorArg) -> bool:
    """Whether device memory has the elements of a tensor in the order of the host."""
    return arg.stride_map == tuple(contiguous_strides(arg.device_size))


def unfolded(ops: Sequence[OpSpec]) -> list[OpSpec]:
    """The same operations on the same elements, linear tensors in several device dimensions."""
    uses: dict[str, list[tuple[TensorArg, Extents]]] = {}
    for spec in ops:
        extents = {symbol: extent for symbol, (extent, _) in spec.iteration_space.items()}
        for arg in spec.args:
            uses.setdefault(arg.name, []).append((arg, extents))
    steps = {name: found for name, found in ((n, _steps(u)) for n, u in uses.items()) if found}
    if not steps:
        return list(ops)
    return [_spec(spec, steps) for spec in ops]


def _spec(spec: OpSpec, steps: Mapping[str, Sequence[int]]) -> OpSpec:
    extents = {symbol: extent for symbol, (extent, _) in spec.iteration_space.items()}

    def seen(arg: TensorArg) -> TensorArg:
        if arg.name not in steps:
            return arg
        made = _seen(arg, steps[arg.name], extents)
        assert made is not None
        return made

    return replaced(spec, args=seen)


def _steps(uses: Sequence[tuple[TensorArg, Extents]]) -> tuple[int, ...]:
    """Elements from one index to the next in each dimension, innermost first; none if one
    dimension is as good."""
    first = uses[0][0]
    if len(first.device_size) != 1 or not is_linear(first):
        return ()
    if any(arg.device_size != first.device_size for arg, _ in uses):
        return ()
    factors = {1} | {term.factor for arg, _ in uses for term in arg.coordinates[0].terms}
    steps = tuple(sorted(factors))
    ends = (*steps[1:], first.device_size[0])
    if len(steps) < 2 or steps[0] < 1 or any(b % a for a, b in zip(steps, ends, strict=True)):
        return ()
    if any(_seen(arg, steps, extents) is None for arg, extents in uses):
        return ()
    return steps


def _seen(arg: TensorArg, steps: Sequence[int], extents: Extents) -> TensorArg | None:
    """An operand in dimensions of these steps; None where an index would carry."""
    ends = (*steps[1:], arg.device_size[0])
    sizes = [end // step for step, end in zip(steps, ends, strict=True)]
    terms: list[list[Term]] = [[] for _ in steps]
    for term in arg.coordinates[0].terms:
        for place, digit in _digits(term, steps, extents[term.symbol]):
            terms[place].append(digit)
    rest = arg.coordinates[0].constant
    found = []
    for place in range(len(steps)):
        low = rest // steps[place] % sizes[place]
        highest = low + sum(_count(term, extents) - 1 for term in terms[place])
        if highest >= sizes[place]:
            return None
        found.append(Coordinate(tuple(terms[place]), low))
    return replace(
        arg,
        device_size=tuple(reversed(sizes)),
        stride_map=tuple(reversed(steps)),
        coordinates=tuple(reversed(found)),
    )


def _digits(term: Term, steps: Sequence[int], extent: int) -> Iterable[tuple[int, Term]]:
    """The digits of a term by the dimension in which they count."""
    count = -(-extent // term.divisor)
    count = count if term.modulus is None else min(count, term.modulus)
    for place in range(steps.index(term.factor), len(steps)):
        done = steps[place] // term.factor
        if done >= count and place > steps.index(term.factor):
            return
        here = steps[place + 1] // steps[place] if place + 1 < len(steps) else math.inf
        last = done * here >= count
        modulus = term.modulus // done if last and term.modulus is not None else None
        if not last:
            modulus = int(here)
        yield place, Term(term.symbol, 1, term.divisor * done, modulus)


def _count(term: Term, extents: Extents) -> int:
    count = -(-extents[term.symbol] // term.divisor)
    return count if term.modulus is None else min(count, term.modulus)
