"""Running a function on a grid of cores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from spyrelab.emulator.counters import Counters
from spyrelab.emulator.errors import ArgumentError, DeadlockError, Waiting
from spyrelab.emulator.reference.collectives import Rendezvous
from spyrelab.emulator.reference.core import Core, Steps
from spyrelab.emulator.reference.scalars import bind
from spyrelab.ktir.ir import Function
from spyrelab.machine import DeviceMemory, Machine


def execute(
    function: Function,
    arguments: Mapping[str, int | float],
    memory: DeviceMemory,
    machine: Machine,
    grid: tuple[int, ...],
    counters: Counters,
) -> None:
    """Run a function on every core of a grid, with the meaning that this package defines.

    Parameters
    ----------
    arguments : mapping
        Value of every argument by name; pointers count elements, as KTIR does.
    memory : DeviceMemory
        Read and written; any access outside its live allocations raises.
    grid : tuple of int
        Cores along each dimension; the first varies fastest in the flat number of a core.
    counters : Counters
        One row per core, added to.  ``lx_peak`` is left alone: it is a property of the program.

    Raises
    ------
    ArgumentError, AccessError, DeadlockError, UnsupportedError, LoweringError
    """
    names = {argument.name for argument in function.arguments}
    if names != set(arguments):
        raise ArgumentError(
            f"@{function.name} takes {sorted(names)}, was given {sorted(arguments)}"
        )
    bound = [bind(argument, arguments[argument.name]) for argument in function.arguments]
    rendezvous = Rendezvous(function, grid)
    running: dict[int, Steps] = {}
    for number in range(math.prod(grid)):
        core = Core(number, _tile_id(number, grid), memory, machine, counters, rendezvous)
        running[number] = core.run(function.body, bound)
    try:
        _run_all(running, rendezvous)
    finally:
        rendezvous.printout.flush()


def _tile_id(number: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    coordinates = []
    for extent in grid:
        number, coordinate = divmod(number, extent)
        coordinates.append(coordinate)
    return tuple(coordinates)


def _run_all(running: dict[int, Steps], rendezvous: Rendezvous) -> None:
    """Let each core run until it waits, round after round."""
    while running:
        before = (rendezvous.version, len(running))
        waiting = {number: _advance(steps) for number, steps in running.items()}
        running = {number: running[number] for number, wait in waiting.items() if wait}
        if running and before == (rendezvous.version, len(running)):
            raise DeadlockError([wait for wait in waiting.values() if wait])


def _advance(steps: Any) -> Waiting | None:
    return next(steps, None)
