"""Gradients of attention, each in a walk of its own; scores are computed again.

With P the weights, from scores and logsumexp, and G the gradient of the result::

    delta = rowsum(G * out)        dS = P * (G @ v.T - delta)
    dv = P.T @ G                   dq = scale * dS @ k            dk = scale * dS.T @ q

(Dao et al. 2022, appendix B). Queries' gradients walk the keys; keys' and values' gradients
walk the queries of all heads that share them, so no two cores add to one result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import F32
from spyrelab.opspec.attention_program import Walker, finite
from spyrelab.opspec.attention_space import Part, Run, runs_of
from spyrelab.opspec.tiling import Tiling

__all__ = ["KeyGradients", "QueryGradients"]

Tiles = Sequence[Tensor]
Parts = dict[str, Part]


class _Gradients(Walker):
    """What both walks need."""

    def _statistic(self, name: str, parts: Parts) -> Tensor:
        rows = {role: parts[role] for role in "BKGM"}
        return self.loader.load(name, rows, (parts["G"].extent * parts["M"].extent,))

    def _zeros(self, rows: int, roles: str) -> tuple[Tensor, ...]:
        return tuple(
            self.b.fill((rows, span.extent), 0.0)
            for role in roles
            for span in self.space.spans[role]
        )

    def _store(self, sums: Tiles, name: str, role: str, parts: Parts, factor: float) -> None:
        kind = self.space.fields[name].element
        for total, span in zip(sums, self.space.spans[role], strict=True):
            whole = {**parts, role: Part.whole(span)}
            result = total if factor == 1 else total * factor
            self.loader.store(result.to(kind), name, whole)

    def _product(self, left: Tiles, right: Tiles) -> Tensor:
        total: Tensor | None = None
        for a, c in zip(left, right, strict=True):
            total = self.b.matmul(a, c, into=total, transpose_right=True)
        assert total is not None
        return total

    def _wide(self, line: Tensor, like: Tensor, axis: int) -> Tensor:
        return self.b.broadcast(line, like.shape, axis)  # type: ignore[arg-type]

    def _looped(
        self, low: Scalar, high: Scalar, state: Tiles, step: Any, name: str
    ) -> tuple[Tensor, ...]:
        """``step(number, state)`` for a range of numbers."""
        if low.constant == 0 and high.constant == 1:
            return tuple(step(0, state))
        if low.constant is not None and low.constant == high.constant:
            return tuple(state)
        loop = self.b.loop(low, high, 1, carry=state, names=(name, *("sum" for _ in state)))
        with loop as (number, *inner):
            loop.yield_(*step(number, inner))
        return loop.results


@dataclass
class QueryGradients(_Gradients):
    """Emits one core's part of dq, and of delta."""

    def emit(self) -> None:
        """Append it to the builder."""
        with self.entries() as entry, self.groups(self.plan.group_parts, self.share.group) as group:
            for rows in self.owned("M", self.plan.rows):
                self._block({**entry, "G": group, "M": rows})

    def _block(self, parts: Parts) -> None:
        b = self.b
        slopes = self.depths("grad", "E", parts)
        delta = self._delta(slopes, self.depths("out", "E", parts))
        self.loader.store(delta, "delta", parts)
        base = finite(b, self._statistic("lse", parts))
        queries = self.depths("q", "D", parts)

        def step(run: Run, clipped: bool) -> Any:
            def take(number: Scalar | int, state: Tiles) -> list[Tensor]:
                here = {**parts, "N": run.part(number)}
                keys = self.depths("k", "D", {role: here[role] for role in "BKN"})
                scores = self.scores.tile(queries, keys, here, clipped)
                weights = b.exp(scores - self._wide(base, scores, 1))
                values = self.depths("v", "E", {role: here[role] for role in "BKN"})
                change = self._product(slopes, values)
                change = weights * (change - self._wide(delta, change, 1))
                self._store_mask(change, here)
                rounded = change.to(keys[0].dtype)
                return [b.matmul(rounded, k, into=s) for k, s in zip(keys, state, strict=True)]

            return take

        state: tuple[Tensor, ...] = self._zeros(queries[0].shape[0] or 1, "D")
        for run in runs_of(self.space.spans["N"], self.plan.keys):
            zero, clear, end = self._bounds(run, parts["M"])
            state = self._looped(zero, clear, state, step(run, False), "tile")
            state = self._looped(clear, end, state, step(run, True), "tile")
        self._store(state, "dq", "D", parts, self.scores.scale)

    def _delta(self, slopes: Tiles, results: Tiles) -> Tensor:
        total: Tensor | None = None
        for slope, result in zip(slopes, results, strict=True):
            total = self.b.reduce("add", slope.to(F32) * result.to(F32), 1, initial=total)
        assert total is not None
        return total

    def _store_mask(self, change: Tensor, parts: Parts) -> None:
        if "dmask" in self.space.fields:
            self.loader.store(change.to(self.space.fields["dmask"].element), "dmask", parts)

    def _bounds(self, run: Run, rows: Part) -> tuple[Scalar, Scalar, Scalar]:
        zero, count = self.b.constant(0), self.b.constant(run.count)
        if not self.scores.causal:
            return zero, count, count
        clear, end = self.key_bounds(run, rows)
        return zero, clear, end


