"""Lowering of constants, loops and branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.formats import round_to
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Column, Op
from spyrelab.ktir import INDEX, Operation, Region, ScalarType, TensorType, Value
from spyrelab.ktir.ir import DenseElements
from spyrelab.ktir.types import RuntimeArgType, element_of


@lowers("arith.constant")
def constant(lowering: Lowering, operation: Operation) -> None:
    value, kind = operation.attributes["value"], element_of(operation.result.type)
    if not isinstance(value, DenseElements):
        lowering.define(operation.result, scalar_constant(lowering, kind, value))
        return
    shape = tuple(int(extent or 0) for extent in value.type.shape)
    if value.is_splat:
        stored = scalar_constant(lowering, kind, value.values[0])
        tile = Tile(kind, stored.place, shape, (False,) * len(shape))
    else:
        data = np.asarray(value.values, np.float32 if kind.is_float else np.int64)
        data = round_to(data, kind) if kind.is_float else data
        tile = Tile(kind, lowering.emitter.dense(kind, data), shape, (True,) * len(shape))
    lowering.define(operation.result, tile)


def scalar_constant(lowering: Lowering, kind: ScalarType, value: float) -> Tile:
    """A scalar constant of any type."""
    if kind.is_float:
        rounded = float(round_to(np.asarray(value, np.float32), kind))
        return Tile(kind, lowering.emitter.float_constant(rounded))
    return lowering.emitter.constant(int(value), kind)


@lowers("ktdp.runtime_arg_extract")
def runtime_argument(lowering: Lowering, operation: Operation) -> None:
    given = operation.operands[0]
    field, kind = operation.attributes["field"], given.type
    if field == "value" or not isinstance(kind, RuntimeArgType):
        tile = lowering.tile(given)
    else:
        promised = kind.granularity if field == "granularity" else kind.upperbound
        if promised is None:
            raise UnsupportedError(f"{place(operation)}: {kind} promises no {field}")
        tile = lowering.emitter.constant(promised)
    result = element_of(operation.result.type)
    lowering.define(operation.result, Tile(result, tile.place, constant=tile.constant))


@lowers("func.return", "return")
def function_return(lowering: Lowering, operation: Operation) -> None:
    del lowering, operation


# -- loops and branches ----------------------------------------------------------------------


@lowers("scf.for")
def counted_loop(lowering: Lowering, operation: Operation) -> None:
    emitter, region = lowering.emitter, operation.regions[0]
    lower, upper, step = (lowering.tile(v) for v in operation.operands[:3])
    carried = [own_copy(lowering, v) for v in operation.operands[3:]]
    counter = emitter.scalar(element_of(region.arguments[0].type))
    emitter.emit(Op.SET_INT, dst=counter.place, a=lower.place, needed=True)
    enter = emitter.emit(Op.FOR_ENTER, a=counter.place, b=upper.place, c=step.place, needed=True)
    body = emitter.here()
    lowering.define(region.arguments[0], counter)
    bind_carried(lowering, operation, region.arguments[1:], carried, operation.operands[3:])
    lowering.lower_region(region)
    move_all(lowering, region.operations[-1].operands, carried)
    lowering.end_region(region)
    emitter.emit(Op.FOR_NEXT, dst=body, a=counter.place, b=upper.place, c=step.place, needed=True)
    emitter.patch(enter, Column.DST, emitter.here())
    for result, tile in zip(operation.results, carried, strict=True):
        lowering.define(result, tile)


def bind_carried(
    lowering: Lowering,
    operation: Operation,
    arguments: Sequence[Value],
    carried: Sequence[Tile],
    inits: Sequence[Value],
) -> None:
    """Region arguments share the carried buffers; dying inits hand over their scratchpad."""
    for value in inits:
        if value in lowering.dying:
            lowering.lx.kill(value)
    for argument, tile in zip(arguments, carried, strict=True):
        lowering.define(argument, lowering.emitter.retain(tile))
    lowering.account(arguments, operation)


def own_copy(lowering: Lowering, value: Value) -> Tile:
    """A carried value's own storage, holding the initial value."""
    initial = lowering.environment.get(value)
    if not isinstance(initial, Tile):
        raise UnsupportedError(
            f"%{value.name} of type {value.type} cannot be carried through control flow on the "
            "vm engine; carry indices and rebuild the view"
        )
    target = storage(lowering, value, initial.shape)
    move(lowering, initial, target)
    return target


def storage(lowering: Lowering, value: Value, shape: Sequence[Size]) -> Tile:
    """Storage for a value of control flow; dynamic extents get scalars of their own."""
    emitter = lowering.emitter
    if not isinstance(value.type, TensorType):
        return emitter.scalar(element_of(value.type))
    own: list[Size] = []
    for declared, extent in zip(value.type.shape, shape, strict=True):
        if declared is not None:
            own.append(declared)
            continue
        held = emitter.scalar(INDEX)
        emitter.emit(Op.SET_INT, dst=held.place, a=emitter.place(extent), needed=True)
        own.append(held)
    return emitter.tile(value.type.element, own)


