"""Exchange between cores: futures, and the operations that take them.

A producer publishes its partials and goes on.  A consumer waits until all its producers have
published; a producer that comes to publish the same future again waits until every consumer
has taken the previous partials.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from spyrelab.emulator.chunks import chunk_slices, chunking
from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import UnsupportedError, Waiting, place
from spyrelab.emulator.groups import Delivery, Exchange, exchanges, resolve, static_shape
from spyrelab.emulator.printing import Printout
from spyrelab.emulator.reference.core import Array, Core, Steps, concrete_shape, tensor_type, zeros
from spyrelab.emulator.reference.registry import reference
from spyrelab.ktir.ir import Function, Operation
from spyrelab.ktir.types import TensorType, Type, element_of

Partials = tuple[Array, ...]


@dataclass
class _Published:
    partials: Partials
    takers: set[int]


class Rendezvous:
    """The partials under way between cores.

    ``version`` grows with every publication and every delivery, so a round of all cores
    that leaves it unchanged made no progress.
    """

    def __init__(self, function: Function, grid: tuple[int, ...]) -> None:
        self.version = 0
        self.turns = 0
        """Turns that are done."""
        self.printout = Printout()
        self._cores = math.prod(grid)
        self._arrivals: dict[Operation, list[int]] = {}
        self._resolved = {p: resolve(p, c, grid) for p, c in exchanges(function).items()}
        self._slots: dict[tuple[Operation, int], _Published] = {}

    def end_turn(self) -> None:
        """One more turn is done."""
        self.turns += 1
        self.version += 1

    def arrive(self, barrier: Operation, core: int) -> int:
        """A core comes to a barrier; for the how manieth time."""
        arrivals = self._arrivals.setdefault(barrier, [0] * self._cores)
        arrivals[core] += 1
        self.version += 1
        return arrivals[core]

    def absent(self, barrier: Operation, times: int) -> list[int]:
        """Cores that have not yet come to a barrier so often."""
        return [core for core, count in enumerate(self._arrivals[barrier]) if count < times]

    def exchange(self, produce: Operation) -> Exchange:
        """The tiles of a future."""
        return self._resolved[produce]

    def pending(self, produce: Operation, tile: int) -> set[int]:
        """Consumers that have not yet taken what ``tile`` published."""
        slot = self._slots.get((produce, tile))
        return slot.takers if slot else set()

    def publish(self, produce: Operation, tile: int, partials: Partials, takers: set[int]) -> None:
        if takers:
            self._slots[produce, tile] = _Published(partials, takers)
        self.version += 1

    def take(self, produce: Operation, tile: int, consumer: int) -> Partials:
        slot = self._slots[produce, tile]
        slot.takers.remove(consumer)
        self.version += 1
        return slot.partials


@reference("ktdp.inter_tile_produce")
def produce(core: Core, operation: Operation) -> Generator[Waiting, None, Operation]:
    """Only producers run the region.  The future itself is just the operation that made it."""
    exchange = core.rendezvous.exchange(operation)
    group = exchange.group_of(core.number)
    if group is not None:
        partials = yield from core.run(operation.regions[0], [np.int64(group)])
        while waiting := core.rendezvous.pending(operation, core.number):
            yield core.waiting(operation, sorted(waiting))
        takers = set(exchange.takers(core.number))
        core.rendezvous.publish(operation, core.number, partials, takers)
    return operation


@dataclass(frozen=True)
class _Received:
    """What a consumer got: per producer its partials; ``consumers`` is the group's size."""

    delivery: Delivery
    consumers: int
    partials: tuple[Partials, ...]

    def of_result(self, number: int) -> list[Array]:
        """Partial ``number`` of every producer."""
        return [partials[number] for partials in self.partials]


def _receive(
    core: Core, operation: Operation, future: Operation
) -> Generator[Waiting, None, _Received | None]:
    exchange = core.rendezvous.exchange(future)
    delivery = exchange.consumers.get(core.number)
    if delivery is None:
        return None
    while missing := [
        p for p in delivery.producers if core.number not in core.rendezvous.pending(future, p)
    ]:
        yield core.waiting(operation, missing)
    partials = tuple(core.rendezvous.take(future, p, core.number) for p in delivery.producers)
    return _Received(delivery, exchange.group_size(delivery.group), partials)


def _count_ring(core: Core, kind: Type, delivery: Delivery, pieces: Sequence[Array]) -> None:
    for producer, piece in zip(delivery.producers, pieces, strict=True):
        if producer != core.number:
            core.count(Column.RING, piece.size * element_of(kind).itemsize)


