"""Lowering of ``linalg.generic``: the body runs on whole tiles, reduction points one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.lowering.bodies import evaluate_body
from spyrelab.emulator.lowering.coordinates import Coordinates, scalar_binary
from spyrelab.emulator.lowering.linalg import operands_of
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.tensors import axis_tile, check_range, full
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Column, Op
from spyrelab.ktir import INDEX, AffineMap, Operation
from spyrelab.ktir.affine import Dim, linear


@dataclass(frozen=True)
class Iteration:
    """Extents of the iteration space, split into parallel and reduction dimensions."""

    extents: tuple[Size, ...]
    parallel: tuple[int, ...]
    reduction: tuple[int, ...]

    def space(self) -> tuple[Size, ...]:
        return tuple(self.extents[d] for d in self.parallel)


@lowers("linalg.generic")
def generic(lowering: Lowering, operation: Operation) -> None:
    ins, outs = operands_of(lowering, operation)
    maps: Sequence[AffineMap] = operation.attributes["indexing_maps"]
    iteration = _iteration(operation, maps, [*ins, *outs])
    for tile, index_map in zip([*ins, *outs], maps, strict=True):
        _check_bounds(lowering, tile, index_map, iteration)
    if iteration.reduction:
        results = _with_reduction(lowering, operation, ins, outs, maps, iteration)
    else:
        arguments = [
            arranged(lowering, tile, index_map, iteration)
            for tile, index_map in zip([*ins, *outs], maps, strict=True)
        ]
        results = evaluate_body(lowering, operation.regions[0], arguments, iteration.space())
    out_maps = maps[len(ins) :]
    for value, tile, out, index_map in zip(operation.results, results, outs, out_maps, strict=True):
        stored = full(lowering, tile, iteration.space())
        lowering.emitter.release(tile)
        lowering.define(value, _delivered(lowering, operation, stored, out, index_map, iteration))


def _iteration(operation: Operation, maps: Sequence[AffineMap], tiles: Sequence[Tile]) -> Iteration:
    extents: dict[int, Size] = {}
    for index_map, tile in zip(maps, tiles, strict=True):
        for result, extent in zip(index_map.results, tile.shape, strict=True):
            if isinstance(result, Dim):
                extents.setdefault(result.index, extent)
    kinds = operation.attributes["iterator_types"]
    missing = [d for d in range(len(kinds)) if d not in extents]
    if missing:
        raise UnsupportedError(
            f"{place(operation)}: the extent of dimension d{missing[0]} follows from no operand"
        )
    parallel = tuple(d for d, kind in enumerate(kinds) if kind == "parallel")
    reduction = tuple(d for d, kind in enumerate(kinds) if kind != "parallel")
    return Iteration(tuple(extents[d] for d in range(len(kinds))), parallel, reduction)


def _check_bounds(
    lowering: Lowering, tile: Tile, index_map: AffineMap, iteration: Iteration
) -> None:
    """Emit checks that a map stays inside its operand, unless that is known."""
    emitter = lowering.emitter
    count = emitter.product(iteration.extents)
    for result, extent in zip(index_map.results, tile.shape, strict=True):
        form = linear(result, index_map.dims, index_map.symbols)
        if isinstance(result, Dim):
            emitter.check_equal([extent], [iteration.extents[result.index]])
        elif form is not None:
            low: Size = form.constant
            high: Size = form.constant
            for factor, loop in zip(form.dims, iteration.extents, strict=True):
                reach = emitter.multiply(emitter.subtract(loop, 1), factor)
                low = emitter.add(low, reach if factor < 0 else 0)
                high = emitter.add(high, reach if factor > 0 else 0)
            check_range(lowering, low, extent, count)
            check_range(lowering, high, extent, count)


def arranged(
    lowering: Lowering,
    tile: Tile,
    index_map: AffineMap,
    iteration: Iteration,
    point: Sequence[Size] | None = None,
) -> Tile:
    """An operand over the parallel space, a fresh reference; broadcast axes are not stored.

    ``point`` gives the coordinates of the reduction dimensions.
    """
    if not tile.shape:
        return lowering.emitter.retain(tile)
    simple = _projected(tile, index_map, iteration)
    if simple is not None:
        return lowering.emitter.retain(simple)
    forms = [linear(r, index_map.dims, index_map.symbols) for r in index_map.results]
    if any(form is None for form in forms):
        return _looked_up(lowering, tile, index_map, iteration, point)
    emitter, space = lowering.emitter, iteration.space()
    steps: dict[int, Size] = dict.fromkeys(range(index_map.dims), 0)
    shift: Size = 0
    for form, stride in zip(forms, lowering.strides(tile), strict=True):
        assert form is not None
        shift = emitter.add(shift, emitter.multiply(stride, form.constant))
        for d, factor in enumerate(form.dims):
            if factor:
                steps[d] = emitter.add(steps[d], emitter.multiply(stride, factor))
    for d, coordinate in zip(iteration.reduction, point or (), strict=False):
        shift = emitter.add(shift, emitter.multiply(coordinate, steps[d]))
    out = emitter.tile(tile.kind, space)
    lowering.copy_strided(
        out,
        space,
        tile.place,
        [steps[d] for d in iteration.parallel],
        out.place,
        lowering.strides(out),
        source_shift=shift,
    )
    return out


def _projected(tile: Tile, index_map: AffineMap, iteration: Iteration) -> Tile | None:
    """The tile itself, if the map only leaves out dimensions of the space."""
    dims = [r.index for r in index_map.results if isinstance(r, Dim)]
    if len(dims) != len(index_map.results) or dims != sorted(set(dims)):
        return None
    if set(dims) & set(iteration.reduction):
        return None
    kept_of = dict(zip(dims, tile.kept, strict=True))
    kept = tuple(kept_of.get(d, False) for d in iteration.parallel)
    return Tile(tile.kind, tile.place, iteration.space(), kept, tile.buffer)


def _looked_up(
    lowering: Lowering,
    tile: Tile,
    index_map: AffineMap,
    iteration: Iteration,
    point: Sequence[Size] | None,
) -> Tile:
    """Any other map: offsets computed for every point, then taken."""
    emitter, space = lowering.emitter, iteration.space()
    stored = lowering.contiguous(tile)
    block = Coordinates(lowering, emitter.product(space))
    dims: list[Tile] = [emitter.zero] * index_map.dims
    for axis, d in enumerate(iteration.parallel):
        line = axis_tile(lowering, space, axis)
        dense = lowering.contiguous(line)
        emitter.release(line)
        block.hold(dense)
        dims[d] = dense.reshaped((block.count,))
    for d, coordinate in zip(iteration.reduction, point or (), strict=False):
        dims[d] = emitter.tile_of(coordinate)
    total = emitter.zero
    for result, stride in zip(index_map.results, lowering.strides(stored), strict=True):
        index = block.evaluate(result, dims, ())
        total = block.binary(
            "arith.addi", total, block.binary("arith.muli", index, emitter.tile_of(stride))
        )
    if not total.shape:
        total = block.binary("arith.addi", block.axis(1, 1, 0), total)
    out = emitter.tile(tile.kind, space)
    emitter.emit(
        Op.TAKE_FLOAT if tile.is_float else Op.TAKE_INT,
        dst=out.place,
        a=stored.place,
        b=total.place,
        c=emitter.place(emitter.product(stored.shape)),
        size=emitter.place(block.count),
    )
    block.release()
    emitter.release(stored)
    return out


def _with_reduction(
    lowering: Lowering,
    operation: Operation,
    ins: Sequence[Tile],
    outs: Sequence[Tile],
    maps: Sequence[AffineMap],
    iteration: Iteration,
) -> list[Tile]:
    """Accumulate over the reduction points in row-major order."""
    emitter, space = lowering.emitter, iteration.space()
    count = len(ins)
    accumulators = []
    for out, index_map in zip(outs, maps[count:], strict=True):
        start = arranged(lowering, out, index_map, iteration)
        own = emitter.tile(out.kind, space)
        lowering.copy(start, own) if start.shape else _fill(lowering, start, own)
        emitter.release(start)
        accumulators.append(own)
    extents = [iteration.extents[d] for d in iteration.reduction]
    counter, enter = begin_loop(lowering, emitter.product(extents))
    point = _unflatten(lowering, counter, extents)
    arguments = [
        arranged(lowering, tile, index_map, iteration, point)
        for tile, index_map in zip(ins, maps[:count], strict=True)
    ]
    arguments += [emitter.retain(tile) for tile in accumulators]
    coordinates = dict(zip(iteration.reduction, point, strict=True))

    def index(loop: int) -> Tile:
        if loop in coordinates:
            return emitter.tile_of(coordinates[loop])
        return axis_tile(lowering, space, iteration.parallel.index(loop))

    results = evaluate_body(
        lowering, operation.regions[0], arguments, space, index=index, points=(1,)
    )
    assign(lowering, results, accumulators)
    for tile in results:
        emitter.release(tile)
    end_loop(lowering, counter, emitter.product(extents), enter)
    return accumulators


def assign(lowering: Lowering, results: Sequence[Tile], accumulators: Sequence[Tile]) -> None:
    """Copy what a body yields as if at once: one may be what another accumulator held."""
    emitter = lowering.emitter
    held = {own.place for own in accumulators}
    stored = []
    for tile, own in zip(results, accumulators, strict=True):
        whole = full(lowering, tile, own.shape)
        if whole.place in held and whole.place != own.place:
            spare = emitter.tile(own.kind, own.shape)
            lowering.copy(whole, spare)
            emitter.release(whole)
            whole = spare
        stored.append(whole)
    for tile, own in zip(stored, accumulators, strict=True):
        if tile.place != own.place:
            lowering.copy(tile, own)
        emitter.release(tile)


def _fill(lowering: Lowering, scalar: Tile, target: Tile) -> None:
    lowering.copy(
        Tile(scalar.kind, scalar.place, target.shape, (False,) * len(target.shape)), target
    )


def begin_loop(lowering: Lowering, count: Size) -> tuple[Tile, int]:
    """A loop from zero: its counter, and the row to give to `end_loop`."""
    emitter = lowering.emitter
    counter = emitter.scalar(INDEX)
    emitter.emit(Op.SET_INT, dst=counter.place, a=emitter.zero.place, needed=True)
    enter = emitter.emit(
        Op.FOR_ENTER, a=counter.place, b=emitter.place(count), c=emitter.one.place, needed=True
    )
    return counter, enter


def end_loop(lowering: Lowering, counter: Tile, count: Size, enter: int) -> None:
    """The end of a loop that `begin_loop` began."""
    emitter = lowering.emitter
    emitter.emit(
        Op.FOR_NEXT,
        dst=enter + 1,
        a=counter.place,
        b=emitter.place(count),
        c=emitter.one.place,
        needed=True,
    )
    emitter.patch(enter, Column.DST, emitter.here())


def _unflatten(lowering: Lowering, counter: Tile, extents: Sequence[Size]) -> list[Size]:
    """Coordinates of a flat row-major number."""
    point: list[Size] = []
    rest = counter
    for extent in reversed(extents[1:]):
        size = lowering.emitter.tile_of(extent)
        point.append(scalar_binary(lowering, "arith.remsi", rest, size))
        rest = scalar_binary(lowering, "arith.divsi", rest, size)
    return [rest, *reversed(point)]


def _delivered(
    lowering: Lowering,
    operation: Operation,
    tile: Tile,
    out: Tile,
    index_map: AffineMap,
    iteration: Iteration,
) -> Tile:
    """A result in the layout that its output map asks for; takes over the tile's reference."""
    dims = [r.index for r in index_map.results if isinstance(r, Dim)]
    if sorted(dims) != list(iteration.parallel) or len(dims) != len(index_map.results):
        raise UnsupportedError(
            f"{place(operation)}: an output map must use every parallel dimension once"
        )
    if dims == list(iteration.parallel):
        return tile
    emitter = lowering.emitter
    strides = dict(zip(iteration.parallel, lowering.strides(tile), strict=True))
    result = emitter.tile(tile.kind, out.shape)
    lowering.copy_strided(
        result,
        out.shape,
        tile.place,
        [strides[d] for d in dims],
        result.place,
        lowering.strides(result),
    )
    emitter.release(tile)
    return result
