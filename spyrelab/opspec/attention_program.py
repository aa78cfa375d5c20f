"""Attention forward: each core owns queries and walks the keys with an online softmax.

Milakov and Gimelshein 2018 and Dao et al. 2022: running maximum, sum and weighted values in
f32; a tile of scores lives in the scratchpad and nowhere else. Weights are rounded to the
type of the values before they are multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from spyrelab.ktir.builder import Builder, Scalar, Tensor, TileGroups
from spyrelab.ktir.types import F32
from spyrelab.opspec.attention_plan import AttentionPlan
from spyrelab.opspec.attention_scores import Scores, origin
from spyrelab.opspec.attention_space import Loader, Part, Run, Space, runs_of
from spyrelab.opspec.tiling import Tiling

__all__ = ["Forward", "Share", "Walker", "finite", "one_core", "shares"]

_TINY = 1e-30
"""What a row without any weight divides its sum of zeros by."""


@dataclass(frozen=True)
class Share:
    """Which part of each divided role a core takes: entries, heads of a group, queries (or,
    where keys are owned, keys), and the keys that partners share."""

    entries: Scalar | int = 0
    group: Scalar | int = 0
    rows: Scalar | int = 0
    keys: Scalar | int = 0


def one_core(plan: AttentionPlan) -> AttentionPlan:
    """The same tiles, all of them on one core."""
    return AttentionPlan(1, 1, 1, 1, plan.group, plan.rows, plan.keys)


def shares(core: Scalar, plan: AttentionPlan) -> Share:
    """A core's share; partners are neighbours."""
    parts = (plan.entry_parts, plan.group_parts, plan.row_parts, plan.key_parts)
    found: list[Scalar | int] = []
    rest = core
    for place in reversed(range(4)):
        own: Scalar | int = 0
        if parts[place] > 1:
            own = rest if math.prod(parts[:place]) == 1 else rest % parts[place]
            rest = rest // parts[place]
        found.append(own)
    return Share(*reversed(found))


def finite(b: Builder, tops: Tensor) -> Tensor:
    """Maxima with 0 for -inf, so that a row of -inf becomes weights of 0 and not NaN."""
    lowest = b.full(tops.shape, -math.inf, F32)
    chosen: Tensor = b.select(tops.equals(lowest), b.full(tops.shape, 0.0, F32), tops)
    return chosen