def _nothing(operation: Operation) -> Partials:
    """A tile in no consumer set gets zeros."""
    results = []
    for result in operation.results:
        kind = tensor_type(result)
        shape = static_shape(kind)
        if shape is None:
            raise UnsupportedError(f"{place(operation)}: a non-consumer needs a static shape")
        results.append(zeros(shape, kind.element))
    return tuple(results)


def _shaped(operation: Operation, arrays: Sequence[Array]) -> Partials:
    # Older texts drop a unit dimension of the partial.
    return tuple(
        array.reshape(concrete_shape(tensor_type(result), array.size, operation))
        for array, result in zip(arrays, operation.results, strict=True)
    )


@reference("ktdp.inter_tile_consume")
def consume(core: Core, operation: Operation, future: Operation) -> Steps:
    """Copy delivery: every consumer has one producer."""
    received = yield from _receive(core, operation, future)
    if received is None:
        return _nothing(operation)
    for number, result in enumerate(operation.results):
        _count_ring(core, result.type, received.delivery, received.of_result(number))
    return _shaped(operation, received.partials[0])


@reference("ktdp.inter_tile_reduce")
def reduce(core: Core, operation: Operation, future: Operation, *identity: Array) -> Steps:
    """Left fold from the identity over the producers in ascending order."""
    received = yield from _receive(core, operation, future)
    if received is None:
        return _nothing(operation)
    for number, result in enumerate(operation.results):
        _count_ring(core, result.type, received.delivery, received.of_result(number))
    return _shaped(operation, _fold(core, operation, received, identity))


def _fold(core: Core, operation: Operation, received: _Received, identity: Partials) -> Partials:
    folded = identity
    for partials in received.partials:
        folded = core.call(operation.regions[0], *folded, *partials)
    return folded


@reference(
    "ktdp.inter_tile_gather",
    "ktdp.inter_tile_scatter",
    "ktdp.inter_tile_all_to_all",
)
def exchange_chunks(core: Core, operation: Operation, future: Operation) -> Steps:
    """Cut the chunk of this consumer out of every producer's partial, and join the chunks.

    gather cuts nothing; scatter joins nothing, as it has one producer.
    """
    received = yield from _receive(core, operation, future)
    if received is None:
        return _nothing(operation)
    results = []
    for number, result in enumerate(operation.results):
        partials = received.of_result(number)
        plan = chunking(
            operation,
            partials[0].shape,
            _result_shape(operation, tensor_type(result)),
            len(partials),
            received.consumers,
        )
        rank = received.delivery.rank
        pieces = [p[chunk_slices(p.shape, plan.splits, rank)] for p in partials]
        _count_ring(core, result.type, received.delivery, pieces)
        results.append(_join(pieces, plan.joins))
    return tuple(results)


@reference("ktdp.inter_tile_reduce_scatter")
def reduce_scatter(core: Core, operation: Operation, future: Operation, *identity: Array) -> Steps:
    """Fold as inter_tile_reduce does; the consumer keeps its chunk.

    The ring is charged for this chunk of every partial: nobody needs the rest.
    """
    received = yield from _receive(core, operation, future)
    if received is None:
        return _nothing(operation)
    results = []
    for number, folded in enumerate(_fold(core, operation, received, identity)):
        kind = tensor_type(operation.results[number])
        shape = _result_shape(operation, kind)
        plan = chunking(operation, folded.shape, shape, len(received.partials), received.consumers)
        part = chunk_slices(folded.shape, plan.splits, received.delivery.rank)
        pieces = [partial[part] for partial in received.of_result(number)]
        _count_ring(core, kind, received.delivery, pieces)
        results.append(folded[part])
    return tuple(results)


def _result_shape(operation: Operation, kind: TensorType) -> tuple[int, ...]:
    shape = static_shape(kind)
    if shape is None:
        raise UnsupportedError(f"{place(operation)} needs a static result shape, not {kind}")
    return shape


def _join(pieces: Sequence[Array], joins: Sequence[int]) -> Array:
    shape = pieces[0].shape
    joined = np.empty(
        [extent * count for extent, count in zip(shape, joins, strict=True)], pieces[0].dtype
    )
    for piece, index in zip(pieces, product(*map(range, joins)), strict=True):
        joined[tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, shape, strict=True))] = piece
    return joined
