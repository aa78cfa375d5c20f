"""Loads and stores: the only data movement between memories, with bounds and counters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import AccessError, LoweringError, UnsupportedError, place
from spyrelab.emulator.formats import decode, encode, storage_dtype
from spyrelab.emulator.groups import static_shape
from spyrelab.emulator.reference.core import Array, Core, tensor_type, zeros
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.tiles import AccessTile, variables_of
from spyrelab.emulator.reference.views import MAIN_MEMORY, Located
from spyrelab.ktir.ir import Operation, Subscript
from spyrelab.ktir.types import ScalarType, element_of
from spyrelab.machine import DeviceMemory

_COLUMNS = {
    False: (Column.DDR_READ, Column.LX_READ, Column.STICKS_READ),
    True: (Column.DDR_WRITE, Column.LX_WRITE, Column.STICKS_WRITTEN),
}


@reference("ktdp.load")
def load(core: Core, operation: Operation, tile: AccessTile) -> Array:
    """Masked points read as zero."""
    kind = tensor_type(operation.result)
    coordinates = _coordinates(core, operation, tile)
    if isinstance(tile.base, np.ndarray):
        result = _load_tensor(core, tile, tile.base, coordinates, kind.element)
    else:
        mask, address, active = _locate(tile, tile.base.locate(coordinates))
        check_live(core, operation, active, kind.element.itemsize)
        count_transfer(core, active, kind.element.itemsize, writes=False)
        result = fetch(core, address, mask, kind.element)
    shape = static_shape(kind) or tile.shape
    _check_size(operation, tile, shape)
    # Older texts drop a unit dimension of the tile.
    return result.reshape(shape)


@reference("ktdp.store")
def store(core: Core, operation: Operation, value: Array, tile: AccessTile) -> None:
    """Masked points are dropped; of several points with one address the last one wins."""
    if isinstance(tile.base, np.ndarray):
        raise UnsupportedError(f"{place(operation)}: a tensor value cannot be stored into")
    element = element_of(operation.operands[0].type)
    _check_size(operation, tile, value.shape)
    mask, _, active = _locate(tile, tile.base.locate(_coordinates(core, operation, tile)))
    check_live(core, operation, active, element.itemsize)
    count_transfer(core, active, element.itemsize, writes=True)
    memory = core.memory.bytes.view(storage_dtype(element))
    memory[active.address // element.itemsize] = to_bits(value.reshape(tile.shape)[mask], element)


def _check_size(operation: Operation, tile: AccessTile, shape: Sequence[int]) -> None:
    if math.prod(shape) != math.prod(tile.shape):
        raise LoweringError(
            f"{place(operation)}: the tile has shape {list(tile.shape)}, the tensor {list(shape)}"
        )


def to_bits(values: Array, element: ScalarType) -> Array:
    """Values as they lie in memory."""
    return encode(values, element) if element.is_float else values.astype(storage_dtype(element))


def to_values(bits: Array, element: ScalarType) -> Array:
    """Memory contents as values."""
    if element.is_float:
        return decode(bits, element)
    return (bits != 0 if element.bits == 1 else bits).astype(np.int64)


@dataclass(frozen=True)
class Active:
    """The unmasked elements of a transfer in tile order."""

    address: NDArray[np.int64]
    owner: NDArray[np.int64]


def _locate(tile: AccessTile, found: Located) -> tuple[Array, Array, Active]:
    """Mask and addresses in the tile's shape, and the unmasked elements."""
    mask = tile.arrange(found.inside & tile.inside)
    address = tile.arrange(found.address)
    return mask, address, Active(address[mask], tile.arrange(found.owner)[mask])


def _coordinates(core: Core, operation: Operation, tile: AccessTile) -> list[Any]:
    """Coordinates in the base over the box of the tile's variables, per dimension."""
    variables = tile.points.coordinates()
    return [
        subscript.map(variables, tile.captures)[0]
        if subscript.view is None
        else _read_index(core, operation, tile, subscript)
        for subscript in tile.subscripts
    ]


