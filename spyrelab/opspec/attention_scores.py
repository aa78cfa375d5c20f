"""Tiles of scores: scaled products of queries and keys, masked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.types import F32, I32
from spyrelab.opspec.attention_space import Loader, Part

__all__ = ["Scores", "origin"]


def origin(part: Part) -> Scalar | int:
    """The first index that a part covers."""
    total: Scalar | int = part.span.low
    for digit, at in enumerate(part.place):
        total = at * math.prod(part.span.counts[digit + 1 :]) + total
    return total


@dataclass
class Scores:
    """``scale * q @ k.T`` with a mask, and -inf above the diagonal where it is ``causal``.

    ``first_query`` is the index of the first query of a slice.
    """

    loader: Loader
    scale: float
    causal: bool
    masked: bool
    first_query: Scalar | int = 0

    @property
    def b(self) -> Builder:
        """The builder."""
        return self.loader.b

    def tile(
        self,
        queries: Sequence[Tensor],
        keys: Sequence[Tensor],
        parts: Mapping[str, Part],
        clipped: bool,
        turned: bool = False,
    ) -> Tensor:
        """Scores [G M, N] in f32, or [N, G M] if ``turned``; ``clipped`` if they cross the
        diagonal."""
        sides = (keys, queries) if turned else (queries, keys)
        total: Tensor | None = None
        for left, right in zip(*sides, strict=True):
            total = self.b.matmul(left, right, into=total, transpose_right=True)
        assert total is not None
        total = total * self.scale
        if self.masked:
            total = self._masked(total, parts, turned)
        return self._clipped(total, parts, turned) if clipped else total

    def query_origin(self, part: Part) -> Scalar | int:
        """Index of the first query of a part."""
        return origin(part) + self.first_query

    def _masked(self, scores: Tensor, parts: Mapping[str, Part], turned: bool) -> Tensor:
        mask = self.loader.spread("mask", parts)
        mask = self.b.transpose(mask) if turned else mask
        if not self.loader.is_boolean("mask"):
            return scores + mask.to(F32)
        off = self.b.full(scores.shape, -math.inf, F32)
        chosen: Tensor = self.b.select(mask, scores, off)
        return chosen

    def _clipped(self, scores: Tensor, parts: Mapping[str, Part], turned: bool) -> Tensor:
        b = self.b
        group, rows, keys = (parts[role].extent for role in "GMN")
        own = [row for _ in range(group) for row in range(rows)]
        query = self._numbers(own, self.query_origin(parts["M"]))
        key = self._numbers(range(keys), origin(parts["N"]))
        axes = (0, 1) if turned else (1, 0)
        wide = b.broadcast(query, scores.shape, axes[0])  # type: ignore[arg-type]
        reached = b.broadcast(key, scores.shape, axes[1]) <= wide  # type: ignore[arg-type]
        off = b.full(scores.shape, -math.inf, F32)
        chosen: Tensor = b.select(reached, scores, off)
        return chosen

    def _numbers(self, offsets: Sequence[int], start: Scalar | int) -> Tensor:
        line = self.b.constant_tensor(offsets, I32)
        first = self.b.constant(start) if isinstance(start, int) else start
        return line + self.b.splat(first.to(I32), line.shape)
