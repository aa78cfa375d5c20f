"""From a verified KTIR function to instructions of the tile VM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from spyrelab.emulator.addresses import pointer_itemsizes
from spyrelab.emulator.errors import UnsupportedError
from spyrelab.emulator.groups import Exchange
from spyrelab.emulator.lowering import (  # noqa: F401  (each module registers its rules)
    collectives,
    control,
    elementwise,
    generic,
    linalg,
    ordering,
    reductions,
    scans,
    single_elements,
    tensors,
    transfers,
    views,
)
from spyrelab.emulator.lowering.emitter import Emitter, ZoneFullError
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.lx import LxUse
from spyrelab.emulator.lowering.values import Tile, View
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import Function, Operation, ScalarType
from spyrelab.ktir.types import RuntimeArgType
from spyrelab.machine import Machine

_FIRST_ZONE = 1024


@dataclass(frozen=True)
class Argument:
    """A launch argument.

    Attributes
    ----------
    place : int
        Where it goes in the arena.
    itemsize : int or None
        Bytes of an element, if it is a pointer.
    elements : int
        How many of them the views that begin at a pointer reach, as far as that is static.
    """

    name: str
    kind: ScalarType
    place: int
    itemsize: int | None
    promise: RuntimeArgType | None = None
    elements: int = 0


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
    reached = _reached_elements(lowering)
    sized = tuple(replace(a, elements=reached.get(a.name, 0)) for a in arguments)
    return LoweredFunction(
        emitter, sized, tuple(lowering.exchanges), tuple(lowering.operations), use
    )


def _reached_elements(lowering: Lowering) -> dict[str, int]:
    """Elements of each pointer that the views which every core makes right on it reach."""
    reached: dict[str, int] = {}
    for operation in lowering.function.body.operations:
        if operation.name == "ktdp.construct_memory_view":
            pointer, view = operation.operands[0], lowering.get(operation.result, View)
            if pointer in lowering.function.arguments and view.space == 0:
                reached[pointer.name] = max(reached.get(pointer.name, 0), view.reach)
    return reached
