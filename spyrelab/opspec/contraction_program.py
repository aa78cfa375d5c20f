"""The code of a contraction: loops over tiles, products, exchange of sums, result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor, TileGroups, View
from spyrelab.ktir.types import F32, MemorySpace
from spyrelab.opspec.contraction_plan import Plan
from spyrelab.opspec.spans import Span
from spyrelab.opspec.target import DDR, target

if TYPE_CHECKING:
    from spyrelab.opspec.contraction import Contraction

__all__ = ["BIAS", "LEFT", "OUT", "RIGHT", "Finish", "Program"]

LEFT, RIGHT, OUT, BIAS = range(4)
"""Operands of a contraction."""

Finish = Callable[[Builder, Tensor, Tensor | None], Tensor]
"""Turns the f32 sum, and the f32 tile of the bias where there is one, into the result."""

Place = list[Scalar | int]
"""Where a tile begins in each digit of a role."""


@dataclass
class Program:
    """Emits one block."""

    b: Builder
    owner: Contraction
    plan: Plan
    scalars: dict[str, Scalar]
    finish: Finish
    core: Scalar

    def emit(self) -> None:
        """Append the block to the builder."""
        b, plan = self.b, self.plan
        parts = self._parts()
        batch, rows, cols, depth = plan.tilings
        even = plan.split[3] > 1
        views = self._views()
        with (
            batch.walk(b, parts[0], "entry", even) as entry,
            rows.walk(b, parts[1], "row", even) as row,
        ):
            places = [batch.place(entry, b), rows.place(row, b)]
            held = None
            if depth.share == 1:
                held = self._left(views, places, parts[3])
            with cols.walk(b, parts[2], "col", even) as col:
                places_here = [*places, cols.place(col, b)]
                total = self._total(views, places_here, parts[3], held)
                self._store(total, places_here, parts[3])

    def _parts(self) -> Place:
        """This core's part of each role; partners in the sum are neighbours."""
        found: Place = []
        rest: Scalar = self.core
        for place, parts in reversed(list(enumerate(self.plan.split))):
            outer = math.prod(self.plan.split[:place])
            own: Scalar | int = 0
            if parts > 1:
                own = rest if outer == 1 else rest % parts
                rest = rest // parts
            found.append(own)
        return found[::-1]

    def _views(self) -> list[tuple[View, View]]:
        """A and B for every span of the sum."""
        batch, rows, cols = self.plan.spans
        return [
            (
                self._view(LEFT, (batch, rows, span)),
                self._view(RIGHT, (batch, *self._right(span, cols))),
            )
            for span in self.plan.depth
        ]

    def _right(self, depth: Any, cols: Any) -> tuple[Any, Any]:
        """What belongs to the two axes of a tile of B, in their order."""
        return (cols, depth) if self.owner.turned else (depth, cols)

    def _view(self, operand: int, spans: Sequence[Span]) -> View:
        start = self.scalars[self.owner.names[operand]] + sum(s.offsets[operand] for s in spans)
        if not self._batched:
            spans = spans[1:]  # a last batch entry by itself has an offset all the same
        start = start + self.owner.start if operand == RIGHT else start
        return self.b.view(
            start,
            sizes=[count for span in spans for count in span.counts],
            dtype=self.owner.elements[operand],
            strides=[stride for span in spans for stride in span.strides[operand]],
            memory_space=self._space(operand),
        )

    def _space(self, operand: int) -> MemorySpace:
        into = target()
        return into.given[self.owner.names[operand]].space if into is not None else DDR

    @property
    def _batched(self) -> bool:
        return self.plan.spans[0].extent > 1

    def _load(self, view: View, places: Sequence[Place], shapes: Sequence[Sequence[int]]) -> Tensor:
        """A tile as [rows, columns], with the batch first where there is one."""
        if not self._batched:
            places, shapes = places[1:], shapes[1:]
        position = tuple(p for place in places for p in place)
        tile = self.b.load(view[position], shape=[e for shape in shapes for e in shape])
        return self.b.reshape(tile, [math.prod(shape) for shape in shapes])

    def _depths(self, number: Scalar | int) -> tuple[Place, tuple[int, ...]]:
        tiling = self.plan.tilings[3]
        return tiling.place(number, self.b), tiling.shape

    def _left(
        self, views: list[tuple[View, View]], places: list[Place], part: Scalar | int
    ) -> Tensor:
        place, shape = self._depths(part * self.plan.tilings[3].share)
        batch, rows = (self.plan.tilings[i].shape for i in (0, 1))
        return self._load(views[0][0], [*places, place], [batch, rows, shape])

    def _product(
        self,
        views: tuple[View, View],
        places: list[Place],
        depth: tuple[Place, tuple[int, ...]],
        into: Tensor | None,
        held: Tensor | None = None,
    ) -> Tensor:
        batch, rows, cols = (self.plan.tilings[i].shape for i in (0, 1, 2))
        place, shape = depth
        left = held
        if left is None:
            left = self._load(views[0], [places[0], places[1], place], [batch, rows, shape])
        right = self._load(
            views[1],
            [places[0], *self._right(place, places[2])],
            [batch, *self._right(shape, cols)],
        )
        return self.b.matmul(left, right, into=into, transpose_right=self.owner.turned)

    def _total(
        self,
        views: list[tuple[View, View]],
        places: list[Place],
        part: Scalar | int,
        held: Tensor | None,
    ) -> Tensor:
        b, tiling = self.b, self.plan.tilings[3]
        first = part * tiling.share
        if held is not None:
            total = self._product(views[0], places, self._depths(first), None, held)
        else:
            lead = (self.plan.tilings[0].elements,) if self._batched else ()
            rows, cols = (self.plan.tilings[i].elements for i in (1, 2))
            loop = b.loop(
                first,
                first + tiling.share,
                1,
                carry=(b.fill((*lead, rows, cols), 0.0),),
                names=("depth", "total"),
            )
            with loop as (number, carried):
                step = self._depths(number)
                loop.yield_(self._product(views[0], places, step, carried))
            total = loop.results[0]
        for pair, span in zip(views[1:], self.plan.depth[1:], strict=True):
            total = self._rest(pair, span, places, part, total)
        return total

    def _rest(
        self,
        views: tuple[View, View],
        span: Span,
        places: list[Place],
        part: Scalar | int,
        total: Tensor,
    ) -> Tensor:
        """A last incomplete stick of the sum: the first partner adds it."""
        whole: tuple[Place, tuple[int, ...]] = ([0] * len(span.counts), span.counts)
        if isinstance(part, int):
            return self._product(views, places, whole, total)
        branch = self.b.if_(part.equals(0))
        with branch:
            branch.yield_(self._product(views, places, whole, total))
        with branch.otherwise():
            branch.yield_(total)
        chosen: Tensor = branch.results[0]
        return chosen

    def _store(self, total: Tensor, places: list[Place], part: Scalar | int) -> None:
        b, split = self.b, self.plan.split
        out = self._view(OUT, self.plan.spans)
        shapes = [self.plan.tilings[i].shape for i in (0, 1, 2)]
        first = 0 if self._batched else 1
        position = tuple(p for place in places[first:] for p in place)
        digits = [e for shape in shapes[first:] for e in shape]

        def write(value: Tensor) -> None:
            bias = self._bias(places) if len(self.owner.elements) > BIAS else None
            b.store(b.reshape(self.finish(b, value, bias), digits), out[position])

        into = target()
        if into is not None:
            total = into.folded(total)
            with into.storing(self.owner.names[OUT]):
                write(total)
            return
        if split[3] == 1:
            write(total)
            return
        assert isinstance(part, Scalar)
        total = b.produce_reduce(total, TileGroups.adjacent(self.plan.cores // split[3], split[3]))
        with b.if_(part.equals(0)):
            write(total)

    def _bias(self, places: list[Place]) -> Tensor:
        """The bias over the tile of the result, in f32; indices that it lacks are repeated."""
        b, plan, kind = self.b, self.plan, self.owner.elements[BIAS]
        roles = range(0 if self._batched else 1, 3)
        counts = [count for role in roles for count in plan.spans[role].counts]
        strides = [stride for role in roles for stride in plan.spans[role].strides[BIAS]]
        extents = [extent for role in roles for extent in plan.tilings[role].shape]
        at = [position for role in roles for position in places[role]]
        sizes = [plan.tilings[role].elements for role in roles]
        start = self.scalars[self.owner.names[BIAS]]
        start = start + sum(span.offsets[BIAS] for span in plan.spans)
        kept = [axis for axis, stride in enumerate(strides) if stride]
        if not kept:
            view = b.view(start, (1,), kind, memory_space=self._space(BIAS))
            number = b.load(view[0], (1,)).item()
            return b.splat(number.to(F32), sizes)
        view = b.view(
            start,
            [counts[d] for d in kept],
            kind,
            [strides[d] for d in kept],
            memory_space=self._space(BIAS),
        )
        tile = b.load(view[tuple(at[d] for d in kept)], [extents[d] for d in kept]).to(F32)
        added = [axis for axis in range(len(counts)) if axis not in kept]
        return b.reshape(b.broadcast(tile, extents, added) if added else tile, sizes)
