"""Subscripts of access tiles: the coordinates that they give, and where those lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.emulator.lowering.coordinates import Coordinates
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.runs import Indices, Inner, Runs, Space
from spyrelab.emulator.lowering.values import DistributedView, IndirectTile, Size, Tile, View
from spyrelab.emulator.opcodes import MASKED, Op
from spyrelab.ktir import INDEX
from spyrelab.ktir.affine import Binary, Dim, Expr
from spyrelab.ktir.ir import Subscript


def variable_tiles(block: Coordinates, space: Space) -> list[Tile]:
    """Coordinates of every variable at the points of a block (zero for those left out)."""
    emitter = block.lowering.emitter
    tiles = [emitter.zero] * len(space.extents)
    inner: Size = 1
    for variable in reversed(space.order):
        extent = space.extents[variable]
        if extent == 1:
            tiles[variable] = emitter.tile_of(space.lows[variable])
        else:
            tiles[variable] = block.axis(inner, extent, space.lows[variable])
        inner = emitter.multiply(inner, extent)
    return tiles


def addresses_of(
    lowering: Lowering,
    block: Coordinates,
    space: Space,
    access: IndirectTile,
    variables: Sequence[Tile],
    inside: Tile | None,
    skip: int | None,
) -> tuple[Tile, Indices | None]:
    """Byte address of every point, `MASKED` where it lies outside the view or the set.

    With it the indices that were loaded for one view without a mask.
    """
    coordinates = [
        None if axis == skip else _coordinate(lowering, block, space, access, subscript, variables)
        for axis, subscript in enumerate(access.subscripts)
    ]
    loaded = [axis for axis, s in enumerate(access.subscripts) if s.view is not None]
    result = lowering.emitter.constant(MASKED)
    for part in reversed(access.base.parts):
        where = partition(lowering, block, part, coordinates, loaded, inside)
        result = block.select(where.valid, where.address, result)
    single = len(access.base.parts) == 1 and access.base.parts[0].mask is None
    return result, where.indices if single and loaded else None


def _coordinate(
    lowering: Lowering,
    block: Coordinates,
    space: Space,
    access: IndirectTile,
    subscript: Subscript,
    variables: Sequence[Tile],
) -> Tile:
    if subscript.view is None:
        return block.evaluate(subscript.map.results[0], variables, access.captures)
    used = set().union(*(dims_of(result) for result in subscript.map.results))
    own = space.only(used)
    count = lowering.emitter.product(own.shape())
    small = Coordinates(lowering, count)
    small_variables = variables if own == space else variable_tiles(small, own)
    base = access.views[subscript.view]
    coordinates = [
        small.evaluate(result, small_variables, access.captures) for result in subscript.map.results
    ]
    addresses = lowering.emitter.constant(MASKED)
    for part in reversed(base.parts):
        where = partition(lowering, small, part, coordinates)
        addresses = small.select(where.valid, where.address, addresses)
    out = _load_indices(lowering, small, base, addresses)
    if own == space:
        result = out
        block.hold(out)
    else:
        spread = _spread_sorted if space.is_sorted else _spread
        result = spread(lowering, block, space, own, out, variables)
        lowering.emitter.release(out)
    small.release()
    return result


def _load_indices(
    lowering: Lowering, block: Coordinates, base: View | DistributedView, addresses: Tile
) -> Tile:
    """Gather the index elements at computed addresses."""
    emitter = lowering.emitter
    out = emitter.tile(INDEX, (block.count,))
    runs = Runs(
        Coordinates(lowering, block.count),
        addresses,
        Inner(),
        (block.count,),
        base,
    )
    outer_needed, emitter.needed = emitter.needed, True
    runs.move(lowering, base.element, out.place, store=False)
    emitter.needed = outer_needed
    return out


def _steps(lowering: Lowering, own: Space) -> dict[int, Size]:
    """Distance between neighbours along each variable of a block."""
    steps: dict[int, Size] = {}
    step: Size = 1
    for variable in reversed(own.order):
        steps[variable] = step
        step = lowering.emitter.multiply(step, own.extents[variable])
    return steps


def _spread_sorted(
    lowering: Lowering,
    block: Coordinates,
    space: Space,
    own: Space,
    tile: Tile,
    variables: Sequence[Tile],
) -> Tile:
    """The same for points in an order of their own."""
    emitter = lowering.emitter
    place = block.axis(1, 1, 0)
    for variable, step in _steps(lowering, own).items():
        offset = block.binary(
            "arith.subi", variables[variable], emitter.tile_of(space.lows[variable])
        )
        offset = block.binary("arith.muli", offset, emitter.tile_of(step))
        place = block.binary("arith.addi", place, offset)
    out = block.fresh()
    emitter.emit(
        Op.TAKE_INT,
        dst=out.place,
        a=tile.place,
        b=place.place,
        c=emitter.place(emitter.product(own.shape())),
        size=emitter.place(block.count),
        needed=True,
    )
    return out


def _spread(
    lowering: Lowering,
    block: Coordinates,
    space: Space,
    own: Space,
    tile: Tile,
    variables: Sequence[Tile],
) -> Tile:
    """Repeat values of a few variables over the points of the whole block."""
    del variables
    emitter = lowering.emitter
    steps, out = _steps(lowering, own), block.fresh()
    target: list[Size] = []
    step: Size = 1
    for variable in reversed(space.order):
        target.append(step)
        step = emitter.multiply(step, space.extents[variable])
    sources = [steps.get(variable, 0) for variable in space.order]
    outer_needed, emitter.needed = emitter.needed, True
    lowering.copy_strided(out, space.shape(), tile.place, sources, out.place, target[::-1])
    emitter.needed = outer_needed
    return out


@dataclass(frozen=True)
class Partition:
    """Byte addresses in one view, 1 where the point lies in its set, and loaded coordinates."""

    address: Tile
    valid: Tile
    indices: Indices


def partition(
    lowering: Lowering,
    block: Coordinates,
    part: View,
    coordinates: Sequence[Tile | None],
    loaded: Sequence[int] = (),
    inside: Tile | None = None,
) -> Partition:
    """Where coordinates lie in one view; those of the ``loaded`` axes are noted."""
    emitter = lowering.emitter
    address: Tile = part.address
    inner: dict[int, Tile] = {}
    for axis, coordinate in enumerate(coordinates):
        if coordinate is None:
            continue
        low = emitter.tile_of(part.low[axis])
        local = coordinate if part.low[axis] == 0 else block.binary("arith.subi", coordinate, low)
        inner[axis] = local
        step = emitter.tile_of(emitter.multiply(part.strides[axis], part.element.itemsize))
        offset = local if step.constant == 1 else block.binary("arith.muli", local, step)
        address = block.binary("arith.addi", address, offset)
    guard = inside or emitter.one
    for axis in sorted(inner.keys() - set(loaded)):
        guard = _and(block, guard, block.within(inner[axis], part.limit[axis]))
    valid = guard
    for axis in loaded:
        valid = _and(block, valid, block.within(inner[axis], part.limit[axis]))
    if part.mask is not None:
        whole = [c for c in coordinates if c is not None]
        valid = _and(block, valid, block.contains(part.mask, whole, part.symbols))
    limits = tuple((inner[axis], emitter.tile_of(part.limit[axis])) for axis in loaded)
    return Partition(address, valid, Indices(guard, limits))


def _and(block: Coordinates, a: Tile, b: Tile) -> Tile:
    return b if a.constant == 1 else block.binary("arith.andi", a, b)


def dims_of(expr: Expr) -> set[int]:
    """Numbers of the dimensions that occur in an expression."""
    match expr:
        case Dim(index):
            return {index}
        case Binary(_, left, right):
            return dims_of(left) | dims_of(right)
    return set()
