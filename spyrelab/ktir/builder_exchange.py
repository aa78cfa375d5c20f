"""The builder's inter-tile operations: groups of compute tiles that exchange tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.affine import (
    AffineSet,
    Binary,
    Constant,
    Constraint,
    Dim,
    Symbol,
    add,
    box_set,
    multiply,
    negate,
)
from spyrelab.ktir.builder_emit import Block
from spyrelab.ktir.builder_tiles import TileBuilder
from spyrelab.ktir.builder_values import BuilderError, Future, Number, Tensor
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.types import INDEX, TensorType, TileFutureType

Combine = Callable[[Any, Any], Tensor]


@dataclass(frozen=True)
class TileGroups:
    """Which compute tiles work together.

    ``members`` and ``leader`` are sets ``(tile)[group]``; ``groups`` is the set of group
    numbers.
    """

    members: AffineSet
    leader: AffineSet
    groups: AffineSet

    @staticmethod
    def adjacent(groups: int, size: int) -> TileGroups:
        """Group g is the tiles ``g * size .. g * size + size - 1``."""
        offset = add(Dim(0), multiply(Symbol(0), Constant(-size)))
        back = add(negate(Dim(0)), multiply(Symbol(0), Constant(size)))
        inside = (Constraint(offset), Constraint(add(back, Constant(size - 1))))
        leader = AffineSet(1, 1, (Constraint(offset, equality=True),))
        return TileGroups(AffineSet(1, 1, inside), leader, box_set((groups,)))

    @staticmethod
    def strided(groups: int, size: int, stride: int | None = None) -> TileGroups:
        """Group g is the tiles ``g, g + stride, ...`` (stride: the number of groups)."""
        stride = groups if stride is None else stride
        offset = add(Dim(0), negate(Symbol(0)))
        back = add(add(negate(Dim(0)), Symbol(0)), Constant((size - 1) * stride))
        same = Constraint(Binary("mod", offset, Constant(stride)), equality=True)
        inside = (same, Constraint(offset), Constraint(back))
        leader = AffineSet(1, 1, (Constraint(offset, equality=True),))
        return TileGroups(AffineSet(1, 1, inside), leader, box_set((groups,)))

    @staticmethod
    def spaced(tiles: int, size: int, apart: int) -> TileGroups:
        """All of ``tiles`` in groups of ``size``, each ``apart`` from the next."""
        if apart == 1:
            return TileGroups.adjacent(tiles // size, size)
        if apart * size == tiles:
            return TileGroups.strided(apart, size)
        # Tile t is number t // apart % size of group (t // (apart * size)) * apart + t % apart.
        block = Binary("floordiv", Dim(0), Constant(apart * size))
        own = Binary("floordiv", Symbol(0), Constant(apart))
        offset = add(Dim(0), negate(Symbol(0)))
        same = Constraint(Binary("mod", offset, Constant(apart)), equality=True)
        near = Constraint(add(block, negate(own)), equality=True)
        inside = Constraint(Dim(0)), Constraint(add(negate(Dim(0)), Constant(tiles - 1)))
        place = Binary("mod", Dim(0), Constant(apart * size))
        first = Constraint(add(Constant(apart - 1), negate(place)))
        members = AffineSet(1, 1, (near, same, *inside))
        leader = AffineSet(1, 1, (near, same, first, *inside))
        return TileGroups(members, leader, box_set((tiles // size,)))


class ExchangeBuilder(TileBuilder):
    """Produce partial results, deliver them folded or whole."""

    def produce(self, partial: Tensor, groups: TileGroups) -> Future:
        """Publish a tensor to the other members of this tile's group."""
        number = Value(self.unique("group"), INDEX)
        region = Region((number,), [Operation("ktdp.yield_partial", (self.use(partial),))])
        kind = TileFutureType((partial.type,), groups.groups)
        made = self.emit(
            "ktdp.inter_tile_produce",
            [],
            [kind],
            {"producer_tiles_per_group": groups.members},
            [region],
            "partials",
        )
        return Future(self, made[0], self.block)

    def consume(
        self, future: Future, consumers: AffineSet, producers: AffineSet | None = None
    ) -> Tensor:
        """Receive the partial of the producer that ``producers`` names for this consumer."""
        kind = self._partial(future)
        attributes = _delivery(consumers, producers)
        made = self.emit("ktdp.inter_tile_consume", [future], [kind], attributes, hint="received")
        return self.tensor(made[0])

    def reduce_tiles(
        self,
        future: Future,
        consumers: AffineSet,
        identity: Number | Tensor = 0,
        combine: str | Combine = "add",
        producers: AffineSet | None = None,
    ) -> Tensor:
        """Fold the partials of a group in ascending order of tiles, from ``identity``.

        ``combine`` is the name of a fold (``add``, ``max``, ...) or a function of two
        tensors.
        """
        kind = self._partial(future)
        start = identity
        if not isinstance(start, Tensor):
            start = self.full(kind.shape, start, kind.element)
        region = self._combiner(kind, combine)
        attributes = _delivery(consumers, producers)
        made = self.emit(
            "ktdp.inter_tile_reduce", [future, start], [kind], attributes, [region], "folded"
        )
        return self.tensor(made[0])

    def gather_tiles(self, future: Future, consumers: AffineSet, counts: Sequence[int]) -> Tensor:
        """Receive the partials of a group side by side.

        ``counts[d]`` of them lie along dimension d, the last dimension fastest.
        """
        kind = self._partial(future)
        joined = [d for d, count in enumerate(counts) if count > 1]
        extents = itertools.zip_longest(kind.shape, counts, fillvalue=1)
        shape = tuple(None if n is None else n * (count or 1) for n, count in extents)
        attributes = {**_delivery(consumers, None), "concat_dimensions": tuple(joined)}
        made = self.emit(
            "ktdp.inter_tile_gather",
            [future],
            [TensorType(shape, kind.element)],
            attributes,
            hint="gathered",
        )
        return self.tensor(made[0])

    def produce_reduce(
        self,
        partial: Tensor,
        groups: TileGroups,
        combine: str | Combine = "add",
        identity: Number | Tensor = 0,
        everyone: bool = False,
    ) -> Tensor:
        """Fold a tensor over a group; the leader receives it, or every member."""
        consumers = groups.members if everyone else groups.leader
        return self.reduce_tiles(self.produce(partial, groups), consumers, identity, combine)

    def _combiner(self, kind: TensorType, combine: str | Combine) -> Region:
        sides = (Value(self.unique("lhs"), kind), Value(self.unique("rhs"), kind))
        block = Block(Region(sides))
        self._blocks.append(block)
        left, right = (Tensor(self, side, block) for side in sides)
        if isinstance(combine, str):
            result = self.arithmetic(combine, left, right)
        else:
            result = combine(left, right)
        self.emit("ktdp.yield_reduced", [result])
        self._blocks.pop()
        return block.region

    def _partial(self, future: Future) -> TensorType:
        kind = future.type
        assert isinstance(kind, TileFutureType)
        first = kind.partials[0]
        if len(kind.partials) != 1 or not isinstance(first, TensorType):
            raise BuilderError(f"{kind} has more than one partial", "deliver it through emit")
        return first


def _delivery(consumers: AffineSet, producers: AffineSet | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {"consumer_tiles_per_group": consumers}
    if producers is not None:
        attributes["producer_dependency_per_consumer"] = producers
    return attributes