def _read_index(core: Core, operation: Operation, tile: AccessTile, subscript: Subscript) -> Array:
    """Coordinates read through an index view: once for each value of the variables that occur.

    As in any load, an index outside the index view reads as zero.
    """
    assert subscript.view is not None
    view, element = tile.index_views[subscript.view]
    used = variables_of(subscript.map.results)
    found = view.locate(subscript.map(tile.points.coordinates(), tile.captures))
    shape = tuple(n if d in used else 1 for d, n in enumerate(tile.points.shape))
    mask = np.broadcast_to(found.inside, shape)
    visited = tile.visit(mask, used)
    ordered = Active(
        tile.visit(np.broadcast_to(found.address, shape), used)[visited],
        tile.visit(np.broadcast_to(found.owner, shape), used)[visited],
    )
    check_live(core, operation, ordered, element.itemsize)
    count_transfer(core, ordered, element.itemsize, writes=False)
    return fetch(core, np.broadcast_to(found.address, shape), mask, element)


def fetch(core: Core, address: Array, mask: Array, element: ScalarType) -> Array:
    """Elements where the mask holds, zero elsewhere."""
    memory = core.memory.bytes.view(storage_dtype(element))
    result = zeros(mask.shape, element)
    result[mask] = to_values(memory[address[mask] // element.itemsize], element)
    return result


def _load_tensor(
    core: Core, tile: AccessTile, tensor: Array, coordinates: list[Any], element: ScalarType
) -> Array:
    inside: Any = tile.inside
    for coordinate, extent in zip(coordinates, tensor.shape, strict=True):
        inside = inside & (coordinate >= 0) & (coordinate < extent)
    mask = tile.arrange(inside)
    result = zeros(tile.shape, element)
    result[mask] = tensor[tuple(tile.arrange(c)[mask] for c in coordinates)]
    core.count(Column.LX_READ, int(mask.sum()) * element.itemsize)
    return result


def check_live(core: Core, operation: Operation, active: Active, itemsize: int) -> None:
    """Raise `AccessError` for the first element that lies in no live allocation."""
    outside = ~_is_live(core.memory, active, itemsize)
    if outside.any():
        address = int(active.address[outside][0])
        owner = int(active.owner[outside][0])
        nearest = nearest_allocation(core.memory, address, owner)
        raise AccessError(
            core.number,
            operation.name,
            operation.position,
            address,
            nearest,
            operation.location,
        )


def _is_live(memory: DeviceMemory, active: Active, itemsize: int) -> NDArray[np.bool_]:
    starts, ends = memory.live
    slot = np.searchsorted(starts, active.address, side="right") - 1
    before = np.iinfo(np.int64).min  # for slot -1, an address before every allocation
    past = np.concatenate([ends, [before]])[slot]
    base = memory.ddr_bytes + active.owner * memory.lx_bytes
    own = (active.address >= base) & (active.address + itemsize <= base + memory.lx_bytes)
    in_main = active.address + itemsize <= past
    return np.where(active.owner == MAIN_MEMORY, in_main, own)


def nearest_allocation(memory: DeviceMemory, address: int, owner: int) -> str:
    """Describe the live range closest to an address in the memory that it was meant for."""
    if owner != MAIN_MEMORY:
        base = memory.lx_base(owner)
        return f"scratchpad of core {owner} at [{base}, {base + memory.lx_bytes})"
    ranges = [(block.address, block.end, block.label) for block in memory.allocations]
    if not ranges:
        return "none, nothing is allocated"
    low, high, label = min(ranges, key=lambda r: max(r[0] - address, address - r[1] + 1))
    return f"{label or 'allocation'} at [{low}, {high})"


def count_transfer(core: Core, active: Active, itemsize: int, *, writes: bool) -> None:
    """Count the bytes of each memory, and the sticks entered on the way."""
    main, own, sticks = _COLUMNS[writes]
    in_main = active.owner == MAIN_MEMORY
    in_own = active.owner == core.number
    core.count(main, int(in_main.sum()) * itemsize)
    core.count(own, int(in_own.sum()) * itemsize)
    core.count(Column.RING, int((~in_main & ~in_own).sum()) * itemsize)
    stick = active.address[in_main] // core.machine.stick_bytes
    core.count(sticks, int(np.count_nonzero(np.diff(stick))) + bool(stick.size))
