"""What must hold of every program: the same bits and counts on every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator import lower
from spyrelab.emulator.arrays import as_array, place_arguments, place_memory
from spyrelab.emulator.counters import Column, Counters
from spyrelab.emulator.errors import LoweringError, LxOverflowError, UnsupportedError
from spyrelab.emulator.program import Program
from spyrelab.errors import SpyreLabError
from spyrelab.ktir import KtirError, dumps, parse
from spyrelab.machine import DeviceMemory
from tests.emulator.random_programs import RandomProgram

DDR_BYTES = 1 << 22
_COUNTED = [column for column in Column if column is not Column.LX_PEAK]


class RefusedError(Exception):
    """The program is outside the language, or the VM says that it does not run it."""


@dataclass(frozen=True)
class Outcome:
    """Bytes of every array after a run, and the counters; or the error."""

    arrays: dict[Any, np.ndarray]
    counters: Counters | None
    error: Exception | None


def outcome(program: Program, given: RandomProgram, engine: str, threads: int = 1) -> Outcome:
    """Run on fresh memory."""
    arrays = {name: as_array(name, value) for name, value in given.arguments.items()}
    with DeviceMemory(DDR_BYTES, machine=program.machine) as device:
        entries = place_memory(device, given.memory)
        placed = place_arguments(device, program, arrays)
        values = {
            name: placed[name].address if name in placed else array.item()
            for name, array in arrays.items()
        }
        try:
            counters = program.launch(values, device, engine, threads, exact=True)
        except Exception as error:
            return Outcome({}, None, error)
        read = {key: entry.read(device) for key, entry in (placed | entries).items()}
        return Outcome({key: array.view(np.uint8) for key, array in read.items()}, counters, None)


def difference(given: RandomProgram) -> str | None:
    """What differs between engines, or None.

    Raises
    ------
    RefusedError
        If there is nothing to compare.
    """
    text = given.text
    try:
        module = parse(text)
        module.verify()
    except KtirError as error:
        raise RefusedError(str(error)) from error
    if parse(dumps(module)) != module:
        return "parse(dumps(module)) differs from module"
    try:
        program = lower(module)
    except (LoweringError, LxOverflowError) as error:
        raise RefusedError(str(error)) from error
    wanted = outcome(program, given, "reference")
    if isinstance(wanted.error, UnsupportedError):
        raise RefusedError(str(wanted.error)) from wanted.error
    found = outcome(program, given, "vm")
    if wanted.error or found.error:
        return _errors_differ(wanted.error, found.error)
    message = _differs("vm", wanted, found) or _differs(
        "two threads", found, outcome(program, given, "vm", 2)
    )
    if message or given.rereads:
        return message
    return _counters_differ("null", found, outcome(program, given, "null"))


def _errors_differ(wanted: Exception | None, found: Exception | None) -> str | None:
    typed = isinstance(wanted, SpyreLabError) and isinstance(found, SpyreLabError)
    if typed:
        return None
    return f"reference: {wanted!r}; vm: {found!r}"


def _differs(name: str, wanted: Outcome, found: Outcome) -> str | None:
    if found.error:
        return f"{name}: {found.error!r}"
    for key, array in wanted.arrays.items():
        if not np.array_equal(array, found.arrays[key]):
            where = np.argwhere(array != found.arrays[key])
            return f"{name}: {key!r} differs in {len(where)} bytes, first at {where[0].tolist()}"
    return _counters_differ(name, wanted, found)


def _counters_differ(name: str, wanted: Outcome, found: Outcome) -> str | None:
    if found.error or found.counters is None or wanted.counters is None:
        return f"{name}: {found.error!r}"
    for column in _COUNTED:
        a, b = wanted.counters.column(column), found.counters.column(column)
        if not np.array_equal(a, b):
            return f"{name}: {column.name.lower()} {a.tolist()} -> {b.tolist()}"
    return None


def repro(given: RandomProgram, message: str) -> str:
    """A stand-alone script that shows a difference."""
    arrays = {name: _written(value) for name, value in given.arguments.items()}
    memory = {key: _written(value) for key, value in given.memory.items()}
    return "\n".join((
        f"# seed {given.seed}: {message}",
        "import numpy as np",
        "from numpy import array",
        "from spyrelab import emulator, ktir",
        f'TEXT = """\n{given.text}"""',
        f"ARGS = {{{', '.join(f'{k!r}: {v}' for k, v in arrays.items())}}}",
        f"MEMORY = {{{', '.join(f'{k!r}: {v}' for k, v in memory.items())}}}",
        "for engine in ('reference', 'vm', 'null'):",
        "    run = emulator.run(ktir.parse(TEXT), ARGS, memory=MEMORY, engine=engine, exact=True)",
        "    print(engine, run.outputs, run.counters)",
    ))  # fmt: skip


def _written(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    bits = value.view(f"uint{8 * value.itemsize}") if value.dtype.kind == "f" else value
    made = f"np.array({bits.tolist()}, np.{bits.dtype})"
    return f"{made}.view(np.{value.dtype})" if value.dtype.kind == "f" else made
