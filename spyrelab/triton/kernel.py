"""A compiled kernel: its text, and what is made from it once for all launches."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.device import clock
from spyrelab.emulator import Program, lower
from spyrelab.emulator.formats import decode as decode_floats
from spyrelab.emulator.quick_launch import QuickLaunch
from spyrelab.ktir import F32, Module, ScalarType, dumps, parse, walk
from spyrelab.machine import SPYRE
from spyrelab.timing import Estimate
from spyrelab.triton.arguments import AccessNote, KernelArgument, Translation
from spyrelab.triton.errors import GridError, TritonError
from spyrelab.triton.steering import Steering, find_steering

__all__ = ["Kernel", "LaunchArguments", "decode", "encode", "load", "remember"]

_HEADER = "// spyrelab.triton "
_KEPT = 256
"""Distinct arguments of a kernel that are kept."""


class LaunchArguments(dict[str, Any]):
    """What the time of a launch depends on: numbers and index arrays by KTIR argument.

    Attributes
    ----------
    key : Hashable
        Equal for equal contents.
    """

    def __init__(self, values: dict[str, Any], key: Hashable) -> None:
        super().__init__(values)
        self.key = key


def encode(translation: Translation) -> bytes:
    """The text that Triton keeps as a kernel's binary: KTIR with one comment before it."""
    header = {
        "arguments": [argument.to_json() for argument in translation.arguments],
        "notes": [note.to_json() for note in translation.notes],
        "barriers": translation.barriers,
        "types": {str(number): kind for number, kind in translation.types.items()},
    }
    return f"{_HEADER}{json.dumps(header)}\n{dumps(translation.module)}".encode()


def decode(binary: bytes) -> Translation:
    """The inverse of `encode`.

    Raises
    ------
    TritonError
        The bytes were not written by `encode`.
    """
    text = binary.decode()
    first, _, body = text.partition("\n")
    if not first.startswith(_HEADER):
        raise TritonError(
            "this is no kernel compiled for the card: clear Triton's cache (~/.triton/cache)"
        )
    header = json.loads(first.removeprefix(_HEADER))
    return Translation(
        _without_positions(parse(body)),
        tuple(KernelArgument.from_json(data) for data in header["arguments"]),
        tuple(AccessNote.from_json(data) for data in header["notes"]),
        header["barriers"],
        {int(number): kind for number, kind in header["types"].items()},
    )


def _without_positions(module: Module) -> Module:
    """Nobody sees this text: messages name a value, as for a kernel that was just compiled."""
    for function in module.functions:
        function.position = None
        for operation in walk(function.body.operations):
            operation.position = None
    return module


class Kernel:
    """A kernel for one specialisation.

    Attributes
    ----------
    name : str
    translation : Translation
    places : dict
        KTIR argument: its place among them.
    """

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.function = translation.module.function(None)
        self.name = self.function.name
        self._programs: dict[int, Program] = {}
        self._quick: dict[int, QuickLaunch] = {}
        self._known: OrderedDict[Hashable, LaunchArguments] = OrderedDict()
        self._lock = threading.Lock()
        self._steering: Steering | None = None
        self.places = {a.name: at for at, a in enumerate(translation.arguments)}

    @property
    def module(self) -> Module:
        """The KTIR."""
        return self.translation.module

    @property
    def arguments(self) -> tuple[KernelArgument, ...]:
        """Where each KTIR argument comes from."""
        return self.translation.arguments

    @property
    def steering(self) -> Steering:
        """Which arguments the time of a launch depends on."""
        if self._steering is None:
            self._steering = find_steering(self.function)
        return self._steering

    def cores(self, programs: int) -> int:
        """Cores that a launch of so many programs takes.

        Raises
        ------
        GridError
            Programs that wait for each other have to run at once, one on a core.
        """
        if not self.translation.barriers:
            return SPYRE.cores
        if programs > SPYRE.cores:
            raise GridError(
                f"kernel {self.name!r} has a grid barrier, so its {programs} programs have to run"
                f" at once, but there are {SPYRE.cores} cores: launch at most {SPYRE.cores}"
                " programs, and let each loop over its share of the work"
            )
        return programs

    def program(self, cores: int = SPYRE.cores) -> Program:
        """The kernel lowered for a number of cores.

        Raises
        ------
        LxOverflowError
            Its tiles do not fit the scratchpad.
        """
        found = self._programs.get(cores)
        if found is None:
            with self._lock:
                if cores not in self._programs:
                    self._programs[cores] = lower(self.module, cores=cores)
            found = self._programs[cores]
        return found

    def quick(self, cores: int) -> QuickLaunch:
        """The same, kept ready for launches on the card's memory."""
        from spyrelab.device.memory import MEMORY

        found = self._quick.get(cores)
        if found is None:
            found = self._quick[cores] = QuickLaunch(self.program(cores), MEMORY.device)
        return found

    def steer(self, numbers: dict[str, int | float], arrays: dict[str, bytes]) -> LaunchArguments:
        """What the time of a launch depends on: the one object for equal contents.

        Parameters
        ----------
        numbers, arrays
            The arguments that `steering` names; arrays as bytes of memory.
        """
        key = tuple(numbers.values()), tuple(arrays.values())
        found = self._known.get(key)
        if found is None:
            kinds = self.steering.arrays
            seen = {name: _elements(data, kinds[name]) for name, data in arrays.items()}
            found = self._known[key] = LaunchArguments({**numbers, **seen}, key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def estimate(self, given: LaunchArguments, cores: int) -> Estimate:
        """The predicted time of a launch.

        Raises
        ------
        TimingError
            A trip count depends on what the kernel itself computes.
        """
        return clock.estimate_of(clock.Launch(self.program(cores), given, self.name))


def _elements(data: bytes, kind: ScalarType) -> NDArray[Any]:
    whole = len(data) // kind.itemsize * kind.itemsize
    if not kind.is_float:
        return np.frombuffer(data[:whole], f"i{kind.itemsize}")
    bits = np.frombuffer(data[:whole], "f4" if kind == F32 else f"u{kind.itemsize}")
    return bits if kind == F32 else decode_floats(bits, kind)


_loaded: OrderedDict[bytes, Kernel] = OrderedDict()
_LOADED = 64


def load(binary: bytes) -> Kernel:
    """The kernel in a binary; the most recent ones are kept."""
    found = _loaded.get(binary)
    return found if found is not None else remember(binary, Kernel(decode(binary)))


def remember(binary: bytes, kernel: Kernel) -> Kernel:
    """Keep a kernel for when its binary is loaded."""
    _loaded[binary] = kernel
    if len(_loaded) > _LOADED:
        _loaded.popitem(last=False)
    return kernel
