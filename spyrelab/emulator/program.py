"""A KTIR function lowered for one grid: launch it as often as you like."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from spyrelab.emulator.counters import Counters
from spyrelab.emulator.engines import LaunchOptions, engine_named
from spyrelab.emulator.errors import ArgumentError
from spyrelab.emulator.formats import round_to, wrap
from spyrelab.emulator.lowering import Argument, LoweredFunction, lower_function
from spyrelab.emulator.lowering.lx import LxUse
from spyrelab.emulator.opcodes import WIDTH, Op
from spyrelab.emulator.opcodes import Column as OpColumn
from spyrelab.emulator.sanitizer.instrument import Watched, instrument
from spyrelab.emulator.sanitizer.scope import effective
from spyrelab.ktir import Function, Module
from spyrelab.machine import SPYRE, DeviceMemory, Machine


class Program:
    """A lowered function.

    Attributes
    ----------
    function : Function
    grid : tuple of int
        Compute tiles per grid dimension.
    cores : int
        Their product.
    arguments : tuple of Argument
        What `launch` takes, in order.
    lx : LxUse
        Scratchpad use: peak, who is alive then, literal ranges.
    """

    def __init__(self, function: Function, grid: Sequence[int], machine: Machine) -> None:
        self.function = function
        self.machine = machine
        self.grid = tuple(grid)
        self.cores = math.prod(self.grid)
        self._lowered: LoweredFunction = lower_function(function, machine, self.grid)
        self.arguments: tuple[Argument, ...] = self._lowered.arguments
        self.lx: LxUse = self._lowered.lx
        self.operations = self._lowered.operations
        self.exchanges = self._lowered.exchanges
        self.transfers = self._lowered.emitter.transfers
        self.prints = self._lowered.emitter.prints
        self.frame = np.zeros(0, np.int64)

    # -- what the VM reads -------------------------------------------------------------------

    @cached_property
    def code(self) -> np.ndarray:
        """Instructions, int64 [rows, WIDTH]."""
        return np.asarray(self._lowered.emitter.code, np.int64).reshape(-1, WIDTH)

    @cached_property
    def pool(self) -> np.ndarray:
        """Descriptors, int64."""
        return np.asarray(self._lowered.emitter.pool or [0], np.int64)

    @cached_property
    def integer_image(self) -> np.ndarray:
        """Start of the I arena: constants and scalars."""
        return np.asarray(self._lowered.emitter.integers, np.int64)

    @cached_property
    def float_image(self) -> np.ndarray:
        """Start of the F arena."""
        return np.asarray(self._lowered.emitter.floats, np.float32)

    @cached_property
    def arena_sizes(self) -> tuple[int, int]:
        """Elements of the F and I arenas of one core."""
        arenas = self._lowered.emitter.arenas
        return arenas[True].top, arenas[False].top

    @cached_property
    def lx_peaks(self) -> np.ndarray:
        """Highest scratchpad use per core in bytes, int64."""
        return np.array([self.lx.peak_of(core) for core in range(self.cores)], np.int64)

    @cached_property
    def multiplies_matrices(self) -> bool:
        return bool((self.code[:, 0] == int(Op.MATMUL_FLOAT)).any())

    @cached_property
    def suspends(self) -> bool:
        """Whether a core may stop and go on later, and so needs an arena of its own."""
        return bool(self.exchanges or self.prints)

    @cached_property
    def steers_by_atomics(self) -> bool:
        """Whether addresses, bounds or branches depend on what an atomic operation found."""
        rows = self.code[:, 0] == int(Op.ATOMIC)
        return bool((self.code[rows, int(OpColumn.NEEDED)] != 0).any())

    @cached_property
    def runs_in_order(self) -> bool:
        """Whether host threads would gain nothing: cores take turns."""
        return bool((self.code[:, 0] == int(Op.TURN)).any())

    def source_of(self, row: int) -> int:
        """Index in `operations` of what an instruction was lowered from."""
        return self._lowered.emitter.sources[row]

    @cached_property
    def watched(self) -> Watched:
        """What the VM runs under the sanitizer."""
        return instrument(self)

    @cached_property
    def poisoned(self) -> Watched:
        """The same with masked elements of float loads set to a number that is not zero."""
        return instrument(self, poison=True)

    # -- running -----------------------------------------------------------------------------

    def launch(
        self,
        args: Mapping[str, int | float],
        memory: DeviceMemory,
        engine: str = "vm",
        threads: int | None = None,
        sanitize: bool | str = False,
        exact: bool = False,
    ) -> Counters:
        """Run the program on addresses in device memory.

        Parameters
        ----------
        args : mapping
            Every argument by name; pointers are byte addresses.
        engine : str
            ``"vm"``, ``"reference"`` or ``"null"``.
        threads : int, optional
            Host threads; default ``SPYRELAB_THREADS``, else the number of CPUs.
        sanitize : bool or str
            Check every access: bounds, memory that nobody wrote, races between cores. On one
            host thread; also wherever `spyrelab.sanitize` or ``SPYRELAB_SANITIZE`` say so. With
            ``"padding"`` also look for results that depend on masked elements. The reference
            engine checks its bounds and nothing else.
        exact : bool
            Sum matrix products in the defined order instead of calling BLAS.

        Raises
        ------
        ArgumentError
            Unknown, missing or misaligned arguments; nothing was run.
        AllocationError
            The device memory is closed.
        AccessError, DeadlockError, LxOverflowError
            While running.
        SanitizerError
            With every fault that was found. The launch went on as far as it was safe: a core
            stops before an access outside its allocation.
        """
        values = self._bind(args)
        memory.require_open()
        options = LaunchOptions(threads, effective(sanitize), exact)
        return engine_named(engine)(self, values, memory, options)

    def _bind(self, args: Mapping[str, int | float]) -> list[int | float]:
        if len(args) != len(self.arguments) or any(a.name not in args for a in self.arguments):
            raise ArgumentError(
                f"@{self.function.name} takes {[a.name for a in self.arguments]}, "
                f"was given {list(args)}"
            )
        values: list[int | float] = []
        for argument in self.arguments:
            value = args[argument.name]
            if argument.itemsize is not None and argument.itemsize > 1:
                value, rest = divmod(int(value), argument.itemsize)
                if rest:
                    raise ArgumentError(
                        f"address {args[argument.name]} of %{argument.name} is no multiple of "
                        f"the element size {argument.itemsize}"
                    )
            elif argument.promise is not None:
                _check_promise(argument, int(value))
            values.append(_typed(argument, value))
        return values


def _typed(argument: Argument, value: int | float) -> int | float:
    """A number rounded or wrapped to the argument's type."""
    kind = argument.kind
    if kind.is_float:
        with np.errstate(over="ignore"):
            return float(round_to(np.asarray(value, np.float32), kind))
    if not -(1 << kind.bits - 1) <= value < 1 << min(kind.bits, 63):
        raise ArgumentError(f"%{argument.name} = {value} does not fit {kind}")
    return int(value) if kind.bits == 64 else int(wrap(value, kind))


