"""Lowering of what concerns more than one core, or the host: atomics, turns, barriers, prints."""

from __future__ import annotations

import math

from spyrelab.emulator.atomics import atomic_of
from spyrelab.emulator.groups import Delivery, Exchange
from spyrelab.emulator.lowering.collectives import describe_exchange
from spyrelab.emulator.lowering.lowering import Lowering, tensor_type
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.single_elements import element_runs
from spyrelab.emulator.lowering.transfers import ELEMENTS
from spyrelab.emulator.opcodes import Column, Op
from spyrelab.ktir import INDEX, Operation
from spyrelab.ktir.element_access import STORED


@lowers("spyrelab.atomic_rmw", "spyrelab.atomic_cas")
def atomic(lowering: Lowering, operation: Operation) -> None:
    emitter = lowering.emitter
    kind = tensor_type(operation).element
    runs = element_runs(lowering, operation)
    given = operation.operands[: STORED[operation.name]]
    values = [lowering.contiguous(lowering.tile(value)) for value in given]
    for value in values:
        emitter.check_equal(value.shape, runs.shape)
    out, spare = emitter.tile(kind, runs.shape), emitter.tile(kind, (1,))
    inner = runs.inner
    sizes = (runs.block.count, inner.start, inner.extent, inner.stride, inner.limit)
    entries = [int(ELEMENTS[kind.name]), out.place, runs.addresses.place]
    entries += [emitter.place(size) for size in sizes] + [runs.base.space]
    entries += [int(atomic_of(operation)), values[-1].place, values[0].place, spare.place]
    origins = [part.origin for part in runs.base.parts]
    indices = runs.indices.places() if runs.indices else ()
    emitter.transfer(Op.ATOMIC, entries, origins, indices)
    runs.block.release()
    for tile in (*values, spare):
        emitter.release(tile)
    lowering.define(operation.result, out)


# -- order -----------------------------------------------------------------------------------


def _everyone(lowering: Lowering) -> Exchange:
    """All cores produce for all cores."""
    cores = tuple(range(math.prod(lowering.grid)))
    return Exchange({0: cores}, {core: Delivery(0, cores, core) for core in cores})


def _new_exchange(lowering: Lowering) -> tuple[int, int]:
    """Number and tables of an exchange between all cores."""
    exchange = _everyone(lowering)
    lowering.exchanges.append(exchange)
    return len(lowering.exchanges) - 1, describe_exchange(lowering, exchange)


@lowers("spyrelab.turn")
def turn(lowering: Lowering, operation: Operation) -> None:
    """The turns that are done are counted as publications of an exchange of their own."""
    if lowering.turns is None:
        lowering.turns, _ = _new_exchange(lowering)
    number = lowering.tile(operation.operands[0])
    lowering.emitter.emit(Op.TURN, a=lowering.turns, b=number.place, needed=True)


@lowers("spyrelab.turn_done")
def turn_done(lowering: Lowering, operation: Operation) -> None:
    if lowering.turns is None:
        lowering.turns, _ = _new_exchange(lowering)
    lowering.emitter.emit(Op.TURN_DONE, a=lowering.turns, needed=True)


@lowers("spyrelab.barrier")
def barrier(lowering: Lowering, operation: Operation) -> None:
    """An exchange without a payload."""
    emitter = lowering.emitter
    number, table = _new_exchange(lowering)
    count, rank = emitter.scalar(INDEX), emitter.scalar(INDEX)
    emitter.emit(Op.RECLAIM, a=number, b=table, needed=True)
    emitter.emit(Op.PUBLISH, a=number, b=table, needed=True)
    collect = emitter.emit(
        Op.COLLECT, dst=count.place, a=number, b=table, size=rank.place, needed=True
    )
    emitter.emit(Op.DONE, a=number, needed=True)
    emitter.patch(collect, Column.C, emitter.here())


# -- the host --------------------------------------------------------------------------------


@lowers("spyrelab.print")
def print_values(lowering: Lowering, operation: Operation) -> None:
    """The core stops; the host reads the values, prints them and lets the core go on."""
    emitter = lowering.emitter
    tiles = [lowering.contiguous(lowering.tile(value)) for value in operation.operands]
    row = emitter.emit(Op.PRINT)
    emitter.prints[row] = tuple(tiles)
    for tile in tiles:
        emitter.release(tile)


@lowers("spyrelab.assert")
def assertion(lowering: Lowering, operation: Operation) -> None:
    emitter = lowering.emitter
    condition = lowering.contiguous(lowering.tile(operation.operands[0]))
    count = emitter.place(emitter.product(condition.shape))
    emitter.emit(Op.CHECK_TRUE, a=condition.place, size=count)
    emitter.release(condition)
