"""Runs a KTIR text under the reference interpreter, for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.addresses import pointer_itemsizes
from spyrelab.emulator.counters import Counters
from spyrelab.emulator.reference import execute
from spyrelab.ktir import parse
from spyrelab.machine import SPYRE, DeviceMemory

DDR_BYTES = 1 << 24
Arrays = dict[Any, NDArray[Any]]


def launch(
    text: str,
    memory: Arrays | None = None,
    *,
    function: str | None = None,
    grid: tuple[int, ...] | None = None,
    **arguments: Any,
) -> tuple[Arrays, Counters]:
    """Place arrays in memory, run, read them back.

    ``memory`` maps an element address, or ``("LX", core, element address)``, to its contents.
    """
    chosen = parse(text).function(function)
    grid = grid or chosen.grid
    counters = Counters.zeros(math.prod(grid))
    with DeviceMemory(DDR_BYTES) as device:
        places = _place_literals(device, memory or {})
        itemsizes, values = pointer_itemsizes(chosen), {}
        for name, argument in arguments.items():
            if isinstance(argument, np.ndarray):
                places[name] = (device.allocate(argument.nbytes, name), argument)
                values[name] = places[name][0] // itemsizes[name]
            else:
                values[name] = argument
        for address, array in places.values():
            device.bytes[address : address + array.nbytes] = np.frombuffer(
                array.tobytes(), np.uint8
            )
        execute(chosen, values, device, SPYRE, grid, counters)
        return {key: _read(device, *place) for key, place in places.items()}, counters


def _place_literals(device: DeviceMemory, memory: Arrays) -> dict[Any, tuple[int, Any]]:
    places: dict[Any, tuple[int, Any]] = {}
    for key, array in memory.items():
        if isinstance(key, tuple):
            _, core, element = key
            places[key] = (device.lx_base(core) + element * array.itemsize, array)
        else:
            places[key] = (device.reserve(key * array.itemsize, array.nbytes), array)
    return places


def _read(device: DeviceMemory, address: int, like: NDArray[Any]) -> NDArray[Any]:
    raw = device.bytes[address : address + like.nbytes].tobytes()
    return np.frombuffer(raw, like.dtype).reshape(like.shape)