@dataclass
class Walker:
    """Loops that forward and backward have in common."""

    space: Space
    loader: Loader
    scores: Scores
    plan: AttentionPlan
    share: Share = field(default_factory=Share)

    @property
    def b(self) -> Builder:
        """The builder."""
        return self.loader.b

    @contextmanager
    def entries(self) -> Iterator[dict[str, Part]]:
        """Loop over batches and kv heads of this core."""
        spans = [self.space.spans[role][0] for role in "BK"]
        both = [len(span.counts) for span in spans]
        counts = tuple(count for span in spans for count in span.counts)
        tiling = Tiling(counts, (1,) * len(counts), self.plan.entry_parts)
        even = self.plan.key_parts > 1
        with tiling.walk(self.b, self.share.entries, "entry", even) as number:
            place = tiling.place(number, self.b)
            first = place[: both[0]], place[both[0] :]
            yield {
                role: Part(span, at, (1,) * len(at))
                for role, span, at in zip("BK", spans, first, strict=True)
            }

    @contextmanager
    def groups(self, parts: int, part: Scalar | int) -> Iterator[Part]:
        """Loop over tiles of the heads that share keys."""
        span = self.space.spans["G"][0]
        tiling = Tiling.of(span.counts, self.plan.group, parts)
        with tiling.walk(self.b, part, "head", self.plan.key_parts > 1) as number:
            yield Part(span, tiling.place(number, self.b), tiling.shape)

    def owned(self, role: str, wanted: int) -> Iterator[Part]:
        """Loop over this core's tiles of the role that cores own, once per span.

        Causal attention has more to do for later queries: cores take tiles there and back.
        """
        parts, part = self.plan.row_parts, self.share.rows
        for span in self.space.spans[role]:
            tiling = Tiling.of(span.counts, wanted, parts)
            turns = self.scores.causal and parts > 1
            with (self._turns if turns else self._runs)(tiling, part) as number:
                yield Part(span, tiling.place(number, self.b), tiling.shape)

    @contextmanager
    def _runs(self, tiling: Tiling, part: Scalar | int) -> Iterator[Scalar | int]:
        with tiling.walk(self.b, part, "block", self.plan.key_parts > 1) as number:
            yield number

    @contextmanager
    def _turns(self, tiling: Tiling, part: Scalar | int) -> Iterator[Scalar | int]:
        parts, b = tiling.parts, self.b
        own = _index(b, part)
        with b.loop(0, tiling.share, 1, names="turn") as turn:
            odd = turn % 2
            number = turn * parts + (1 - odd) * own + odd * (parts - 1 - own)
            if tiling.total % parts == 0:
                yield number
                return
            with b.if_(number < tiling.total):
                yield number

    def key_bounds(self, run: Run, rows: Part) -> tuple[Scalar, Scalar]:
        """How many tiles of a run of keys lie below the diagonal, and how many reach it."""
        first = self.scores.query_origin(rows)
        clear = self._beyond(first + 1, run.low, run)
        end = self._beyond(first + rows.extent, run.low, run, run.width - 1)
        return clear, end

    def query_bounds(self, run: Run, keys: Part) -> tuple[Scalar, Scalar]:
        """How many tiles of a run of queries lie above the diagonal, and how many reach it."""
        low, first = self.scores.first_query + run.low, origin(keys)
        start = self._beyond(first, low, run)
        clear = self._beyond(first + keys.extent - 1, low, run, run.width - 1)
        return start, clear

    def _beyond(self, index: Scalar | int, low: Scalar | int, run: Run, extra: int = 0) -> Scalar:
        """``(index - low + extra) // width``, between 0 and the tiles of a run."""
        b = self.b
        start = _index(b, low)
        steps = (b.maximum(_index(b, index), start) - start + extra) // run.width
        found: Scalar = b.minimum(steps, b.constant(run.count))
        return found

    def depths(self, name: str, role: str, parts: Mapping[str, Part]) -> list[Tensor]:
        """A tile of an operand along D or E, one tensor per span of that."""
        lead = math.prod(part.extent for part in parts.values())
        return [
            self.loader.load(name, {**parts, role: Part.whole(span)}, (lead, span.extent))
            for span in self.space.spans[role]
        ]


State = tuple[Tensor, ...]
"""Running maximum, sum of weights, weighted values per span of E."""


