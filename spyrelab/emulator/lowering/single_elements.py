"""Lowering of gathers and scatters at computed offsets: runs of one element, or of a row."""

from __future__ import annotations

from dataclasses import replace

from spyrelab.emulator.lowering.coordinates import Coordinates, scalar_binary
from spyrelab.emulator.lowering.lowering import Lowering, tensor_type
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.runs import Inner, Runs
from spyrelab.emulator.lowering.subscripts import Partition, partition
from spyrelab.emulator.lowering.values import Size, Tile, View
from spyrelab.emulator.opcodes import MASKED
from spyrelab.ktir import Operation, Value
from spyrelab.ktir.element_access import ElementAccess, element_access


@lowers("spyrelab.gather")
def gather(lowering: Lowering, operation: Operation) -> None:
    kind = tensor_type(operation)
    runs = element_runs(lowering, operation)
    out = lowering.emitter.tile(kind.element, runs.shape)
    runs.move(lowering, kind.element, out.place, store=False)
    lowering.define(operation.result, out)


@lowers("spyrelab.scatter")
def scatter(lowering: Lowering, operation: Operation) -> None:
    value = lowering.tile(operation.operands[0])
    runs = element_runs(lowering, operation)
    lowering.emitter.check_equal(value.shape, runs.shape)
    stored = lowering.contiguous(value)
    runs.move(lowering, value.kind, stored.place, store=True)
    lowering.emitter.release(stored)


def element_runs(lowering: Lowering, operation: Operation) -> Runs:
    """Byte address of every element (or row) that an operation moves, `MASKED` for the others."""
    emitter = lowering.emitter
    access = element_access(operation, operation.operands)
    view = lowering.get(access.view, View)
    shape = lowering.tile(access.offsets).shape
    block = Coordinates(lowering, emitter.product(shape))
    # What steers addresses is computed by the null engine as well.
    outer, emitter.needed = emitter.needed, True
    offsets = _flat(lowering, block, access.offsets)
    mask = None if access.mask is None else _flat(lowering, block, access.mask)
    emitter.needed = outer
    found = partition(lowering, block, view, [offsets], loaded=(0,), inside=mask)
    inner = Inner()
    if access.stride is not None and access.limit is not None:
        extent = operation.attributes["extent"]
        inner, found = _rows(lowering, block, access, view, offsets, extent, found)
        shape = (*shape, extent)
    address = block.select(found.valid, found.address, emitter.constant(MASKED))
    return Runs(block, address, inner, shape, view, found.indices)


def _flat(lowering: Lowering, block: Coordinates, value: Value) -> Tile:
    """One stored integer per point of the block."""
    dense = lowering.contiguous(lowering.tile(value))
    block.hold(dense)
    return dense.reshaped((block.count,)) if dense.shape else dense


def _rows(
    lowering: Lowering,
    block: Coordinates,
    access: ElementAccess[Value],
    view: View,
    offsets: Tile,
    extent: int,
    first: Partition,
) -> tuple[Inner, Partition]:
    """The row behind each offset; one whose end lies outside the view is not moved either."""
    assert access.stride is not None
    assert access.limit is not None
    emitter = lowering.emitter
    stride, limit = lowering.tile(access.stride), lowering.tile(access.limit)
    count = scalar_binary(lowering, "arith.minsi", limit, emitter.constant(extent))
    count = scalar_binary(lowering, "arith.maxsi", count, emitter.one)
    reach: Size = emitter.multiply(emitter.subtract(count, 1), stride)
    last = block.binary("arith.addi", offsets, emitter.tile_of(reach))
    end = partition(lowering, block, view, [last], loaded=(0,))
    limits = (*first.indices.limits, *end.indices.limits)
    inner = Inner(0, extent, emitter.multiply(stride, view.strides[0]), limit)
    valid = block.binary("arith.andi", first.valid, end.valid)
    return inner, replace(first, valid=valid, indices=replace(first.indices, limits=limits))
