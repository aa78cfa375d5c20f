"""The three engines behind one protocol.

``reference`` is the definition of every operation; ``vm`` is the fast one; ``null`` only counts:
it evaluates scalars and index loads, but no tile arithmetic, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spyrelab.emulator.counters import Column, Counters
from spyrelab.emulator.errors import ArgumentError, UnsupportedError
from spyrelab.machine import DeviceMemory

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program


@dataclass(frozen=True)
class LaunchOptions:
    """See `spyrelab.emulator.Program.launch`."""

    threads: int | None = None
    sanitize: bool | str = False
    exact: bool = False


class Engine(Protocol):
    """Runs a program; ``values`` are its arguments in order, pointers in elements."""

    def __call__(
        self,
        program: Program,
        values: Sequence[int | float],
        memory: DeviceMemory,
        options: LaunchOptions,
    ) -> Counters: ...


def run_reference(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
) -> Counters:
    """The NumPy interpreter; always exact, its accesses always checked, whatever the options."""
    from spyrelab.emulator.reference import execute

    del options
    memory.assume_written()
    counters = Counters.zeros(program.cores)
    named = {a.name: v for a, v in zip(program.arguments, values, strict=True)}
    execute(program.function, named, memory, program.machine, program.grid, counters)
    counters.column(Column.LX_PEAK)[:] = program.lx_peaks
    return counters


def run_vm(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
) -> Counters:
    """The compiled tile VM."""
    return _launch(program, values, memory, options, compute=True)


def run_null(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
) -> Counters:
    """The tile VM without tile arithmetic.

    Raises
    ------
    UnsupportedError
        The program goes on what an atomic operation found: nothing is written here, so the
        next one would find the same.
    """
    if program.steers_by_atomics:
        raise UnsupportedError(
            f"@{program.function.name}: its course depends on an atomic operation, which writes; "
            'the null engine does not (engine="vm" counts as well)'
        )
    return _launch(program, values, memory, options, compute=False)


def _launch(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
    compute: bool,
) -> Counters:
    if options.sanitize:
        from spyrelab.emulator.sanitizer.launch import launch as launch_watched

        return launch_watched(program, values, memory, options, compute)
    from spyrelab.emulator.vm_launch import launch

    return launch(program, values, memory, options, compute)


ENGINES: dict[str, Engine] = {"vm": run_vm, "reference": run_reference, "null": run_null}
"""Every engine by name."""


def engine_named(name: str) -> Engine:
    """The engine called ``name``; ArgumentError, listing them, for an unknown one."""
    try:
        return ENGINES[name]
    except KeyError:
        raise ArgumentError(f"no engine {name!r}; there are: {', '.join(ENGINES)}") from None
