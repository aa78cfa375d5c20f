"""Integer tensors as sums: a scalar, and multiples of things that vary along axes.

``pid * 64 + arange(0, 64)`` is the base ``pid * 64`` and 1 times the index along axis 0. As long
as an integer tensor only steers addresses and masks, its numbers are never computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import INDEX, ScalarType
from spyrelab.triton.lowering.builder import Index, KernelBuilder
from spyrelab.triton.lowering.deferred import Deferred, Make
from spyrelab.triton.lowering.spread import iota, spread

__all__ = ["Divided", "Iota", "Lanes", "Numbers", "Source", "Term", "Wrapped", "same_index"]


class Source:
    """Numbers along axes of their own; compared by identity unless a subclass knows better."""

    shape: tuple[int, ...]

    def numbers(self) -> Tensor:
        """The numbers, of any integer type."""
        raise NotImplementedError


@dataclass(frozen=True)
class Iota(Source):
    """0, 1, .. ``extent - 1``."""

    b: KernelBuilder
    extent: int

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.extent,)

    def numbers(self) -> Tensor:
        return iota(self.b, self.extent, INDEX)


class Numbers(Source):
    """Numbers that were computed or loaded in no way that is understood."""

    def __init__(self, value: Deferred) -> None:
        self.value = value
        self.axes = tuple(a for a, extent in enumerate(value.shape) if extent > 1)
        self.shape = tuple(value.shape[axis] for axis in self.axes)

    def numbers(self) -> Tensor:
        return self.value.b.reshape(self.value.tensor(), self.shape)


class Divided(Numbers):
    """Quotient or rest of a sum by a known positive number.

    ``inner`` has the shape of the division's result; both are equal to floor division where
    the sum is not negative.
    """

    def __init__(self, value: Deferred, inner: Lanes, divisor: int, is_rest: bool) -> None:
        super().__init__(value)
        self.inner = inner
        self.divisor = divisor
        self.is_rest = is_rest


class Wrapped(Numbers):
    """Rest of a sum by a positive number that is known only at run time."""

    def __init__(self, value: Deferred, inner: Lanes, divisor: Index) -> None:
        super().__init__(value)
        self.inner = inner
        self.divisor = divisor


@dataclass(frozen=True)
class Term:
    """``factor`` times a source, whose axis ``i`` is axis ``axes[i]`` of the tensor."""

    source: Source
    axes: tuple[int, ...]
    factor: Index

    @property
    def key(self) -> tuple[object, tuple[int, ...]]:
        """What has to be equal for two terms to be one."""
        return self.source, self.axes

    def moved(self, places: Sequence[int]) -> Term:
        """The term where axis ``i`` has become axis ``places[i]``."""
        return Term(self.source, tuple(places[axis] for axis in self.axes), self.factor)


def same_index(a: Index, b: Index) -> bool:
    """Whether two indices are known to be equal."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.value is b.value
    return isinstance(a, int) and isinstance(b, int) and a == b


class Lanes(Deferred):
    """An integer tensor: ``base`` plus the terms; ``make`` gives exactly its numbers."""

    def __init__(
        self,
        b: KernelBuilder,
        shape: tuple[int, ...],
        dtype: ScalarType,
        base: Index,
        terms: Sequence[Term],
        make: Make | None = None,
    ) -> None:
        super().__init__(b, shape, dtype, make or self._sum)
        self.base = base
        self.terms = tuple(terms)

    @classmethod
    def computed(
        cls, b: KernelBuilder, shape: tuple[int, ...], dtype: ScalarType, make: Make
    ) -> Lanes:
        """A tensor that nothing is known about."""
        source = Numbers(Deferred(b, shape, dtype, make))
        return cls.of(source, b, shape, dtype)

    @classmethod
    def of(
        cls, source: Numbers, b: KernelBuilder, shape: tuple[int, ...], dtype: ScalarType
    ) -> Lanes:
        """A tensor that is one source."""
        terms = (Term(source, source.axes, 1),)
        return cls(b, shape, dtype, 0, terms, source.value.tensor)

    def _sum(self) -> Tensor:
        summed = self.along(tuple(range(len(self.shape))))
        result: Tensor = self.b.cast(summed, self.dtype)
        return result

    def along(self, axes: Sequence[int]) -> Tensor:
        """The sum of all terms as index numbers over some axes, which no other term varies on."""
        b = self.b
        shape = tuple(self.shape[axis] for axis in axes)
        total: Tensor | None = None
        for term in self.terms:
            numbers = b.cast(term.source.numbers(), INDEX)
            factor = b.scalar_of(term.factor)
            scaled = numbers if term.factor == 1 else numbers * factor
            places = tuple(axes.index(axis) for axis in term.axes)
            wide = spread(b, scaled, places, shape)
            total = wide if total is None else total + wide
        if total is None:
            return b.splat(b.scalar_of(self.base), shape)
        return total if self.base == 0 else total + b.scalar_of(self.base)

    @property
    def varies_on(self) -> set[int]:
        """Axes along which the numbers may differ."""
        return {axis for term in self.terms for axis in term.axes}

    @property
    def is_small(self) -> bool:
        """False where 32 bits may overflow by the known factors alone (hashes do that)."""
        reach = abs(self.base) if isinstance(self.base, int) else 0
        for term in self.terms:
            if isinstance(term.factor, int) and isinstance(term.source, Iota):
                reach += abs(term.factor) * term.source.extent
            elif isinstance(term.factor, int):
                reach += abs(term.factor)
        return reach < 1 << 31

    @property
    def is_not_negative(self) -> bool:
        """Whether all numbers are known to be at least zero."""
        known = all(
            isinstance(t.source, Iota) and self.b.is_not_negative(t.factor) for t in self.terms
        )
        return known and self.b.is_not_negative(self.base)

    def has_terms_of(self, other: Lanes) -> bool:
        """Whether two tensors differ in their base only."""
        if self.shape != other.shape or len(self.terms) != len(other.terms):
            return False
        factors = {term.key: term.factor for term in other.terms}
        return all(
            term.key in factors and same_index(term.factor, factors[term.key])
            for term in self.terms
        )
