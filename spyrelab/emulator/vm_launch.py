"""Launching the tile VM: arenas, host threads, phases between exchanges, errors."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from itertools import accumulate
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from spyrelab.emulator import linkage
from spyrelab.emulator.arena_pool import POOL
from spyrelab.emulator.blas import one_thread
from spyrelab.emulator.cache import compile_progress
from spyrelab.emulator.counters import Column as Counter
from spyrelab.emulator.counters import Counters
from spyrelab.emulator.engines import LaunchOptions
from spyrelab.emulator.errors import ArgumentError
from spyrelab.emulator.lowering.values import Tile
from spyrelab.emulator.opcodes import Status
from spyrelab.emulator.printing import Printout
from spyrelab.emulator.vm import run_cores
from spyrelab.emulator.vm_errors import deadlock, failure
from spyrelab.emulator.vm_frame import Field, address_of, set_vector
from spyrelab.machine import DeviceMemory

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program
    from spyrelab.emulator.sanitizer.watcher import Watcher

_POOL_WORTH_NS = 200_000
"""A phase shorter than this runs on the calling thread alone."""

_compiled: set[tuple[str, ...]] = set()


def host_threads(asked: int | None) -> int:
    """Number of host threads: asked for, else ``SPYRELAB_THREADS``, else the CPUs."""
    if asked is None:
        text = os.environ.get("SPYRELAB_THREADS")
        try:
            asked = int(text) if text else len(os.sched_getaffinity(0))
        except ValueError:
            raise ArgumentError(f"SPYRELAB_THREADS={text!r} is no whole number") from None
    if asked < 1:
        raise ArgumentError(f"threads={asked}: at least one thread is needed")
    return asked


@cache
def _workers(count: int, process: int) -> ThreadPoolExecutor:
    """One pool for each process: a forked child inherits the pool but none of its threads."""
    return ThreadPoolExecutor(count, thread_name_prefix="spyrelab-core")


def launch(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
    compute: bool,
) -> Counters:
    """Run a program to its end; see `spyrelab.emulator.Program.launch`."""
    memory.assume_written()
    launch = Launch(program, values, memory, options, compute)
    execute(launch)
    return launch.counters


def execute(launch: Launch, *on_demand: str) -> None:
    """Run a launch; compile the tile VM, and functions that this launch calls, if need be."""
    with one_thread() if launch.multiplies_matrices else nullcontext():
        if on_demand in _compiled:
            launch.run()
        else:
            with compile_progress():
                linkage.load(*on_demand)
                launch.run()
            _compiled.add(on_demand)


class Launch:
    """State of one launch; with a watcher, of one that the sanitizer checks."""

    def __init__(
        self,
        program: Program,
        values: Sequence[int | float],
        memory: DeviceMemory,
        options: LaunchOptions,
        compute: bool,
        watcher: Watcher | None = None,
    ) -> None:
        self.program, self.memory = program, memory
        # Kept from before the check on, the pages stay mapped if another thread closes them.
        pages = memory.bytes
        memory.require_open()
        self.multiplies_matrices = program.multiplies_matrices and compute
        self.watcher = watcher
        cores, exchanges = program.cores, len(program.exchanges)
        self.printout = Printout()
        self.threads = min(host_threads(options.threads), cores)
        if program.runs_in_order:
            self.threads = 1
        columns = len(Counter)
        # One block: program counters, counters, errors, publication counts and their copy.
        sizes = (cores, cores * columns, cores * 8, 2 * exchanges * cores, 2 * exchanges * cores)
        ends = list(accumulate(sizes))
        state = np.zeros(ends[-1], np.int64)
        self._state = state
        self.pcs = state[:cores]
        self.pcs.fill(-1)
        self.counters = Counters(state[ends[0] : ends[1]].reshape(cores, columns))
        self.errors = state[ends[1] : ends[2]].reshape(cores, 8)
        self.exchange, self.seen = state[ends[2] : ends[3]], state[ends[3] :]
        # A core that may stop keeps an arena of its own; else there is one for each thread.
        arenas = cores if program.suspends else self.threads
        floats, integers = POOL.arenas(arenas, *program.arena_sizes)
        self._arenas = floats, integers
        images = _images(program, values)
        self._kept = (pages, state, floats, integers, images)
        self.frame = frame = _template(program).copy()
        set_vector(frame, Field.INTEGERS_AT, images[0])
        set_vector(frame, Field.FLOATS_AT, images[1])
        set_vector(frame, Field.MEMORY_AT, pages)
        frame[Field.F_AT], frame[Field.I_AT] = address_of(floats), address_of(integers)
        frame[Field.ARENAS] = arenas
        frame[Field.DDR_BYTES], frame[Field.LX_BYTES] = memory.ddr_bytes, memory.lx_bytes
        frame[Field.EXACT], frame[Field.COMPUTE] = options.exact, compute
        if watcher is not None:
            frame[Field.WATCH_AT] = address_of(watcher.state)
            frame[Field.CODE_AT] = address_of(watcher.watched.code)
            frame[Field.ROWS] = len(watcher.watched.code)
        start = address_of(state)
        self._seen_at = start + 8 * ends[3]
        self._exchange_at = start + 8 * ends[2]
        frame[Field.PCS_AT], frame[Field.COUNTERS_AT] = start, start + 8 * ends[0]
        frame[Field.ERRORS_AT] = start + 8 * ends[1]
        self._see(self._exchange_at)

    def run(self) -> None:
        """Phase after phase until every core has ended."""
        try:
            self._phases()
        finally:
            self._take_prints()
            self.printout.flush()

    def _phases(self) -> None:
        wide = False
        while True:
            before = perf_counter_ns()
            moved = self._wide_phase() if wide else self._narrow_phase()
            if (self.pcs == -2).all():
                return
            self._take_prints()
            if moved == 0:
                raise deadlock(self.program, [self._row(int(pc)) for pc in self.pcs])
            wide = self.threads > 1 and perf_counter_ns() - before > _POOL_WORTH_NS

    def _take_prints(self) -> None:
        """Enter what cores have stopped for to print, and let them go on."""
        if not self.program.prints:
            return
        for core in np.flatnonzero(self.errors[:, 0] == Status.PRINTS).tolist():
            row = self._row(int(self.pcs[core]))
            operation = self.program.operations[self.program.source_of(row)]
            tiles = self.program.prints[row]
            arenas = tuple(arena[core] for arena in self._arenas)
            self.printout.add(core, operation, [stored(tile, *arenas) for tile in tiles])
            self.pcs[core] += 1
            self.errors[core, 0] = Status.DONE

    def rewind(self) -> None:
        """Back to before the first step: for a program without exchanges."""
        self._state.fill(0)
        self.pcs.fill(-1)

    def run_once(self) -> None:
        """All cores, one after the other on the calling thread, of a program without exchanges."""
        moved = run_cores(0, 1, self.frame)
        if moved != 2 * self.program.cores:
            self._checked([moved])
            raise deadlock(self.program, [self._row(int(pc)) for pc in self.pcs])

    def _narrow_phase(self) -> int:
        """The calling thread alone; goes over to the pool if one core takes long."""
        self._see(self._exchange_at)
        if self.threads == 1:
            return self._checked([run_cores(0, 1, self.frame)])
        before = perf_counter_ns()
        moved = self._checked([run_cores(0, self.program.cores, self.frame)])
        if (perf_counter_ns() - before) * self.program.cores > _POOL_WORTH_NS:
            return moved + self._wide_phase()
        return moved + self._checked([run_cores(0, 1, self.frame)])

    def _wide_phase(self) -> int:
        # Threads that run side by side rely on what was published before the phase only.
        self.seen[:] = self.exchange
        self._see(self._seen_at)
        workers = _workers(self.threads - 1, os.getpid())
        jobs = [
            workers.submit(run_cores, first, self.threads, self.frame)
            for first in range(1, self.threads)
        ]
        # Arenas and memory stay in use until every thread is done, also after an error.
        own = run_cores(0, self.threads, self.frame)
        return self._checked([own, *(job.result() for job in jobs)])

    def _checked(self, moved: Sequence[int]) -> int:
        """Cores that moved, over all threads; the lowest core that failed raises."""
        failed = [-1 - count for count in moved if count < 0]
        if failed:
            core = min(failed)
            if self.errors[core, 0] == Status.STOPPED:
                self.pcs[core] = -2  # the others go on, as far as they do without it
                return 1
            row = self._row(int(self.pcs[core]))
            raise failure(self.program, self.memory, core, row, self.errors[core])
        return sum(moved)

    def _row(self, pc: int) -> int:
        """The row of the program that a program counter stands at."""
        return pc if self.watcher is None or pc < 0 else int(self.watcher.watched.rows[pc])

    def _see(self, seen: int) -> None:
        """Enter the publication counts, and the address of those that cores may rely on."""
        half = 4 * self.exchange.size
        self.frame[Field.PUBLISHED_AT] = self._exchange_at
        self.frame[Field.COLLECTED_AT] = self._exchange_at + half
        self.frame[Field.SEEN_PUBLISHED_AT] = seen
        self.frame[Field.SEEN_COLLECTED_AT] = seen + half


def _template(program: Program) -> np.ndarray:
    """The fields that are the same for every launch."""
    frame = program.frame
    if not frame.size:
        frame = program.frame = np.zeros(len(Field), np.int64)
        set_vector(frame, Field.CODE_AT, program.code)
        set_vector(frame, Field.POOL_AT, program.pool)
        grid = (*program.grid, 1, 1)
        for field, value in (
            (Field.CORES, program.cores),
            (Field.GRID_0, grid[0]),
            (Field.GRID_1, grid[1]),
            (Field.ROWS, len(program.code)),
            (Field.F_SIZE, program.arena_sizes[0]),
            (Field.I_SIZE, program.arena_sizes[1]),
            (Field.PEAKS_AT, address_of(program.lx_peaks)),
            (Field.EXCHANGES, len(program.exchanges)),
            (Field.COUNTER_COLUMNS, len(Counter)),
        ):
            frame[field] = value
    return frame


def stored(tile: Tile, floats: np.ndarray, integers: np.ndarray) -> np.ndarray:
    """Values of a stored tile in the arenas of a core."""
    shape = [
        int(integers[extent.place]) if isinstance(extent, Tile) else extent for extent in tile.shape
    ]
    arena = floats if tile.is_float else integers
    return arena[tile.place : tile.place + math.prod(shape)].reshape(shape)


def _images(program: Program, values: Sequence[int | float]) -> tuple[np.ndarray, np.ndarray]:
    integers, floats = program.integer_image.copy(), program.float_image
    copied = False
    for argument, value in zip(program.arguments, values, strict=True):
        if argument.kind.is_float:
            floats = floats if copied else floats.copy()
            copied = True
            floats[argument.place] = value
        else:
            integers[argument.place] = value
    return integers, floats
