"""Bodies of linalg and tensor operations: scalar code evaluated for all points at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.ktir import Region
from spyrelab.ktir.types import element_of


def evaluate_body(
    lowering: Lowering,
    region: Region,
    arguments: Sequence[Tile],
    shape: Sequence[Size],
    counted: bool = True,
    index: Callable[[int], Tile] | None = None,
    points: Sequence[Size] = (),
) -> list[Tile]:
    """Values that a body yields, as tiles over ``shape`` (or scalars where they do not vary).

    The body takes over one reference to each argument and returns one to each result.
    ``index`` gives the value of linalg.index; by default the axes of ``shape`` are the loops.
    ``points`` are counted for every operation where ``shape`` has no axes.
    """
    from spyrelab.emulator.lowering import elementwise
    from spyrelab.emulator.lowering.tensors import axis_tile

    outer_inside, lowering.inside_generic = lowering.inside_generic, True
    for argument, tile in zip(region.arguments, arguments, strict=True):
        lowering.define(argument, tile)
    for operation in region.operations[:-1]:
        if operation.name in TABLE:
            operands = [lowering.tile(value) for value in operation.operands]
            kinds = [element_of(value.type) for value in operation.operands]
            kind = element_of(operation.result.type)
            tiles = [_over(tile, shape) for tile in operands] if _varies(operands) else operands
            row = TABLE[operation.name]
            out = elementwise.apply(
                lowering, row, tiles, kinds, kind, operation.attributes, counted
            )
            lowering.define(operation.result, out)
            if not out.shape:
                elementwise.count(lowering, row, shape or points, counted)
        elif operation.name == "linalg.index":
            loop = operation.attributes["dim"]
            coordinate = index(loop) if index else axis_tile(lowering, shape, loop)
            lowering.define(operation.result, coordinate)
        elif operation.name in _ALLOWED:
            lowering.lower(operation)
        else:
            raise UnsupportedError(
                f"{place(operation)}: not run inside the body of a tile operation"
            )
    yielded = [lowering.emitter.retain(lowering.tile(v)) for v in region.operations[-1].operands]
    for operation in region.operations[:-1]:
        for result in operation.results:
            lowering.kill(result)
    for argument in region.arguments:
        lowering.kill(argument)
    lowering.inside_generic = outer_inside
    return yielded


_ALLOWED = {"arith.constant", "tensor.extract"}


def _varies(operands: Sequence[Tile]) -> bool:
    return any(tile.shape for tile in operands)


def _over(tile: Tile, shape: Sequence[Size]) -> Tile:
    if tile.shape:
        return tile
    return Tile(tile.kind, tile.place, tuple(shape), (False,) * len(shape), constant=tile.constant)
