"""From a verified KTIR function to instructions of the tile VM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.emulator.addresses import pointer_itemsizes
from spyrelab.emulator.errors import UnsupportedError
from spyrelab.emulator.groups import Exchange
from spyrelab.emulator.lowering import (  # noqa: F401  (each module registers its rules)
    collectives,
    control,
    elementwise,
    generic,
    linalg,
    reductions,
    tensors,
    transfers,
    views,
)
from spyrelab.emulator.lowering.emitter import Emitter, ZoneFullError
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.lx import LxUse
from spyrelab.emulator.lowering.values import Tile
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import Function, Operation, ScalarType
from spyrelab.ktir.types import RuntimeArgType
from spyrelab.machine import Machine

_FIRST_ZONE = 1024


@dataclass(frozen=True)
class Argument:
    """A launch argument: where it goes, and the element size if it is a pointer."""

    name: str
    kind: ScalarType
    place: int
    itemsize: int | None
    promise: RuntimeArgType | None = None


@dataclass(frozen=True)
class LoweredFunction:
    """Everything that a program keeps of a lowering."""

    emitter: Emitter
    arguments: tuple[Argument, ...]
    exchanges: tuple[Exchange, ...]
    operations: tuple[Operation, ...]
    lx: LxUse


def lower_function(function: Function, machine: Machine, grid: Sequence[int]) -> LoweredFunction:
    """Lower a function for a grid of compute tiles.

    Raises
    ------
    LoweringError, UnsupportedError
        If the function has no meaning, or uses what the VM does not run.
    LxOverflowError
        If the live values do not fit a core's scratchpad.
    """
    zone = _FIRST_ZONE
    while True:
        try:
            return _lower(function, machine, tuple(grid), zone)
        except ZoneFullError:
            zone *= 4


def _lower(
    function: Function, machine: Machine, grid: tuple[int, ...], zone: int
) -> LoweredFunction:
    emitter = Emitter(zone, machine.lx_bytes)
    lowering = Lowering(function, machine, grid, emitter)
    itemsizes = pointer_itemsizes(function)
    arguments = []
    for value in function.arguments:
        promise = value.type if isinstance(value.type, RuntimeArgType) else None
        kind = promise.element if promise else value.type
        if not isinstance(kind, ScalarType):
            raise UnsupportedError(f"@{function.name}: argument %{value.name} of type {value.type}")
        tile = emitter.scalar(kind)
        lowering.define(value, Tile(kind, tile.place))
        itemsize = itemsizes.get(value.name)
        arguments.append(Argument(value.name, kind, tile.place, itemsize, promise))
    lowering.lower_region(function.body)
    emitter.emit(Op.HALT, needed=True)
    use = lowering.lx.finish()
    use.check(math.prod(grid), machine.lx_bytes)
    return LoweredFunction(
        emitter, tuple(arguments), tuple(lowering.exchanges), tuple(lowering.operations), use
    )
