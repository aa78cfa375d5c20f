"""Which tiles exchange data in a collective: the groups of a future and who receives what.

Both engines call `resolve`; nothing here depends on data, so it is done once per program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spyrelab.emulator.chunks import chunking, dimensions
from spyrelab.emulator.errors import LoweringError, place
from spyrelab.emulator.points import enumerate_set
from spyrelab.ktir.affine import AffineSet
from spyrelab.ktir.ir import Function, Operation, walk
from spyrelab.ktir.types import TensorType, TileFutureType

_ONE_PRODUCER = {"ktdp.inter_tile_consume", "ktdp.inter_tile_scatter"}
_SOME_PRODUCER = _ONE_PRODUCER | {"ktdp.inter_tile_gather", "ktdp.inter_tile_all_to_all"}


class Delivery(NamedTuple):
    """What one consumer tile receives.

    ``producers`` ascend; ``rank`` counts the tile among the group's consumers, ascending.
    """

    group: int
    producers: tuple[int, ...]
    rank: int


@dataclass(frozen=True)
class Exchange:
    """The tiles that take part in one future.

    Attributes
    ----------
    producers : dict
        Producer tiles of every group, ascending.
    consumers : dict
        Delivery to every consumer tile.
    """

    producers: dict[int, tuple[int, ...]]
    consumers: dict[int, Delivery]

    def group_of(self, tile: int) -> int | None:
        """The group for which a tile produces, or None."""
        return next((group for group, tiles in self.producers.items() if tile in tiles), None)

    def takers(self, tile: int) -> tuple[int, ...]:
        """Consumer tiles that receive the partial of ``tile``, ascending."""
        return tuple(c for c, d in sorted(self.consumers.items()) if tile in d.producers)

    def group_size(self, group: int) -> int:
        """Number of consumer tiles of a group."""
        return sum(delivery.group == group for delivery in self.consumers.values())


def exchanges(function: Function) -> dict[Operation, Operation]:
    """For every ``inter_tile_produce`` of a function, the operation that takes its future.

    Raises
    ------
    LoweringError
        If a future is not used exactly once, or by anything but a collective.
    """
    operations = list(walk(function.body.operations))
    produces = {o.result: o for o in operations if o.name == "ktdp.inter_tile_produce"}
    pairs: dict[Operation, Operation] = {}
    for operation in operations:
        for produce in (produces[v] for v in operation.operands if v in produces):
            if not operation.name.startswith("ktdp.inter_tile_") or produce in pairs:
                raise LoweringError(f"{place(produce)}: a future has exactly one collective use")
            pairs[produce] = operation
    for produce in produces.values():
        if produce not in pairs:
            raise LoweringError(f"{place(produce)}: nobody takes this future; consume it")
    return pairs


def resolve(produce: Operation, consume: Operation, grid: Sequence[int]) -> Exchange:
    """Evaluate the sets of a future over the tiles of a grid.

    Raises
    ------
    LoweringError
        If a tile produces for, or consumes from, two groups; if a consumer of copy delivery
        does not have exactly one producer; if the shapes do not fit the number of tiles.
    """
    future = produce.result.type
    assert isinstance(future, TileFutureType)
    tiles = range(math.prod(grid))
    groups = _members_of_groups(future.groups)
    producers = _evaluate(produce, "producer_tiles_per_group", groups, tiles)
    receivers = _evaluate(consume, "consumer_tiles_per_group", groups, tiles)
    dependency = consume.attributes.get("producer_dependency_per_consumer")
    consumers = {
        tile: Delivery(group, _sources(dependency, producers[group], tile, group), rank)
        for group, members in receivers.items()
        for rank, tile in enumerate(members)
    }
    exchange = Exchange(producers, consumers)
    _check_producers(consume, exchange)
    _check_shapes(consume, future, exchange)
    return exchange


def _members_of_groups(groups: AffineSet) -> list[int]:
    points = enumerate_set(groups)
    numbers = points.coordinates()[0]
    return [int(g) for g in (numbers if points.mask is None else numbers[points.mask])]


def _evaluate(
    operation: Operation, attribute: str, groups: Sequence[int], tiles: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    members = operation.attributes[attribute]
    found = {
        g: tuple(t for t in tiles if members.contains((t,), (g,)[: members.symbols]))
        for g in groups
    }
    owner: dict[int, int] = {}
    for group, chosen in found.items():
        for tile in chosen:
            if owner.setdefault(tile, group) != group:
                raise LoweringError(
                    f"{place(operation)}: {attribute} puts tile {tile} into group {owner[tile]} "
                    f"and group {group}; groups must be disjoint"
                )
    return found


def _sources(
    dependency: AffineSet | None, producers: tuple[int, ...], consumer: int, group: int
) -> tuple[int, ...]:
    if dependency is None:
        return producers
    symbols = (consumer, group)[: dependency.symbols]
    return tuple(p for p in producers if dependency.contains((p,), symbols))


def _check_producers(consume: Operation, exchange: Exchange) -> None:
    for tile, delivery in exchange.consumers.items():
        count = len(delivery.producers)
        if (consume.name in _ONE_PRODUCER and count != 1) or (
            consume.name in _SOME_PRODUCER and count == 0
        ):
            wanted = "exactly one" if consume.name in _ONE_PRODUCER else "at least one"
            raise LoweringError(
                f"{place(consume)}: consumer tile {tile} of group {delivery.group} has {count} "
                f"producers {list(delivery.producers)}, needs {wanted}; "
                "use producer_dependency_per_consumer to pair them"
            )


def _check_shapes(consume: Operation, future: TileFutureType, exchange: Exchange) -> None:
    for partial, result in zip(future.partials, consume.results, strict=True):
        if isinstance(partial, TensorType) and isinstance(result.type, TensorType):
            given, wanted = static_shape(partial), static_shape(result.type)
            if given is not None and wanted is not None:
                _check_static(consume, given, wanted, exchange)


def static_shape(kind: TensorType) -> tuple[int, ...] | None:
    """The shape of a tensor type, or None if an extent is dynamic."""
    shape = tuple(extent for extent in kind.shape if extent is not None)
    return shape if len(shape) == len(kind.shape) else None


def _check_static(
    consume: Operation, partial: tuple[int, ...], result: tuple[int, ...], exchange: Exchange
) -> None:
    if any(dimensions(consume)):
        for delivery in exchange.consumers.values():
            consumers = exchange.group_size(delivery.group)
            chunking(consume, partial, result, len(delivery.producers), consumers)
    elif math.prod(partial) != math.prod(result):
        # Older texts drop a unit dimension of the partial, so only the sizes must agree.
        raise LoweringError(
            f"{place(consume)}: a partial of shape {list(partial)} cannot become {list(result)}"
        )
