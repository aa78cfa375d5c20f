"""`run`: the convenience that places arrays, launches a program and reads everything back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.arrays import Placed, as_array, matching, place_arguments, place_memory
from spyrelab.emulator.counters import Counters
from spyrelab.emulator.program import Program, lower
from spyrelab.emulator.sanitizer.findings import Finding
from spyrelab.ktir import Module
from spyrelab.machine import SPYRE, DeviceMemory, Machine


@dataclass(frozen=True)
class Run:
    """What `run` returns.

    Attributes
    ----------
    outputs : dict
        Every array argument and every memory entry after the run, by the same keys.
    counters : Counters
    program : Program
    """

    outputs: dict[Any, np.ndarray]
    counters: Counters
    program: Program

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the sanitizer noticed that is no error."""
        return self.counters.findings


def run(
    module: Module,
    args: Mapping[str, Any],
    function: str | None = None,
    memory: Mapping[Any, Any] | None = None,
    engine: str = "vm",
    machine: Machine = SPYRE,
    sanitize: bool | str = False,
    exact: bool = False,
    cores: int | None = None,
    threads: int | None = None,
) -> Run:
    """Run one function of a module on arrays.

    Parameters
    ----------
    args : mapping
        Every argument by name: a NumPy array or torch CPU tensor (placed in main memory, its
        address passed), an int or a float.
    memory : mapping, optional
        Arrays at literal addresses, counted in elements of that array; a key
        ``("LX", core, address)`` seeds a scratchpad.
    engine : str
        ``"vm"``, ``"reference"`` or ``"null"``.
    sanitize : bool or str
        Check every access against the arrays that were placed, against what was written, and
        against what other cores do; see `spyrelab.emulator.Program.launch`.
    exact : bool
        Sum matrix products in the defined order; then ``vm`` equals ``reference`` bit for bit.
    cores : int, optional
        Number of cores for a function without a grid.
    threads : int, optional
        Host threads; default ``SPYRELAB_THREADS``, else the number of CPUs.

    Raises
    ------
    ArgumentError
        Names, shapes or types that do not fit; nothing was run.
    KtirError, LoweringError, LxOverflowError, AccessError, DeadlockError, SanitizerError
    """
    program = lower(module, function, machine, cores)
    arrays = {name: as_array(name, value) for name, value in args.items()}
    matching(program, arrays)
    with DeviceMemory(machine=machine) as device:
        entries = place_memory(device, memory or {})
        placed = place_arguments(device, program, arrays)
        values = {
            name: placed[name].address if name in placed else arrays[name].item() for name in arrays
        }
        counters = program.launch(values, device, engine, threads, sanitize, exact)
        computed = engine != "null"
        outputs = _read(placed, device, computed) | _read(entries, device, computed)
    return Run(outputs, counters, program)


def _read(placed: Mapping[Any, Placed], device: DeviceMemory, computed: bool) -> dict[Any, Any]:
    return {key: entry.read(device) for key, entry in placed.items()} if computed else {}
