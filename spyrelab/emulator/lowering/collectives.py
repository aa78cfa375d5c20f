"""Lowering of the inter-tile operations: futures, their delivery, folds and chunks.

A producer copies its partials into buffers of its own, which other cores read when they
collect.  Those buffers are never reused for anything else, and a producer that comes to
publish again first waits until all takers have collected (RECLAIM).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spyrelab.emulator.chunks import Chunking, chunking
from spyrelab.emulator.errors import LoweringError, UnsupportedError, place
from spyrelab.emulator.groups import Exchange, resolve
from spyrelab.emulator.lowering.control import move_all
from spyrelab.emulator.lowering.coordinates import scalar_binary
from spyrelab.emulator.lowering.lowering import STICK, Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.values import Future, Size, Tile, static_sizes
from spyrelab.emulator.opcodes import Column, Op
from spyrelab.ktir import INDEX, Operation, TensorType, Type, Value
from spyrelab.ktir.types import TileFutureType, element_of


@lowers("ktdp.inter_tile_produce")
def produce(lowering: Lowering, operation: Operation) -> None:
    emitter = lowering.emitter
    consume = lowering.taker.get(operation)
    kind = operation.result.type
    assert isinstance(kind, TileFutureType)
    if consume is None:
        raise LoweringError(f"{place(operation)}: the future is never used")
    exchange = resolve(operation, consume, lowering.grid)
    number = len(lowering.exchanges)
    lowering.exchanges.append(exchange)
    table = describe_exchange(lowering, exchange)
    partials = tuple(
        emitter.tile_apart(element_of(p), _static(operation, p)) for p in kind.partials
    )
    region = operation.regions[0]
    group = emitter.scalar(INDEX)
    skip = emitter.emit(Op.PRODUCE, dst=group.place, a=number, b=table, needed=True)
    lowering.define(region.arguments[0], group)
    lowering.lower_region(region)
    emitter.emit(Op.RECLAIM, a=number, b=table, needed=True)
    yielded = region.operations[-1].operands
    move_all(lowering, yielded, partials)
    emitter.emit(Op.PUBLISH, a=number, b=table, needed=True)
    emitter.patch(skip, Column.C, emitter.here())
    _account(lowering, operation, partials, [v for v in yielded if v in lowering.dying])
    lowering.end_region(region)
    lowering.define(operation.result, Future(number, table, partials))


def _account(
    lowering: Lowering, operation: Operation, partials: Sequence[Tile], donors: Sequence[Value]
) -> None:
    """The partials live with their producer; a dying value that is published hands over."""
    total = sum(-(-lowering_size(tile) * tile.kind.itemsize // STICK) * STICK for tile in partials)
    for value in donors:
        lowering.lx.kill(value)
    lowering.lx.define(operation.result, total, operation.position, location=operation.location)


def lowering_size(tile: Tile) -> int:
    """Elements of a tile of static shape."""
    return math.prod(static_sizes(tile.shape))


def _static(operation: Operation, kind: Type) -> tuple[int, ...]:
    if not isinstance(kind, TensorType):
        return ()
    if None in kind.shape:
        raise UnsupportedError(f"{place(operation)}: partials need a static shape, not {kind}")
    return tuple(int(extent or 0) for extent in kind.shape)


def describe_exchange(lowering: Lowering, exchange: Exchange) -> int:
    """Place in the pool of six tables of one entry per core.

    Group or -1; start, count and rank of a delivery (count -1: no consumer); start and count
    of the takers.
    """
    cores = 1
    for extent in lowering.grid:
        cores *= extent
    emitter, lists = lowering.emitter, []
    for core in range(cores):
        delivery = exchange.consumers.get(core)
        senders = emitter.describe(delivery.producers if delivery else ())
        takers = exchange.takers(core)
        group = exchange.group_of(core)
        lists.append(
            (
                -1 if group is None else group,
                senders,
                len(delivery.producers) if delivery else -1,
                delivery.rank if delivery else 0,
                emitter.describe(takers),
                len(takers),
            )
        )
    return emitter.describe([entry[column] for column in range(6) for entry in lists])


class _Collection:
    """Emits the frame of a delivery: wait, what consumers do, zeros for the others."""

    def __init__(self, lowering: Lowering, operation: Operation) -> None:
        self.lowering = lowering
        self.operation = operation
        self.future = lowering.get(operation.operands[0], Future)
        self.results = [
            lowering.emitter.tile(element_of(r.type), _static(operation, r.type))
            for r in operation.results
        ]
        self.exchange = lowering.exchanges[self.future.number]

    def __enter__(self) -> _Collection:
        emitter = self.lowering.emitter
        self.count = emitter.scalar(INDEX)
        self.rank = emitter.scalar(INDEX)
        self.skip = emitter.emit(
            Op.COLLECT,
            dst=self.count.place,
            a=self.future.number,
            b=self.future.table,
            size=self.rank.place,
            needed=True,
        )
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is not None:
            return
        lowering, emitter = self.lowering, self.lowering.emitter
        emitter.emit(Op.DONE, a=self.future.number, needed=True)
        leave = emitter.emit(Op.JUMP, needed=True)
        emitter.patch(self.skip, Column.C, emitter.here())
        for tile in self.results:
            zero = emitter.float_constant(0.0) if tile.is_float else emitter.zero.place
            value = Tile(tile.kind, zero)
            lowering.copy(value, tile)
        emitter.patch(leave, Column.DST, emitter.here())
        for result, tile in zip(self.operation.results, self.results, strict=True):
            lowering.define(result, tile)

    def fetch(self, number: int, producer: Tile, target: Tile, charged: Size) -> None:
        """Copy partial ``number`` of the group's producer; charge elements to the ring."""
        emitter, partial = self.lowering.emitter, self.future.partials[number]
        emitter.emit(
            Op.FETCH,
            dst=target.place,
            a=self.future.table,
            b=producer.place,
            c=partial.place,
            size=emitter.place(lowering_size(partial)),
            outer=emitter.place(charged),
            mode=int(not partial.is_float),
            rounding=partial.kind.itemsize,
        )

    def each_producer(self) -> _ProducerLoop:
        return _ProducerLoop(self)

    def plan(self, number: int) -> Chunking:
        """Chunks of result ``number``; the same for all consumers."""
        partial = static_sizes(self.future.partials[number].shape)
        wanted = static_sizes(self.results[number].shape)
        plans = {
            chunking(
                self.operation,
                partial,
                wanted,
                len(delivery.producers),
                self.exchange.group_size(delivery.group),
            )
            for delivery in self.exchange.consumers.values()
        }
        if len(plans) != 1:
            raise UnsupportedError(
                f"{place(self.operation)}: groups of different shapes need different chunks"
            )
        return plans.pop()