@dataclass
class KeyGradients(_Gradients):
    """Emits one core's part of dk and dv."""

    def emit(self) -> None:
        """Append it to the builder."""
        with self.entries() as entry:
            for keys in self.owned("N", self.plan.keys):
                self._block({**entry, "N": keys})

    def _block(self, parts: Parts) -> None:
        keys, values = self.depths("k", "D", parts), self.depths("v", "E", parts)
        state: Tiles = self._zeros(parts["N"].extent, "DE")
        span = self.space.spans["G"][0]
        tiling = Tiling.of(span.counts, self.plan.group)

        def heads(number: Scalar | int, inner: Tiles) -> Tiles:
            group = Part(span, tiling.place(number, self.b), tiling.shape)
            return self._group({**parts, "G": group}, keys, values, inner)

        zero, total = self.b.constant(0), self.b.constant(tiling.total)
        state = self._looped(zero, total, state, heads, "head")
        depths = len(self.space.spans["D"])
        self._store(state[:depths], "dk", "D", parts, self.scores.scale)
        self._store(state[depths:], "dv", "E", parts, 1)

    def _group(self, parts: Parts, keys: Tiles, values: Tiles, state: Tiles) -> Tiles:
        """Walk the queries of some of the heads."""

        def step(run: Run, clipped: bool) -> Any:
            def take(number: Scalar | int, inner: Tiles) -> list[Tensor]:
                here = {**parts, "M": run.part(number)}
                return self._step(here, keys, values, inner, clipped)

            return take

        for run in runs_of(self.space.spans["M"], self.plan.rows):
            start, clear = self._bounds(run, parts["N"])
            count = self.b.constant(run.count)
            if self.scores.causal:
                state = self._looped(start, clear, state, step(run, True), "block")
            state = self._looped(clear, count, state, step(run, False), "block")
        return state

    def _bounds(self, run: Run, keys: Part) -> tuple[Scalar, Scalar]:
        """Tiles before the first are above the diagonal, those from the second on below it."""
        b = self.b
        if not self.scores.causal:
            return b.constant(0), b.constant(0)
        return self.query_bounds(run, keys)

    def _step(
        self, parts: Parts, keys: Tiles, values: Tiles, state: Tiles, clipped: bool
    ) -> list[Tensor]:
        b, depths = self.b, len(keys)
        rows = {role: parts[role] for role in "BKGM"}
        queries, slopes = self.depths("q", "D", rows), self.depths("grad", "E", rows)
        scores = self.scores.tile(queries, keys, parts, clipped, turned=True)
        base = finite(b, self._statistic("lse", parts))
        weights = b.exp(scores - self._wide(base, scores, 0))
        change = self._product(values, slopes)
        change = weights * (change - self._wide(self._statistic("delta", parts), change, 0))
        kind = queries[0].dtype
        rounded, light = change.to(kind), weights.to(kind)
        new = [b.matmul(rounded, q, into=s) for q, s in zip(queries, state[:depths], strict=True)]
        new += [b.matmul(light, g, into=s) for g, s in zip(slopes, state[depths:], strict=True)]
        return new
