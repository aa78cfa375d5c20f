"""How an index of several digits is walked in tiles, and which part each core takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from spyrelab.ktir.builder import Builder, Scalar

__all__ = ["Tiling"]


@dataclass(frozen=True)
class Tiling:
    """Tiles of an index and their share over ``parts`` cores.

    Attributes
    ----------
    counts, shape : tuple of int
        Extents of the digits, and of a tile in each of them: inner digits whole, one digit
        perhaps in pieces, outer digits one by one.
    parts : int
        Cores that divide the tiles between them, in runs.
    """

    counts: tuple[int, ...]
    shape: tuple[int, ...]
    parts: int = 1

    @staticmethod
    def of(counts: tuple[int, ...], wanted: int, parts: int = 1, least: int = 1) -> Tiling:
        """Tiles of about ``wanted`` indices; the innermost digit is not cut below ``least``."""
        shape = [1] * len(counts)
        room = max(1, wanted)
        for digit in reversed(range(len(counts))):
            if digit == len(counts) - 1:
                room = max(room, min(least, counts[digit]))
            shape[digit] = min(counts[digit], room)
            if shape[digit] < counts[digit]:
                pieces = -(-counts[digit] // shape[digit])
                if shape[digit] % least:
                    shape[digit] = -(-counts[digit] // pieces)
                break
            room //= shape[digit]
            if room <= 1:
                break
        return Tiling(counts, tuple(shape), parts)

    @property
    def elements(self) -> int:
        """Indices in a tile."""
        return math.prod(self.shape)

    @property
    def steps(self) -> tuple[int, ...]:
        """Tiles along each digit."""
        return tuple(-(-c // s) for c, s in zip(self.counts, self.shape, strict=True))

    @property
    def total(self) -> int:
        """Tiles in all."""
        return math.prod(self.steps)

    @property
    def share(self) -> int:
        """Tiles of one core, the last one's perhaps fewer."""
        return -(-self.total // self.parts)

    def place(self, number: Scalar | int, b: Builder) -> list[Scalar | int]:
        """Where tile ``number`` begins in each digit; beyond the end for one too many."""
        steps, found = self.steps, []
        rest = b.constant(number) if isinstance(number, int) else number
        outermost = next((d for d, count in enumerate(steps) if count > 1), len(steps) - 1)
        for digit in reversed(range(len(steps))):
            own: Scalar | int = 0
            if digit == outermost:
                own = rest
            elif steps[digit] > 1:
                own = rest % steps[digit]
                rest = rest // steps[digit]
            found.append(own * self.shape[digit])
        return found[::-1]

    @contextmanager
    def walk(
        self, b: Builder, part: Scalar | int, name: str, even: bool = False
    ) -> Iterator[Scalar | int]:
        """Loop over the tiles of ``part``; with ``even`` every part makes equally many steps,
        some perhaps beyond the end."""
        first = part * self.share
        regular = even or self.share * self.parts == self.total
        if self.share == 1 and regular:
            yield first
            return
        upper = first + self.share
        if not regular:
            upper = b.minimum(b.constant(upper) if isinstance(upper, int) else upper, self.total)
        with b.loop(first, upper, 1, names=name) as number:
            yield number