class _ProducerLoop:
    """A loop over the delivery's producers, ascending."""

    def __init__(self, collection: _Collection) -> None:
        self.collection = collection

    def __enter__(self) -> Tile:
        emitter = self.collection.lowering.emitter
        self.counter = emitter.scalar(INDEX)
        emitter.emit(Op.SET_INT, dst=self.counter.place, a=emitter.zero.place, needed=True)
        self.enter = emitter.emit(
            Op.FOR_ENTER,
            a=self.counter.place,
            b=self.collection.count.place,
            c=emitter.one.place,
            needed=True,
        )
        return self.counter

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is not None:
            return
        emitter = self.collection.lowering.emitter
        emitter.emit(
            Op.FOR_NEXT,
            dst=self.enter + 1,
            a=self.counter.place,
            b=self.collection.count.place,
            c=emitter.one.place,
            needed=True,
        )
        emitter.patch(self.enter, Column.DST, emitter.here())


@lowers("ktdp.inter_tile_consume")
def consume(lowering: Lowering, operation: Operation) -> None:
    with _Collection(lowering, operation) as collection:
        for number, tile in enumerate(collection.results):
            partial = collection.future.partials[number]
            collection.fetch(number, lowering.emitter.zero, tile, lowering_size(partial))


@lowers("ktdp.inter_tile_reduce")
def reduce(lowering: Lowering, operation: Operation) -> None:
    with _Collection(lowering, operation) as collection:
        charges = [lowering_size(partial) for partial in collection.future.partials]
        folded = _fold(collection, charges)
        for source, tile in zip(folded, collection.results, strict=True):
            lowering.copy(source.reshaped(tile.shape), tile)
            lowering.emitter.release(source)


