"""Planted faults are found, and nothing is said of programs that are right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spyrelab import emulator
from spyrelab.emulator import Kind, SanitizerError
from spyrelab.emulator.arrays import Placed, as_array
from spyrelab.ktir import parse
from spyrelab.machine import DeviceMemory
from tests.emulator.sanitizer_faults import CLEAN, FAULTS
from tests.emulator.sanitizer_programs import Planted


@contextmanager
def placed(planted: Planted) -> Iterator[tuple[emulator.Program, dict[str, int], DeviceMemory]]:
    """A program, its arguments in fresh device memory, and what of them is unwritten."""
    program = emulator.lower(parse(planted.text))
    arrays = {name: as_array(name, value) for name, value in planted.args.items()}
    with DeviceMemory(1 << 22) as device:
        values = {name: array.item() for name, array in arrays.items() if not array.ndim}
        for name in planted.unwritten:
            values[name] = device.allocate(arrays[name].nbytes, name)
            device.mark_written(values[name], planted.written)
        rest = {n: a for n, a in arrays.items() if n not in values}
        for name, array in rest.items():
            address = device.allocate(array.nbytes, name)
            values[name] = address
            Placed(address, array.shape, array.dtype).write(device, array)
        if "x" in values and not arrays["x"].ndim:
            values["x"] = 2 * values["x"]  # an element address of f16
        yield program, values, device


def faults_of(planted: Planted) -> SanitizerError:
    with placed(planted) as (program, values, device), pytest.raises(SanitizerError) as caught:
        program.launch(values, device, sanitize=True)
    return caught.value


def test_there_are_enough() -> None:
    assert len(FAULTS) >= 25
    assert len({planted.name for planted in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.name)
def test_planted_fault(planted: Planted) -> None:
    error = faults_of(planted)
    assert error.kinds == {planted.kind, *planted.kinds}
    finding = next(f for f in error.findings if f.kind == planted.kind)
    assert finding.operation == planted.operation
    assert finding.core == planted.core
    assert (finding.other.core if finding.other else None) == planted.other
    assert planted.allocation in finding.allocation
    assert finding.position is not None
    line = planted.text.splitlines()[finding.position.line - 1]
    assert planted.operation in line
    assert f"core {planted.core}, {planted.operation} at {finding.position.line}:" in str(error)


@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("engine", ["vm", "null"])
def test_right_programs(name: str, engine: str) -> None:
    text, arguments = CLEAN[name]
    with placed(Planted(name, text, Kind.PADDING, args=arguments)) as (program, values, device):
        assert program.launch(values, device, engine, sanitize=True).findings == ()


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.name)
def test_findings_are_the_same_every_time(planted: Planted) -> None:
    first = [str(finding) for finding in faults_of(planted).findings]
    assert first == [str(finding) for finding in faults_of(planted).findings]
