"""Lowering of memory views and access tiles: nothing is moved, only named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.lowering.coordinates import evaluate
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.sets import corner
from spyrelab.emulator.lowering.values import (
    BoxTile,
    DistributedView,
    IndirectTile,
    Size,
    Tile,
    View,
)
from spyrelab.emulator.opcodes import Place
from spyrelab.ktir import INDEX, AffineSet, MemorySpace, Operation, Value
from spyrelab.ktir.affine import Expr
from spyrelab.ktir.types import AccessTileType, element_of


@lowers("ktdp.get_compute_tile_id")
def compute_tile_id(lowering: Lowering, operation: Operation) -> None:
    for axis, value in enumerate(operation.results):
        fixed = 0 if axis >= len(lowering.grid) or lowering.grid[axis] == 1 else None
        tile = Tile(INDEX, int(Place.TILE_0) + axis)
        lowering.define(value, lowering.emitter.constant(0) if fixed == 0 else tile)


@lowers("ktdp.construct_memory_view")
def memory_view(lowering: Lowering, operation: Operation) -> None:
    attributes = operation.attributes
    address, *rest = (lowering.tile(value) for value in operation.operands)
    dynamic = iter(rest)
    sizes = _mixed(attributes["sizes"], dynamic)
    symbols = tuple(size for size in sizes if isinstance(size, Tile))
    given = [s for s, known in zip(sizes, attributes["sizes"], strict=True) if known is None]
    strides = _mixed(attributes["strides"], dynamic)
    element = element_of(operation.result.type)
    space = _space(attributes.get("memory_space"))
    coordinates: AffineSet | None = attributes.get("coordinate_set")
    bound = tuple(lowering.emitter.tile_of(size) for size in given) if given else symbols
    low, limit, mask = corner(lowering, operation, coordinates, sizes, bound)
    scaled = lowering.emitter.multiply(address, element.itemsize)
    where = _absolute(lowering, scaled, space)
    view = View(element, where, strides, low, limit, space, mask, bound, operation)
    _reserve_scratchpad(lowering, scaled, view)
    lowering.define(operation.result, view)


def _mixed(static: Sequence[int | None], dynamic: Iterator[Tile]) -> tuple[Size, ...]:
    sizes: list[Size] = []
    for known in static:
        if known is not None:
            sizes.append(known)
            continue
        tile = next(dynamic)
        sizes.append(tile if tile.constant is None else tile.constant)
    return tuple(sizes)


def _space(space: MemorySpace | None) -> int:
    if space is None or not space.core_local:
        return 0
    return 1 if space.core is None else 2 + space.core


def _absolute(lowering: Lowering, address: Size, space: int) -> Tile:
    emitter, machine = lowering.emitter, lowering.machine
    if space == 1:
        address = emitter.add(address, Tile(INDEX, int(Place.LX_BASE)))
    elif space > 1:
        base = emitter.add(Tile(INDEX, int(Place.DDR_BYTES)), (space - 2) * machine.lx_bytes)
        address = emitter.add(address, base)
    return emitter.tile_of(address)


def _reserve_scratchpad(lowering: Lowering, address: Size, view: View) -> None:
    low = address if isinstance(address, int) else address.constant
    static = [s for s in (*view.strides, *view.limit) if isinstance(s, int)]
    rank = len(view.limit)
    if view.space and low is not None and len(static) == 2 * rank:
        reach = 1
        for stride, extent in zip(static[:rank], static[rank:], strict=True):
            reach += abs(stride) * max(0, extent - 1)
        lowering.lx.reserve(view.space, low, low + reach * view.element.itemsize)


@lowers("ktdp.construct_distributed_memory_view")
def distributed_view(lowering: Lowering, operation: Operation) -> None:
    parts: list[View] = []
    for value in operation.operands:
        part = _view(lowering, operation, value)
        parts.extend(part.parts if isinstance(part, DistributedView) else [part])
    lowering.define(operation.result, DistributedView(tuple(parts)))


@lowers("ktdp.construct_access_tile")
def access_tile(lowering: Lowering, operation: Operation) -> None:
    attributes = operation.attributes
    base = _base(lowering, operation)
    captures, symbols = _split(lowering, operation, 1)
    starts = tuple(
        linear_scalar(lowering, expr, captures) for expr in attributes["base_map"].results
    )
    tile = BoxTile(
        base,
        starts,
        attributes["access_tile_set"],
        symbols,
        attributes.get("access_tile_order"),
        _shape(operation),
    )
    lowering.define(operation.result, tile)


@lowers("ktdp.construct_indirect_access_tile")
def indirect_access_tile(lowering: Lowering, operation: Operation) -> None:
    attributes = operation.attributes
    count = attributes["index_views"]
    views = tuple(_view(lowering, operation, v) for v in operation.operands[1 : 1 + count])
    captures, symbols = _split(lowering, operation, 1 + count)
    tile = IndirectTile(
        _base(lowering, operation),
        views,
        captures,
        attributes["subscripts"],
        attributes["variables_space_set"],
        symbols,
        attributes.get("variables_space_order"),
        _shape(operation),
    )
    lowering.define(operation.result, tile)


def _shape(operation: Operation) -> tuple[int | None, ...]:
    kind = operation.result.type
    assert isinstance(kind, AccessTileType)
    return kind.shape


def _base(lowering: Lowering, operation: Operation) -> View | DistributedView:
    return _view(lowering, operation, operation.operands[0])


def _view(lowering: Lowering, operation: Operation, value: Value) -> View | DistributedView:
    base = lowering.environment.get(value)
    if not isinstance(base, (View, DistributedView)):
        raise UnsupportedError(
            f"{place(operation)}: the vm engine reads access tiles from memory views only"
        )
    return base


def _split(
    lowering: Lowering, operation: Operation, first: int
) -> tuple[tuple[Tile, ...], tuple[Tile, ...]]:
    tiles = [lowering.tile(value) for value in operation.operands[first:]]
    count = operation.attributes.get("symbol_operands", 0)
    cut = len(tiles) - count
    return tuple(tiles[:cut]), tuple(tiles[cut:])


def linear_scalar(lowering: Lowering, expr: Expr, dims: Sequence[Tile]) -> Tile:
    """Value of an affine expression over I scalars."""

    return evaluate(lowering, expr, dims, ())
