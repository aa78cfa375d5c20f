"""How the range of a symbol is cut: over cores, and over the turns of a loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

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


def _is_full(digits: Iterable[tuple[int, int]]) -> bool:
    reach = 1
    for factor, count in digits:
        if factor > reach:
            return False
        reach += factor * (count - 1)
    return True


def _span(term: Term) -> int:
    return term.divisor * (term.modulus or 1)


def parts_of(extent: int, unit: int, wanted: int) -> int:
    """The indices of a part where about ``wanted`` cores share a range in whole units."""
    units = -(-extent // unit)
    return min(extent, -(-units // wanted) * unit)


def cut_of(spec: OpSpec, symbol: str, turns: int = 1) -> Cut:
    """How a settled spec cuts one of its symbols."""
    extent, parts = spec.iteration_space[symbol]
    if parts <= 1:
        return Cut(extent, extent, turns)
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
    def shared(self) -> tuple[str, ...]:
        """Symbols that cores cannot share without exchanging something."""
        found = signature_of(self.spec)
        return found.shared if found is not None else ()

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Symbols that cores share, slowest first; `REPLICAS` among them where there are any."""
        late = self.shared
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
        inner, parts = self.places.get(symbol, (1, 1))
        return _part(self.cores, inner, parts)

    def moving(self, arg: TensorArg, strides: Sequence[int]) -> Iterator[tuple[Term, int]]:
        """Terms of an operand's coordinates that differ between parts, and elements per step."""
        for coordinate, stride in zip(arg.coordinates, strides, strict=True):
            for term in coordinate.terms:
                wraps = term.modulus is not None and _span(term) < self.cuts[term.symbol].extent
                if not wraps:
                    yield term, term.factor * stride

    def steps(self, arg: TensorArg, strides: Sequence[int]) -> dict[tuple[int, int], int]:
        """Elements from one core's part to the next, by what `places` says of the symbol."""
        found: dict[tuple[int, int], int] = {}
        for term, unit in self.moving(arg, strides):
            if term.symbol in self.places:
                place = self.places[term.symbol]
                step = unit * (self.cuts[term.symbol].piece // term.divisor)
                found[place] = found.get(place, 0) + step
        return found

    def gaps(self, arg: TensorArg) -> tuple[tuple[tuple[int, int], ...], ...] | None:
        """How a core walks the box of an operand where it skips elements of it; None where it
        touches every one.

        A tensor in one device dimension has other cores' elements between those of a slice.
        """
        walked = []
        for coordinate in arg.coordinates:
            digits = []
            for term in coordinate.terms:
                count = -(-self.cuts[term.symbol].step // term.divisor)
                count = count if term.modulus is None else min(count, term.modulus)
                digits += [(term.factor, count)] if count > 1 else []
            walked.append(tuple(sorted(digits)))
        if all(_is_full(digits) for digits in walked):
            return None
        return tuple(walked)

    def box(self, arg: TensorArg, whole: bool = True) -> NDArray[np.int64]:
        """What each core touches of an operand: ``[cores, device dimensions, (low, high)]``.

        ``whole``: over all turns of loops; otherwise in the first.
        """
        found = np.empty((self.cores, len(arg.coordinates), 2), np.int64)
        for dimension, coordinate in enumerate(arg.coordinates):
            constant = coordinate.constant
            found[:, dimension] = constant, constant + 1
            for term in coordinate.terms:
                found[:, dimension] += self._reach(term, whole)
        return found

    def _reach(self, term: Term, whole: bool) -> NDArray[np.int64]:
        """What a term adds to the lowest coordinate of each core, and to the highest."""
        inner, parts = self.places.get(term.symbol, (1, 1))
        return _reach(self.cores, inner, parts, self.cuts[term.symbol], term, whole)


@lru_cache(maxsize=1024)
def _part(cores: int, inner: int, parts: int) -> NDArray[np.int64]:
    found = np.arange(cores) // inner % parts
    found.flags.writeable = False
    return found


@lru_cache(maxsize=16384)
def _reach(
    cores: int, inner: int, parts: int, cut: Cut, term: Term, whole: bool
) -> NDArray[np.int64]:
    part = _part(cores, inner, parts)
    length = np.where(part == cut.parts - 1, cut.last, cut.step)
    length = length * cut.turns if whole else length
    first = part * cut.piece // term.divisor
    count = -(-length // term.divisor)
    if term.modulus is not None:
        count = np.minimum(count, term.modulus)
        wraps = _span(term) < cut.extent
        first = np.zeros_like(first) if wraps else first
    return term.factor * np.stack([first, first + count - 1], axis=1)