def _fold(collection: _Collection, charges: Sequence[int]) -> list[Tile]:
    """Left fold from the identity over the producers."""
    lowering, operation = collection.lowering, collection.operation
    emitter = lowering.emitter
    folded = []
    for value, partial in zip(operation.operands[1:], collection.future.partials, strict=True):
        own = emitter.tile(partial.kind, partial.shape)
        lowering.copy(full_value(lowering, value, partial), own)
        folded.append(own)
    arrived = [emitter.tile(p.kind, p.shape) for p in collection.future.partials]
    region = operation.regions[0]
    with collection.each_producer() as producer:
        for number, (target, charge) in enumerate(zip(arrived, charges, strict=True)):
            collection.fetch(number, producer, target, charge)
        for argument, tile in zip(region.arguments, [*folded, *arrived], strict=True):
            lowering.define(argument, emitter.retain(tile))
        lowering.account(region.arguments, operation)
        lowering.lower_region(region)
        move_all(lowering, region.operations[-1].operands, folded)
        lowering.end_region(region)
    for tile in arrived:
        emitter.release(tile)
    return folded


def full_value(lowering: Lowering, value: Value, like: Tile) -> Tile:
    """An identity operand seen with the shape of a partial."""
    tile = lowering.tile(value)
    if tile.shape == like.shape or tile.is_splat:
        return Tile(tile.kind, tile.place, like.shape, _flags(tile, like), tile.buffer)
    return tile.reshaped(like.shape)


def _flags(tile: Tile, like: Tile) -> tuple[bool, ...]:
    return tile.kept if tile.shape == like.shape else (False,) * len(like.shape)


@lowers("ktdp.inter_tile_gather", "ktdp.inter_tile_scatter", "ktdp.inter_tile_all_to_all")
def exchange_chunks(lowering: Lowering, operation: Operation) -> None:
    emitter = lowering.emitter
    with _Collection(lowering, operation) as collection:
        for number, result in enumerate(collection.results):
            plan = collection.plan(number)
            partial = collection.future.partials[number]
            chunk = _chunk_shape(partial, plan)
            arrived = emitter.tile(partial.kind, partial.shape)
            whole = Tile(partial.kind, arrived.place, partial.shape, arrived.kept)
            source = _shift(lowering, collection.rank, plan.splits, chunk, whole)
            with collection.each_producer() as producer:
                collection.fetch(number, producer, arrived, emitter.product(chunk))
                target = _shift(lowering, producer, plan.joins, chunk, result)
                lowering.copy_strided(
                    result,
                    chunk,
                    whole.place,
                    lowering.strides(whole),
                    result.place,
                    lowering.strides(result),
                    source,
                    target,
                )
            emitter.release(arrived)


@lowers("ktdp.inter_tile_reduce_scatter")
def reduce_scatter(lowering: Lowering, operation: Operation) -> None:
    with _Collection(lowering, operation) as collection:
        plans = [collection.plan(n) for n in range(len(collection.results))]
        chunks = [
            _chunk_shape(partial, plan)
            for partial, plan in zip(collection.future.partials, plans, strict=True)
        ]
        charges = [math.prod(chunk) for chunk in chunks]
        folded = _fold(collection, charges)
        for whole, plan, chunk, result in zip(
            folded, plans, chunks, collection.results, strict=True
        ):
            source = _shift(lowering, collection.rank, plan.splits, chunk, whole)
            lowering.copy_strided(
                result,
                chunk,
                whole.place,
                lowering.strides(whole),
                result.place,
                lowering.strides(result),
                source,
            )
            lowering.emitter.release(whole)


def _chunk_shape(partial: Tile, plan: Chunking) -> tuple[int, ...]:
    extents = static_sizes(partial.shape)
    return tuple(e // s for e, s in zip(extents, plan.splits, strict=True))


def _shift(
    lowering: Lowering, rank: Tile, counts: Sequence[int], chunk: Sequence[int], tile: Tile
) -> Size:
    """Offset of chunk ``rank`` (row-major over ``counts``) in a tile."""
    emitter = lowering.emitter
    shift: Size = 0
    rest = rank
    axes = zip(reversed(counts), reversed(chunk), reversed(lowering.strides(tile)), strict=True)
    for count, size, stride in axes:
        if count == 1:
            continue
        index = scalar_binary(lowering, "arith.remsi", rest, emitter.constant(count))
        rest = scalar_binary(lowering, "arith.divsi", rest, emitter.constant(count))
        shift = emitter.add(shift, emitter.multiply(index, emitter.multiply(stride, size)))
    return shift