@dataclass
class Forward(Walker):
    """Emits one core's part of an attention."""

    def emit(self) -> None:
        """Append it to the builder."""
        with self.entries() as entry, self.groups(self.plan.group_parts, self.share.group) as group:
            for rows in self.owned("M", self.plan.rows):
                self._block({**entry, "G": group, "M": rows})

    def _block(self, parts: dict[str, Part]) -> None:
        b = self.b
        rows = parts["G"].extent * parts["M"].extent
        queries = self.depths("q", "D", parts)
        state: State = (
            b.fill((rows,), -math.inf),
            b.fill((rows,), 0.0),
            *(b.fill((rows, span.extent), 0.0) for span in self.space.spans["E"]),
        )
        for run in runs_of(self.space.spans["N"], self.plan.keys):
            state = self._run(run, queries, parts, state)
        if self.plan.key_parts > 1:
            self._fold(parts, state)
        else:
            self._finish(parts, state)

    def _run(
        self, run: Run, queries: Sequence[Tensor], parts: dict[str, Part], state: State
    ) -> State:
        """Walk the tiles of a run: those below the diagonal, then those that it crosses."""
        if not self.scores.causal:
            low, high = self._own(run)
            return self._tiles(run, low, high, queries, parts, state, False)
        clear, end = self.key_bounds(run, parts["M"])
        state = self._tiles(run, self.b.constant(0), clear, queries, parts, state, False)
        return self._tiles(run, clear, end, queries, parts, state, True)

    def _own(self, run: Run) -> tuple[Scalar, Scalar]:
        """This core's tiles of a run; the first partner takes what does not divide."""
        b, partners, part = self.b, self.plan.key_parts, self.share.keys
        if partners == 1:
            return b.constant(0), b.constant(run.count)
        part = _index(b, part)
        if run.count % partners:
            mine: Scalar = b.select(part.equals(0), b.constant(run.count), b.constant(0))
            return b.constant(0), mine
        share = run.count // partners
        return part * share, (part + 1) * share

    def _tiles(
        self,
        run: Run,
        low: Scalar,
        high: Scalar,
        queries: Sequence[Tensor],
        parts: dict[str, Part],
        state: State,
        clipped: bool,
    ) -> State:
        if low.constant == 0 and high.constant == 1:
            return self._step({**parts, "N": run.part(0)}, queries, state, clipped)
        names = ("tile", "top", "weight", *("sum" for _ in state[2:]))
        loop = self.b.loop(low, high, 1, carry=state, names=names)
        with loop as (number, *inner):
            here = {**parts, "N": run.part(number)}
            loop.yield_(*self._step(here, queries, tuple(inner), clipped))
        return loop.results

    def _step(
        self, parts: dict[str, Part], queries: Sequence[Tensor], state: State, clipped: bool
    ) -> State:
        """Take in one tile of keys and values."""
        b = self.b
        top, weight, *sums = state
        kv = {role: parts[role] for role in "BKN"}
        scores = self.scores.tile(queries, self.depths("k", "D", kv), parts, clipped)
        higher = b.reduce("max", scores, 1, initial=top)
        base = finite(b, higher)
        powers = b.exp(scores - b.broadcast(base, scores.shape, 1))  # type: ignore[arg-type]
        decay = b.exp(top - base).named("decay")
        weight = b.reduce("add", powers, 1, initial=weight * decay)
        values = self.depths("v", "E", kv)
        rounded = powers.to(values[0].dtype)
        found = [
            b.matmul(rounded, value, into=total * b.broadcast(decay, total.shape, 1))  # type: ignore[arg-type]
            for value, total in zip(values, sums, strict=True)
        ]
        return higher, weight, *found

    def _fold(self, parts: dict[str, Part], state: State) -> None:
        """Join the states of partners that walked different keys."""
        b, partners = self.b, self.plan.key_parts
        groups = TileGroups.adjacent(self.plan.cores // partners, partners)
        top, weight, *sums = state
        highest = b.produce_reduce(top, groups, "max", -math.inf, everyone=True)
        decay = b.exp(top - finite(b, highest))
        weight = b.produce_reduce(weight * decay, groups)
        sums = [
            b.produce_reduce(total * b.broadcast(decay, total.shape, 1), groups)  # type: ignore[arg-type]
            for total in sums
        ]
        with b.if_(_index(b, self.share.keys).equals(0)):
            self._finish(parts, (highest, weight, *sums))

    def _finish(self, parts: dict[str, Part], state: State) -> None:
        b, loader = self.b, self.loader
        top, weight, *sums = state
        factor = 1.0 / b.maximum(weight, _TINY)
        for total, span in zip(sums, self.space.spans["E"], strict=True):
            result = total * b.broadcast(factor, total.shape, 1)  # type: ignore[arg-type]
            kind = self.space.fields["out"].element
            loader.store(result.to(kind), "out", {**parts, "E": Part.whole(span)})
        loader.store(top + b.log(weight), "lse", parts)


def _index(b: Builder, number: Scalar | int) -> Scalar:
    return b.constant(number) if isinstance(number, int) else number
