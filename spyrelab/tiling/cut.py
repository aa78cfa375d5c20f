"""How the range of a symbol is cut: over cores, and over the turns of a loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spyrelab.machine import SPYRE
from spyrelab.opspec import element_type
from spyrelab.opspec.coordinates import Term
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.signature import signature_of

REPLICAS = "replicas"
"""Stands for cores that all do the same among the symbols that cores share."""

__all__ = ["REPLICAS", "Cut", "Slicing", "cut_of", "granule", "parts_of"]


@dataclass(frozen=True)
class Cut:
    """The range of one symbol, cut.

    Attributes
    ----------
    extent : int
        Of the whole range.
    piece : int
        Indices of a core's part; the last part may have fewer.
    turns : int
        Loop turns that take a part in equal steps.
    """

    extent: int
    piece: int
    turns: int = 1

    @property
    def parts(self) -> int:
        """Cores that share the range."""
        return -(-self.extent // self.piece)

    @property
    def step(self) -> int:
        """Indices of one turn."""
        return self.piece // self.turns

    @property
    def last(self) -> int:
        """Indices of a turn in the last part."""
        return (self.extent - (self.parts - 1) * self.piece) // self.turns

    @property
    def is_even(self) -> bool:
        return self.last == self.step


def granule(args: Iterable[TensorArg], symbol: str, extent: int) -> int:
    """Indices that stay together: a range that starts elsewhere has no linear address.

    Cores never share a stick.
    """
    found = 1
    for arg in args:
        for position, coordinate in enumerate(arg.coordinates, 1):
            for term in coordinate.terms:
                if term.symbol != symbol:
                    continue
                found = math.lcm(found, min(_span(term), extent))
                if position == len(arg.coordinates) and term.factor == 1:
                    stick = SPYRE.stick_bytes // element_type(arg.dtype).itemsize
                    found = math.lcm(found, min(stick, extent))
    return min(found, extent)


def _span(term: Term) -> int:
    return term.divisor * (term.modulus or 1)


def parts_of(extent: int, unit: int, wanted: int) -> int:
    """The indices of a part where about ``wanted`` cores share a range in whole units."""
    units = -(-extent // unit)
    return min(extent, -(-units // wanted) * unit)


def cut_of(spec: OpSpec, symbol: str, turns: int = 1) -> Cut:
    """How a settled spec cuts one of its symbols."""
    extent, parts = spec.iteration_space[symbol]
    piece = parts_of(extent, granule(spec.args, symbol, extent), max(parts, 1))
    return Cut(extent, piece, turns)


@dataclass(frozen=True)
class Slicing:
    """A settled spec's cuts, and where they put each operand on each core.

    Attributes
    ----------
    spec : OpSpec
    cuts : mapping of str to Cut
        Of every symbol, in the order of the iteration space.
    """

    spec: OpSpec
    cuts: Mapping[str, Cut]

    @staticmethod
    def of(spec: OpSpec, turns: Mapping[str, int] | None = None) -> Slicing:
        """The cuts that a spec's splits say, with loop turns by symbol."""
        turns = turns or {}
        return Slicing(spec, {s: cut_of(spec, s, turns.get(s, 1)) for s in spec.iteration_space})

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Symbols that cores share, slowest first; `REPLICAS` among them where there are any."""
        found = signature_of(self.spec)
        late = found.shared if found is not None else ()
        split = [s for s, cut in self.cuts.items() if cut.parts > 1]
        order = [s for s in split if s not in late] + [s for s in split if s in late]
        if self.replicas > 1:
            order.append(REPLICAS)
        first = self.spec.op_info.get("first")
        return tuple(sorted(order, key=lambda symbol: symbol != first))

    @cached_property
    def cores(self) -> int:
        """Cores at work."""
        return math.prod(map(self._parts, self.order))

    @property
    def replicas(self) -> int:
        """Cores that do the same."""
        return int(self.spec.op_info.get("replicas", 1))

    def _parts(self, symbol: str) -> int:
        return self.replicas if symbol == REPLICAS else self.cuts[symbol].parts

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Per shared symbol: how many cores hold the same part in a row, and the parts."""
        found, inner = {}, 1
        for symbol in reversed(self.order):
            found[symbol] = inner, self._parts(symbol)
            inner *= self._parts(symbol)
        return found

    def part(self, symbol: str) -> NDArray[np.int64]:
        """The part of a symbol's range that each core has."""
        numbers = np.arange(self.cores)
        if symbol not in self.places:
            return np.zeros_like(numbers)
        inner, parts = self.places[symbol]
        return numbers // inner % parts

    def box(self, arg: TensorArg, whole: bool = True) -> NDArray[np.int64]:
        """What each core touches of an operand: ``[cores, device dimensions, (low, high)]``.

        ``whole``: over all turns of loops; otherwise in the first.
        """
        found = np.zeros((self.cores, len(arg.coordinates), 2), np.int64)
        for dimension, coordinate in enumerate(arg.coordinates):
            low = np.full(self.cores, coordinate.constant)
            high = low + 1
            for term in coordinate.terms:
                first, count = self._reach(term, whole)
                low, high = low + term.factor * first, high + term.factor * (first + count - 1)
            found[:, dimension, 0], found[:, dimension, 1] = low, high
        return found

    def _reach(self, term: Term, whole: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cut, part = self.cuts[term.symbol], self.part(term.symbol)
        length = np.where(part == cut.parts - 1, cut.last, cut.step)
        length = length * cut.turns if whole else length
        first = part * cut.piece // term.divisor
        count = -(-length // term.divisor)
        if term.modulus is not None:
            count = np.minimum(count, term.modulus)
            wraps = _span(term) < cut.extent
            first = np.zeros_like(first) if wraps else first
        return first, count
