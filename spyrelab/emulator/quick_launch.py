"""Launching one small program again and again: everything but the arguments is kept ready."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import perf_counter_ns

import numpy as np

from spyrelab.emulator.engines import LaunchOptions
from spyrelab.emulator.errors import ArgumentError
from spyrelab.emulator.formats import round_to
from spyrelab.emulator.program import Program
from spyrelab.emulator.sanitizer.scope import effective
from spyrelab.emulator.vm_frame import Field, address_of
from spyrelab.emulator.vm_launch import Launch
from spyrelab.machine import DeviceMemory

__all__ = ["QuickLaunch"]

_SMALL_NS = 200_000
"""A program that takes the host longer than this gains nothing here and may want more threads."""

_ARENA_BYTES = 1 << 19


class QuickLaunch:
    """A program on one device memory, with the state of its launches kept between them.

    Programs that are large, exchange data between cores or multiply matrices are launched as
    ever; so is every program under the sanitizer. Counters are not returned.

    Parameters
    ----------
    program : Program
    memory : DeviceMemory
        Where all launches run.
    """

    def __init__(self, program: Program, memory: DeviceMemory) -> None:
        self.program, self._memory = program, memory
        self._names = [argument.name for argument in program.arguments]
        self._lock = threading.Lock()
        self._launch: Launch | None = None
        floats, integers = program.arena_sizes
        small = 4 * floats + 8 * integers <= _ARENA_BYTES
        self._suits = small and not program.suspends and not program.multiplies_matrices
        self._tried = False

    def __call__(self, values: Sequence[int | float]) -> None:
        """Run on arguments in the program's order, pointers as byte addresses.

        Raises
        ------
        As `Program.launch`.
        """
        if self._launch is None or effective(False) or not self._lock.acquire(blocking=False):
            self._as_ever(values)
            return
        try:
            self._again(self._launch, values)
        finally:
            self._lock.release()

    def _as_ever(self, values: Sequence[int | float]) -> None:
        before = perf_counter_ns()
        self.program.launch(dict(zip(self._names, values, strict=True)), self._memory)
        # The first launch may have compiled the virtual machine: the second one tells.
        small = perf_counter_ns() - before < _SMALL_NS
        if self._suits and self._tried and small and self._lock.acquire(blocking=False):
            try:
                # Another thread's launch may be under way on what it prepared meanwhile.
                if self._launch is None:
                    self._prepare()
            finally:
                self._lock.release()
        self._tried = True

    def _prepare(self) -> None:
        program = self.program
        options = LaunchOptions(threads=1)
        blank = [0] * len(program.arguments)
        launch = Launch(program, blank, self._memory, options, compute=True)
        self._floats = np.empty(max(program.arena_sizes[0], 1), np.float32)
        self._integers = np.empty(max(program.arena_sizes[1], 1), np.int64)
        launch.frame[Field.F_AT] = address_of(self._floats)
        launch.frame[Field.I_AT] = address_of(self._integers)
        self._image = program.integer_image.copy()
        self._float_image = program.float_image.copy()
        launch.frame[Field.INTEGERS_AT] = address_of(self._image)
        launch.frame[Field.FLOATS_AT] = address_of(self._float_image)
        self._places = [
            (argument.place, argument.itemsize or 1, argument.kind)
            for argument in program.arguments
        ]
        self._launch = launch

    def _again(self, launch: Launch, values: Sequence[int | float]) -> None:
        memory = self._memory
        memory.require_open()
        memory.assume_written()
        image = self._image
        for (place, itemsize, kind), value in zip(self._places, values, strict=True):
            if kind.is_float:
                self._float_image[place] = round_to(np.float32(value), kind)
            else:
                place_in_elements, rest = divmod(value, itemsize)
                if rest:
                    raise ArgumentError(
                        f"address {value} is no multiple of the element size {itemsize}"
                    )
                image[place] = place_in_elements
        launch.rewind()
        launch.run_once()