def move(lowering: Lowering, source: Tile, target: Tile) -> None:
    """Copy a scalar or tile, and the extents that are known only at run time."""
    emitter = lowering.emitter
    for given, held in zip(source.shape, target.shape, strict=True):
        if isinstance(held, Tile) and given is not held:
            emitter.emit(Op.SET_INT, dst=held.place, a=emitter.place(given), needed=True)
    if source.place == target.place and source.is_float == target.is_float:
        return
    if not target.shape and not target.is_float:
        emitter.emit(Op.SET_INT, dst=target.place, a=source.place, needed=True)
    else:
        lowering.copy(source, target)


def move_all(lowering: Lowering, values: Sequence[Value], targets: Sequence[Tile]) -> None:
    """Move yielded values as if at once: those that live in another target go first."""
    extents = {e.place for t in targets for e in t.shape if isinstance(e, Tile)}
    sources = [
        _with_own_extents(lowering, lowering.tile(value), target, extents)
        for value, target in zip(values, targets, strict=True)
    ]
    places = {(t.is_float, t.place) for t in targets} | {(False, place) for place in extents}
    held: list[Tile] = []
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if (source.is_float, source.place) in places and source.place != target.place:
            spare = lowering.emitter.tile(source.kind, source.shape)
            move(lowering, source, spare)
            sources[i] = spare
            held.append(spare)
    for source, target in zip(sources, targets, strict=True):
        move(lowering, source, target)
    for spare in held:
        lowering.emitter.release(spare)


def _with_own_extents(
    lowering: Lowering, source: Tile, target: Tile, overwritten: set[int]
) -> Tile:
    """A tile whose extents do not change while other targets are written."""
    emitter = lowering.emitter
    shape: list[Size] = []
    for extent, held in zip(source.shape, target.shape, strict=True):
        if isinstance(extent, Tile) and extent.place in overwritten and extent is not held:
            spare = emitter.scalar(INDEX)
            emitter.emit(Op.SET_INT, dst=spare.place, a=extent.place, needed=True)
            extent = spare
        shape.append(extent)
    return replace(source, shape=tuple(shape))


@lowers("scf.if")
def branch(lowering: Lowering, operation: Operation) -> None:
    emitter = lowering.emitter
    condition = lowering.tile(operation.operands[0])
    skip = emitter.emit(Op.BRANCH_FALSE, a=condition.place, needed=True)
    results: list[Tile] = []
    _branch_body(lowering, operation.regions[0], operation.results, results)
    if len(operation.regions) < 2:
        emitter.patch(skip, Column.DST, emitter.here())
        return
    leave = emitter.emit(Op.JUMP, needed=True)
    emitter.patch(skip, Column.DST, emitter.here())
    _branch_body(lowering, operation.regions[1], operation.results, results)
    emitter.patch(leave, Column.DST, emitter.here())
    for value, tile in zip(operation.results, results, strict=True):
        lowering.define(value, tile)


def _branch_body(
    lowering: Lowering, region: Region, values: Sequence[Value], results: list[Tile]
) -> None:
    lowering.lower_region(region)
    yielded = region.operations[-1].operands
    if not results:
        for value, source in zip(values, yielded, strict=True):
            results.append(storage(lowering, value, lowering.tile(source).shape))
    move_all(lowering, yielded, results)
    lowering.end_region(region)


@lowers("scf.while")
def while_loop(lowering: Lowering, operation: Operation) -> None:
    emitter = lowering.emitter
    before, after = operation.regions
    carried = [own_copy(lowering, v) for v in operation.operands]
    test = emitter.here()
    bind_carried(lowering, operation, before.arguments, carried, operation.operands)
    lowering.lower_region(before)
    condition, *passed = before.operations[-1].operands
    results = [
        storage(lowering, value, lowering.tile(source).shape)
        for value, source in zip(operation.results, passed, strict=True)
    ]
    go_on = emitter.scalar(element_of(condition.type))
    emitter.emit(Op.SET_INT, dst=go_on.place, a=lowering.tile(condition).place, needed=True)
    move_all(lowering, passed, results)
    lowering.end_region(before)
    leave = emitter.emit(Op.BRANCH_FALSE, a=go_on.place, needed=True)
    for argument, tile in zip(after.arguments, results, strict=True):
        lowering.define(argument, emitter.retain(tile))
    lowering.account(after.arguments, operation)
    lowering.lower_region(after)
    move_all(lowering, after.operations[-1].operands, carried)
    lowering.end_region(after)
    emitter.emit(Op.JUMP, dst=test, needed=True)
    emitter.patch(leave, Column.DST, emitter.here())
    for tile in carried:
        emitter.release(tile)
    for value, tile in zip(operation.results, results, strict=True):
        lowering.define(value, tile)
