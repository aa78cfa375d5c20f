"""When the sanitizer runs, what it leaves behind, lints, and memory over several launches."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import spyrelab
from spyrelab import emulator
from spyrelab.emulator import AccessError, Kind, SanitizerError
from spyrelab.emulator.errors import ArgumentError
from spyrelab.ktir import parse
from spyrelab.machine import SPYRE, DeviceMemory
from tests.emulator.sanitizer_programs import (
    OWN_LX,
    load,
    on,
    ones,
    over,
    program,
    rows,
    send,
    store,
)
from tests.emulator.short_programs import copy

X, Y = over("v", "x", 1024), over("w", "y", 1024)
COPY = program(X, Y, load("a", "v", "%row", 1024), store("a", "w", "%row", 1024))
RACE = program(Y, ones(), store("one", "w", "%c0", 1024), args="y")
LX = over("s", "c0", 64, OWN_LX)
KEEP = program(LX, Y, load("a", "s", "%c0", 64), store("a", "w", "%row", 1024), args="y")


def race(**options: Any) -> emulator.Run:
    return emulator.run(parse(RACE), {"y": rows(16)}, **options)


def test_only_on_request() -> None:
    assert race().findings == ()
    with pytest.raises(SanitizerError):
        race(sanitize=True)


def test_blocks_nest() -> None:
    with spyrelab.sanitize() as outer:
        with pytest.raises(SanitizerError):
            race()
        with spyrelab.sanitize(False):
            race()
        with pytest.raises(SanitizerError):
            race()
        emulator.run(parse(COPY), {"x": rows(16), "y": rows(16)})
    race()
    assert (outer.launches, outer.findings) == (1, [])


def test_other_threads_are_not_in_the_block() -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            race()
        except SanitizerError as error:
            caught.append(error)

    with spyrelab.sanitize():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert caught == []


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRELAB_SANITIZE", "1")
    with pytest.raises(SanitizerError):
        race()
    with spyrelab.sanitize(False):
        race()
    monkeypatch.setenv("SPYRELAB_SANITIZE", "0")
    race()
    monkeypatch.setenv("SPYRELAB_SANITIZE", "perhaps")
    with pytest.raises(ArgumentError, match="SPYRELAB_SANITIZE='perhaps'"):
        race()
    with pytest.raises(ArgumentError, match="sanitize='races'"):
        race(sanitize="races")


@pytest.mark.parametrize("threads", [1, 2, None])
def test_findings_do_not_depend_on_threads(threads: int | None) -> None:
    with pytest.raises(SanitizerError) as caught:
        race(sanitize=True, threads=threads)
    (finding,) = caught.value.findings
    assert finding.kind is Kind.WRITE_WRITE
    assert (finding.core, finding.cores) == (0, (0, 1))
    assert str(finding) == str(caught.value)
    assert "inter-tile operation" in finding.message


def test_a_store_outside_changes_nothing() -> None:
    text = program(Y, ones(), store("one", "w", "%row", 1024), cores=3, args="y")
    with DeviceMemory(1 << 20) as device:
        y, behind = device.allocate(2 * 128, "y"), device.allocate(256, "behind")
        device.mark_written(y, 256)
        before = device.bytes[behind : behind + 256].copy()
        with pytest.raises(AccessError, match="behind at") as caught:
            emulator.lower(parse(text)).launch({"y": y}, device, sanitize=True)
        assert (device.bytes[behind : behind + 256] == before).all()
        # The cores before it have done their work.
        assert (device.u16[y // 2 : y // 2 + 128] == 0x3C00).all()
    assert isinstance(caught.value, SanitizerError)
    assert (caught.value.core, caught.value.address) == (2, behind)


def test_a_core_that_stops_leaves_the_others_waiting() -> None:
    base = "%p = arith.addi %x, %c128 : index\n" + over("v", "p", 64)
    text = program(base, on(0, load("a", "v", "%c0", 64)), ones(), send(0, 1), args="x")
    with pytest.raises(SanitizerError, match="lies outside") as caught:
        emulator.run(parse(text), {"x": rows(1)}, sanitize=True)
    assert len(caught.value.findings) == 1


def test_launches_tell_what_they_wrote() -> None:
    program = emulator.lower(parse(COPY))
    with DeviceMemory(1 << 20) as device:
        x, y, z = (device.allocate(256, name) for name in "xyz")
        device.mark_written(x, 256)
        program.launch({"x": x, "y": y}, device, sanitize=True)
        program.launch({"x": y, "y": z}, device, sanitize=True)
        device.free(z)
        z = device.allocate(256, "z")
        with pytest.raises(SanitizerError) as caught:
            program.launch({"x": z, "y": y}, device, sanitize=True)
        assert caught.value.kinds == {Kind.UNWRITTEN}
        program.launch({"x": x, "y": z}, device)
        program.launch({"x": z, "y": y}, device, sanitize=True)


def test_zeroed_memory_is_written() -> None:
    with DeviceMemory(1 << 20) as device:
        x, y = device.allocate(256, "x", zero=True), device.allocate(256, "y")
        emulator.lower(parse(COPY)).launch({"x": x, "y": y}, device, sanitize=True)


def test_scratchpads_keep_nothing() -> None:
    fill = program(LX, ones(), store("one", "s", "%c0", 64), args="y")
    with DeviceMemory(1 << 20) as device:
        y = device.allocate(256, "y", zero=True)
        emulator.lower(parse(fill)).launch({"y": y}, device, sanitize=True)
        with pytest.raises(SanitizerError, match="keeps nothing from one launch") as caught:
            emulator.lower(parse(KEEP)).launch({"y": y}, device, sanitize=True)
    assert caught.value.kinds == {Kind.UNWRITTEN}


def test_seeded_scratchpads_are_written() -> None:
    seeds = {("LX", core, 0): rows(1) for core in range(2)}
    arguments = {"y": rows(16)}
    emulator.run(parse(KEEP), arguments, memory=seeds, sanitize=True)
    with pytest.raises(SanitizerError) as caught:
        emulator.run(parse(KEEP), arguments, memory={("LX", 0, 0): rows(1)}, sanitize=True)
    assert caught.value.findings[0].cores == (1,)


def test_misaligned_rows_are_a_lint() -> None:
    text = program("%at = arith.addi %row, %c32 : index\n", X, load("a", "v", "%at", 1024),
                   args="x")  # fmt: skip
    (finding,) = emulator.run(parse(text), {"x": rows(16)}, sanitize=True).findings
    assert finding.kind is Kind.MISALIGNED
    assert finding.is_lint
    assert "multiple of 128 bytes" in str(finding)


def test_wide_spans_are_a_lint() -> None:
    wide = SPYRE.replace(span_bytes=512)
    text = program(X, load("a", "v", "%c0", 1024, 512), cores=1, args="x")
    (finding,) = emulator.run(parse(text), {"x": rows(16)}, sanitize=True, machine=wide).findings
    assert finding.kind is Kind.SPAN
    assert emulator.run(parse(text), {"x": rows(16)}, sanitize=True).findings == ()


def test_front_end_locations_are_named() -> None:
    text = RACE.replace(
        "ktdp.access_tile<64xindex>\nreturn",
        'ktdp.access_tile<64xindex> loc("kernel.py":12:5)\nreturn',
    )
    with pytest.raises(SanitizerError, match=r"kernel\.py.*12"):
        emulator.run(parse(text), {"y": rows(16)}, sanitize=True)


def test_the_same_results_and_counters() -> None:
    x = np.arange(4, dtype=np.float16)
    plain = emulator.run(parse(copy()), {"x": x, "y": x * 0})
    watched = emulator.run(parse(copy()), {"x": x, "y": x * 0}, sanitize=True)
    assert (plain.outputs["y"] == watched.outputs["y"]).all()
    assert plain.counters == watched.counters


def test_reports_name_every_core() -> None:
    text = program(Y, ones(), store("one", "w", "%c0", 1024), cores=5, args="y")
    with pytest.raises(SanitizerError) as caught:
        emulator.run(parse(text), {"y": rows(16)}, sanitize=True)
    (finding,) = caught.value.findings
    assert finding.cores == (0, 1, 2, 3, 4)