def _check_promise(argument: Argument, value: int) -> None:
    promise = argument.promise
    assert promise is not None
    if promise.upperbound is not None and value > promise.upperbound:
        raise ArgumentError(f"%{argument.name} = {value} is above its bound {promise.upperbound}")
    if promise.granularity and value % promise.granularity:
        raise ArgumentError(
            f"%{argument.name} = {value} is no multiple of its granularity {promise.granularity}"
        )


def lower(
    module: Module,
    function: str | None = None,
    machine: Machine = SPYRE,
    cores: int | None = None,
) -> Program:
    """Verify a module and lower one of its functions.

    Parameters
    ----------
    function : str, optional
        Its name; default the first public one.
    cores : int, optional
        Number of cores for a function without a grid (or with a grid of one dimension).

    Raises
    ------
    KtirError
        If the module breaks a rule of the language.
    LoweringError, LxOverflowError, ArgumentError
    """
    module.verify()
    try:
        chosen = module.function(function)
    except KeyError as error:
        raise ArgumentError(str(error.args[0])) from None
    grid = chosen.grid if cores is None else (cores,)
    if cores is not None and len(chosen.grid) > 1 and math.prod(chosen.grid) != cores:
        raise ArgumentError(
            f"@{chosen.name} has the grid {list(chosen.grid)}; cores={cores} contradicts it"
        )
    if cores is not None and math.prod(chosen.grid) == cores:
        grid = chosen.grid
    if not 1 <= math.prod(grid) <= machine.cores:
        raise ArgumentError(
            f"@{chosen.name} needs {math.prod(grid)} cores (grid {list(grid)}); "
            f"the machine has {machine.cores}"
        )
    return Program(chosen, grid, machine)
