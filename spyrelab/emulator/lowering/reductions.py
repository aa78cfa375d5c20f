"""Lowering of ``linalg.reduce``: a fold in halves, then one combination with ``outs``."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.formats import ROUNDING
from spyrelab.emulator.lowering.bodies import evaluate_body
from spyrelab.emulator.lowering.elementwise import count
from spyrelab.emulator.lowering.generic import assign
from spyrelab.emulator.lowering.linalg import operands_of
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.tensors import full
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Column, Op
from spyrelab.emulator.reference.reductions import identity_of
from spyrelab.ktir import Operation


@lowers("linalg.reduce")
def reduce(lowering: Lowering, operation: Operation) -> None:
    ins, outs = operands_of(lowering, operation)
    if [tile.kind for tile in ins] != [tile.kind for tile in outs]:
        raise UnsupportedError(f"{place(operation)}: element types of ins and outs differ")
    axes = operation.attributes["dimensions"]
    rest = [extent for axis, extent in enumerate(ins[0].shape) if axis not in axes]
    for tile in ins:
        lowering.emitter.check_equal(tile.shape, ins[0].shape)
    for tile in outs:
        lowering.emitter.check_equal(tile.shape, rest)
    _count_body(lowering, operation, ins[0].shape)
    body = operation.regions[0]
    if any(ins[0].shape[axis] == 0 for axis in axes):
        for value, out in zip(operation.results, outs, strict=True):
            lowering.define(value, lowering.contiguous(out))
        return
    kept, skip = _begin_unless_empty(lowering, outs, [ins[0].shape[axis] for axis in axes])
    if len(ins) == 1 and identity_of(body, ins[0].kind) is not None:
        folded = [_fold_known(lowering, operation, ins[0], axes)]
    else:
        folded = _fold_general(lowering, operation, ins, axes)
    shape = outs[0].shape
    arguments = [tile.reshaped(shape) for tile in folded]
    arguments += [lowering.emitter.retain(out) for out in outs]
    results = evaluate_body(lowering, body, arguments, shape, counted=False)
    for number, (value, tile) in enumerate(zip(operation.results, results, strict=True)):
        stored = full(lowering, tile, shape)
        lowering.emitter.release(tile)
        if kept:
            lowering.copy(stored, kept[number])
            lowering.emitter.release(stored)
        lowering.define(value, kept[number] if kept else stored)
    if kept:
        lowering.emitter.patch(skip, Column.DST, lowering.emitter.here())


def _begin_unless_empty(
    lowering: Lowering, outs: Sequence[Tile], extents: Sequence[Size]
) -> tuple[list[Tile], int]:
    """Where nothing may be left to reduce: copies of outs, and a jump over the reduction."""
    emitter = lowering.emitter
    reduced = emitter.product(extents)
    if isinstance(reduced, int):
        return [], 0
    kept = [emitter.tile(out.kind, out.shape) for out in outs]
    for out, copy in zip(outs, kept, strict=True):
        lowering.copy(out, copy)
    return kept, emitter.emit(Op.BRANCH_FALSE, a=reduced.place, needed=True)


def _count_body(lowering: Lowering, operation: Operation, shape: Sequence[Size]) -> None:
    for inner in operation.regions[0].operations:
        if inner.name in TABLE:
            count(lowering, TABLE[inner.name], shape, True)


def _fold_known(
    lowering: Lowering, operation: Operation, source: Tile, axes: Sequence[int]
) -> Tile:
    """One instruction folds ``outer x reduced x inner``."""
    emitter = lowering.emitter
    tile = lowering.contiguous(source)
    order = sorted(axes)
    first, last = (order[0], order[-1] + 1) if order else (len(tile.shape),) * 2
    if list(order) != list(range(first, last)) or list(axes) != order:
        rest = [axis for axis in range(len(source.shape)) if axis not in axes]
        moved = permuted(lowering, tile, [*rest, *axes])
        emitter.release(tile)
        tile, first, last = moved, len(rest), len(source.shape)
    outer, reduced, inner = (
        emitter.product(part)
        for part in (tile.shape[:first], tile.shape[first:last], tile.shape[last:])
    )
    out = emitter.tile(source.kind, (emitter.multiply(outer, inner),))
    # A fold pads the values of one outer index to a power of two, less than twice as many.
    scratch = emitter.tile(source.kind, (emitter.multiply(emitter.multiply(reduced, inner), 2),))
    row = TABLE[operation.regions[0].operations[0].name]
    entries = [tile.place, out.place, scratch.place]
    entries += [emitter.place(size) for size in (outer, reduced, inner)]
    rounding = ROUNDING[source.kind.name] if source.is_float else source.kind.bits
    op = Op.REDUCE_FLOAT if source.is_float else Op.REDUCE_INT
    emitter.emit(op, sub=int(row.sub or 0), a=emitter.describe(entries), rounding=rounding)
    emitter.release(tile)
    emitter.release(scratch)
    return out


def permuted(lowering: Lowering, tile: Tile, order: Sequence[int]) -> Tile:
    """A copy of a stored tile with its axes in another order."""
    out = lowering.emitter.tile(tile.kind, [tile.shape[axis] for axis in order])
    strides = lowering.strides(tile)
    lowering.copy_strided(
        out,
        out.shape,
        tile.place,
        [strides[axis] for axis in order],
        out.place,
        lowering.strides(out),
    )
    return out


def _fold_general(
    lowering: Lowering, operation: Operation, ins: Sequence[Tile], axes: Sequence[int]
) -> list[Tile]:
    """Any body: reduced axis outermost, halves combined level by level, no padding."""
    emitter = lowering.emitter
    rest = [axis for axis in range(len(ins[0].shape)) if axis not in axes]
    reduced = emitter.product([ins[0].shape[axis] for axis in axes])
    inner = emitter.product([ins[0].shape[axis] for axis in rest])
    if not isinstance(reduced, int) or not isinstance(inner, int):
        raise UnsupportedError(
            f"{place(operation)}: a body that is no plain combiner needs static sizes"
        )
    tiles = []
    for source in ins:
        stored = lowering.contiguous(source)
        tiles.append(permuted(lowering, stored, [*axes, *rest]))
        emitter.release(stored)
    length = reduced
    while length > 1:
        half = (length + 1) // 2
        _combine(lowering, operation, tiles, (length - half) * inner, half * inner)
        length = half
    return [Tile(t.kind, t.place, (inner,), (True,), t.buffer) for t in tiles]


def _combine(
    lowering: Lowering, operation: Operation, tiles: Sequence[Tile], pairs: int, offset: int
) -> None:
    """``tile[i] = body(in = tile[offset + i], acc = tile[i])`` for ``i < pairs``."""
    emitter = lowering.emitter

    def part(tile: Tile, start: int) -> Tile:
        emitter.retain(tile)
        return Tile(tile.kind, tile.place + start, (pairs,), (True,), tile.buffer)

    arguments = [part(tile, offset) for tile in tiles] + [part(tile, 0) for tile in tiles]
    results = evaluate_body(lowering, operation.regions[0], arguments, (pairs,), counted=False)
    assign(lowering, results, [Tile(t.kind, t.place, (pairs,), (True,)) for t in tiles])
    for result in results:
        emitter.release(result)
