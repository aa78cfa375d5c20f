"""The sanitizer on single elements of memory: bounds, races, and the order that atomics make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import Kind, SanitizerError
from spyrelab.ktir import F32, I1, I32, Module
from spyrelab.ktir.builder import Builder, Row
from spyrelab.ktir.ir import FileLocation
from spyrelab.machine import DeviceMemory
from tests.emulator.spyrelab_cases import built, loaded, whole_view, zeros

PLACE = FileLocation("kernel.py", 7, 3)


def sanitized(module: Module, **arguments: Any) -> emulator.Run:
    return emulator.run(module, arguments, sanitize=True)


def faults(module: Module, **arguments: Any) -> SanitizerError:
    with pytest.raises(SanitizerError) as caught:
        sanitized(module, **arguments)
    return caught.value


# ---- bounds ------------------------------------------------------------------------------


def touching(what: str, size: int, masked: bool = False, row: Row | None = None) -> Module:
    """An operation at ``at`` through a view of ``size`` elements on ``x``."""
    b = Builder("f")
    x = b.view(b.pointers("x")[0], (size,), F32)
    at = loaded(whole_view(b, "at", (4,), I32))
    mask = at >= 0 if masked else None
    with b.at(PLACE):
        if what == "gather":
            b.gather_elements(x, at, mask, row)
        elif what == "scatter":
            shape = (4,) if row is None else (4, row.extent)
            b.scatter_elements(b.full(shape, 1.0, F32), x, at, mask, row)
        else:
            b.atomic_rmw("fadd", b.full((4,), 1.0, F32), x, at, mask)
    return built(b)


@pytest.mark.parametrize("what", ["gather", "scatter", "atomic"])
def test_offsets_outside_the_view(what: str) -> None:
    at = np.array([0, 5, 16, 3], np.int32)
    error = faults(touching(what, 16), x=zeros(16, F32), at=at)
    assert error.kinds == {Kind.INDEX}
    assert "the offset 16 lies outside the view of x at" in str(error)
    assert error.findings[0].location == PLACE
    assert "kernel.py" in str(error)
    sanitized(touching(what, 16), x=zeros(16, F32), at=at - 1 + (at == 0))


@pytest.mark.parametrize("what", ["gather", "scatter", "atomic"])
def test_a_mask_excuses_offsets(what: str) -> None:
    at = np.array([-1, 5, -7, 15], np.int32)
    sanitized(touching(what, 16, masked=True), x=zeros(16, F32), at=at)
    assert faults(touching(what, 16), x=zeros(16, F32), at=at).kinds == {Kind.INDEX}


@pytest.mark.parametrize("what", ["gather", "scatter"])
def test_rows_that_leave_the_view(what: str) -> None:
    at = np.array([0, 4, 12, 8], np.int32)
    sanitized(touching(what, 16, row=Row(4)), x=zeros(16, F32), at=at)
    error = faults(touching(what, 16, row=Row(5)), x=zeros(16, F32), at=at)
    assert "the offset 16 lies outside" in str(error)


@pytest.mark.parametrize("what", ["gather", "scatter", "atomic"])
def test_a_view_larger_than_its_allocation(what: str) -> None:
    """Inside another live allocation: the pointer says which one is meant."""
    at = np.array([0, 5, 40, 3], np.int32)
    program = emulator.lower(touching(what, 64))
    with DeviceMemory(1 << 20) as device:
        x, other = device.allocate(64, "x"), device.allocate(512, "other")
        places = device.allocate(16, "at")
        assert x + 40 * 4 < other + 512
        device.bytes[places : places + 16] = at.view(np.uint8)
        for address, size in ((x, 64), (other, 512), (places, 16)):
            device.mark_written(address, size)
        with pytest.raises(SanitizerError) as caught:
            program.launch({"x": x, "at": places}, device, sanitize=True)
    assert caught.value.kinds == {Kind.WRONG_ALLOCATION}
    assert caught.value.findings[0].location == PLACE


@pytest.mark.parametrize("what", ["gather", "atomic"])
def test_elements_that_nobody_has_written(what: str) -> None:
    program = emulator.lower(touching(what, 16))
    with DeviceMemory(1 << 20) as device:
        x, at = device.allocate(64, "x"), device.allocate(16, "at")
        device.mark_written(at, 16)
        with pytest.raises(SanitizerError) as caught:
            program.launch({"x": x, "at": at}, device, sanitize=True)
    assert caught.value.kinds == {Kind.UNWRITTEN}


# ---- races -------------------------------------------------------------------------------

Body = Callable[[Builder, Any, Any, Any], None]


def on_cores(body: Body, cores: int = 4) -> Module:
    """``body(builder, core, view of x, view of n)`` on every core."""
    b = Builder("r", grid=(cores,))
    core = b.compute_tile_id()
    x, n = (
        b.view(p, (64,), kind) for p, kind in zip(b.pointers("x", "n"), (F32, I32), strict=True)
    )
    with b.at(PLACE):
        body(b, core, x, n)
    return built(b)


def plain_store(b: Builder, x: Any, place: Any) -> None:
    b.store(b.full((1,), 1.0, F32), x[place])


def add(b: Builder, view: Any, place: Any, number: Any = 1.0) -> Any:
    kind = "fadd" if view.dtype == F32 else "add"
    return b.atomic_rmw(kind, b.constant(number, view.dtype), view, place)


def scatters(b: Builder, core: Any, x: Any, n: Any) -> None:
    b.scatter_elements(b.full((2,), 1.0, F32), x, b.constant_tensor((3, 9), I32))


def gather_against_store(b: Builder, core: Any, x: Any, n: Any) -> None:
    plain_store(b, x, core)
    b.gather_elements(x, b.constant_tensor((0, 1), I32))


def atomic_against_store(b: Builder, core: Any, x: Any, n: Any) -> None:
    with b.if_(core.equals(0)):
        plain_store(b, x, 5)
    with b.if_(core.equals(1)):
        add(b, x, b.constant(5))


def atomic_against_load(b: Builder, core: Any, x: Any, n: Any) -> None:
    with b.if_(core.equals(1)):
        b.load(x[5], (1,))
    with b.if_(core.equals(0)):
        add(b, x, b.constant(5))


def turns_do_not_excuse(b: Builder, core: Any, x: Any, n: Any) -> None:
    """Turns make atomics repeatable; other hardware has no order between programs."""
    b.turn(core)
    plain_store(b, x, 5)
    b.turn_done()


RACES: dict[str, tuple[Body, Kind]] = {
    "scatters": (scatters, Kind.WRITE_WRITE),
    "gather_store": (gather_against_store, Kind.READ_WRITE),
    "atomic_store": (atomic_against_store, Kind.READ_WRITE),
    "atomic_load": (atomic_against_load, Kind.READ_WRITE),
    "turns": (turns_do_not_excuse, Kind.WRITE_WRITE),
}


@pytest.mark.parametrize("name", RACES)
def test_races(name: str) -> None:
    body, kind = RACES[name]
    error = faults(on_cores(body), x=zeros(64, F32), n=zeros(64, I32))
    assert kind in error.kinds
    assert error.kinds <= {Kind.WRITE_WRITE, Kind.READ_WRITE}
    assert error.findings[0].location == PLACE


def own_places(b: Builder, core: Any, x: Any, n: Any) -> None:
    at = b.constant_tensor((0, 1), I32) + (core * 2).to(I32)
    b.scatter_elements(b.full((2,), 1.0, F32), x, at)
    b.gather_elements(x, at)


def atomics_on_one_place(b: Builder, core: Any, x: Any, n: Any) -> None:
    add(b, x, b.constant(5))
    b.atomic_cas(b.constant(0, I32), core.to(I32), n, b.constant(0))


def the_last_one_reads(b: Builder, core: Any, x: Any, n: Any) -> None:
    """Everybody stores a part and counts; the last one reads all parts."""
    plain_store(b, x, core)
    with b.if_(add(b, n, b.constant(0), 1).equals(3)):
        b.load(x[0], (4,))


def across_a_barrier(b: Builder, core: Any, x: Any, n: Any) -> None:
    plain_store(b, x, core)
    b.barrier()
    b.gather_elements(x, b.constant_tensor(range(4), I32))
    b.barrier()
    plain_store(b, x, core)


@pytest.mark.parametrize(
    "body", [own_places, atomics_on_one_place, the_last_one_reads, across_a_barrier]
)
def test_no_races(body: Body) -> None:
    run = sanitized(on_cores(body), x=zeros(64, F32), n=zeros(64, I32))
    assert run.findings == ()


def test_counting_at_another_place_orders_nothing() -> None:
    def body(b: Builder, core: Any, x: Any, n: Any) -> None:
        plain_store(b, x, core)
        with b.if_(add(b, n, core, 1).equals(0)):
            b.load(x[0], (4,))

    error = faults(on_cores(body), x=zeros(64, F32), n=zeros(64, I32))
    assert error.kinds == {Kind.READ_WRITE}


def test_masked_elements_touch_nothing() -> None:
    def body(b: Builder, core: Any, x: Any, n: Any) -> None:
        at = b.constant_tensor((0, 1), I32)
        mask = b.splat(core.equals(0), (2,))
        b.scatter_elements(b.full((2,), 1.0, F32), x, at, mask)
        assert mask.dtype == I1

    sanitized(on_cores(body), x=zeros(64, F32), n=zeros(64, I32))


def test_padding_is_looked_for_around_gathers_too() -> None:
    """The sum over masked elements depends on what they are taken to be."""
    b = Builder("p")
    x = b.view(b.pointers("x")[0], (16,), F32)
    at = loaded(whole_view(b, "at", (4,), I32))
    values = b.gather_elements(x, at, at >= 0)
    total = b.reduce("add", b.exp(values))
    b.store(b.reshape(total, (1,)), b.view(b.pointers("out")[0], (1,), F32)[0])
    arguments = {"x": zeros(16, F32), "at": np.array([-1, 1, 2, 3], np.int32), "out": zeros(1, F32)}
    with pytest.raises(SanitizerError) as caught:
        emulator.run(built(b), arguments, sanitize="padding")
    assert caught.value.kinds == {Kind.PADDING}
