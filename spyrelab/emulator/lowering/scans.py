"""Lowering of scans, takes and histograms with the instructions that there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spyrelab.emulator.counters import Column as Counter
from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.families import CompareInt
from spyrelab.emulator.lowering.bodies import evaluate_body
from spyrelab.emulator.lowering.coordinates import Coordinates
from spyrelab.emulator.lowering.generic import begin_loop, end_loop
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.reductions import permuted
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.tensors import check_range, full
from spyrelab.emulator.lowering.values import Tile, static_sizes
from spyrelab.emulator.opcodes import Broadcast, Op
from spyrelab.ktir import I1, INDEX, Operation, Value


def count_simple(lowering: Lowering, amount: int) -> None:
    """Count simple elements."""
    emitter = lowering.emitter
    emitter.emit(Op.COUNT, size=emitter.place(amount), unit=int(Counter.OPS_SFP))


# -- scan ------------------------------------------------------------------------------------


@lowers("spyrelab.scan")
def scan(lowering: Lowering, operation: Operation) -> None:
    """The scanned axis goes outermost, so that a distance is a shift of the whole tile."""
    emitter = lowering.emitter
    sources = [lowering.tile(value) for value in operation.operands]
    shape = static_sizes(sources[0].shape)
    axis = operation.attributes["axis"]
    order = [axis, *(d for d in range(len(shape)) if d != axis)]
    tiles = [_turned(lowering, source, order) for source in sources]
    length, rest = shape[axis], math.prod(shape) // max(shape[axis], 1)
    distance = 1
    while distance < length:
        near, far = (length - distance) * rest, distance * rest
        starts = (far, 0) if operation.attributes.get("reverse") else (0, far)
        _combine(lowering, operation, tiles, near, starts)
        distance *= 2
    for value, tile in zip(operation.results, tiles, strict=True):
        back = sorted(range(len(shape)), key=order.__getitem__)
        lowering.define(value, _turned(lowering, tile, back))
        emitter.release(tile)


def _turned(lowering: Lowering, source: Tile, order: Sequence[int]) -> Tile:
    """A stored copy with its axes in another order; a fresh reference."""
    stored = lowering.contiguous(source)
    out = permuted(lowering, stored, order)
    lowering.emitter.release(stored)
    return out


def _combine(
    lowering: Lowering,
    operation: Operation,
    tiles: Sequence[Tile],
    count: int,
    starts: tuple[int, int],
) -> None:
    """``tile[own + i] = body(tile[before + i], tile[own + i])`` for ``i < count``, at once."""
    emitter = lowering.emitter

    def part(tile: Tile, start: int) -> Tile:
        return Tile(tile.kind, tile.place + start, (count,), (True,), tile.buffer)

    before, own = starts
    arguments = [emitter.retain(part(tile, start)) for start in (before, own) for tile in tiles]
    results = evaluate_body(lowering, operation.regions[0], arguments, (count,))
    held = [tile.buffer for tile in tiles]
    stored = []
    for result in results:
        whole = full(lowering, result, (count,))
        if any(whole.buffer is buffer for buffer in held):
            spare = emitter.tile(whole.kind, (count,))
            lowering.copy(whole, spare)
            emitter.release(whole)
            whole = spare
        stored.append(whole)
        emitter.release(result)
    for tile, whole in zip(tiles, stored, strict=True):
        lowering.copy(whole, part(tile, own))
        emitter.release(whole)


# -- take ------------------------------------------------------------------------------------


@lowers("spyrelab.take")
def take(lowering: Lowering, operation: Operation) -> None:
    emitter, axis = lowering.emitter, operation.attributes["axis"]
    source = lowering.contiguous(lowering.tile(operation.operands[0]))
    indices = lowering.tile(operation.operands[1])
    shape = static_sizes(indices.shape)
    block = Coordinates(lowering, math.prod(shape))
    dense = lowering.contiguous(indices)
    block.hold(dense)
    chosen = dense.reshaped((block.count,))
    check_range(lowering, chosen, source.shape[axis], points=block.count)
    total = emitter.zero
    for d, stride in enumerate(lowering.strides(source)):
        place = chosen if d == axis else block.axis(math.prod(shape[d + 1 :]), shape[d], 0)
        part = block.binary("arith.muli", place, emitter.tile_of(stride))
        total = block.binary("arith.addi", total, part)
    out = emitter.tile(source.kind, shape)
    emitter.emit(
        Op.TAKE_FLOAT if source.is_float else Op.TAKE_INT,
        dst=out.place,
        a=source.place,
        b=total.place,
        c=emitter.place(emitter.product(source.shape)),
        size=emitter.place(block.count),
    )
    count_simple(lowering, math.prod(shape))
    block.release()
    emitter.release(source)
    lowering.define(operation.result, out)


# -- histogram -------------------------------------------------------------------------------


@lowers("spyrelab.histogram")
def histogram(lowering: Lowering, operation: Operation) -> None:
    """For every bin a comparison of all values, and the sum of what holds."""
    emitter = lowering.emitter
    source, *masks = (lowering.tile(value) for value in operation.operands)
    count = math.prod(static_sizes(source.shape))
    out = lowering.result(operation, _bins(operation.result))
    values = _unmasked(lowering, source, masks, count)
    holds, total = emitter.tile(I1, (count,)), emitter.scalar(INDEX)
    scratch = emitter.tile(INDEX, (2 * max(count, 1),))
    places = [emitter.place(size) for size in (1, count, 1)]
    fold = emitter.describe([holds.place, total.place, scratch.place, *places])
    bins = static_sizes(out.shape)[0]
    counter, enter = begin_loop(lowering, bins)
    emitter.emit(
        Op.COMPARE_INT,
        sub=int(CompareInt.EQ),
        dst=holds.place,
        a=values.place,
        b=counter.place,
        size=emitter.place(count),
        mode=int(Broadcast.FULL) | int(Broadcast.SCALAR) << 2,
        rounding=64,
    )
    emitter.emit(
        Op.REDUCE_INT, sub=int(TABLE["arith.addi"].sub or 0), a=fold, rounding=out.kind.bits
    )
    one = Tile(out.kind, total.place, (1,), (True,))
    lowering.copy_strided(out, (1,), one.place, (1,), out.place, (1,), target_shift=counter)
    end_loop(lowering, counter, bins, enter)
    count_simple(lowering, (2 * bins + len(masks)) * count)
    for tile in (values, holds, scratch):
        emitter.release(tile)
    lowering.define(operation.result, out)


def _bins(value: Value) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in value.type.shape)  # type: ignore[union-attr]


def _unmasked(lowering: Lowering, source: Tile, masks: Sequence[Tile], count: int) -> Tile:
    """The values one behind the other, -1 where they are masked; a fresh reference."""
    stored = lowering.contiguous(source)
    if not masks:
        return stored.reshaped((count,))
    emitter = lowering.emitter
    mask = lowering.contiguous(masks[0])
    out = emitter.tile(INDEX, (count,))
    mode = int(Broadcast.FULL) | int(Broadcast.FULL) << 2 | int(Broadcast.SCALAR) << 4
    emitter.emit(
        Op.SELECT_INT,
        dst=out.place,
        a=mask.place,
        b=stored.place,
        c=emitter.constant(-1).place,
        size=emitter.place(count),
        mode=mode,
    )
    emitter.release(mask)
    emitter.release(stored)
    return out
