"""Atomics, order, scans and prints: every engine computes the same, and what it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import AssertionFailedError, DeadlockError, UnsupportedError
from spyrelab.emulator.formats import decode, encode, round_to, storage_dtype
from spyrelab.errors import SpyreLabError
from spyrelab.ktir import F16, F32, I1, I32, I64, INDEX, Module, ScalarType
from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import CallSiteLocation, FileLocation
from tests.emulator.spyrelab_cases import (
    FLOATS,
    agreed,
    built,
    kept,
    loaded,
    values,
    whole_view,
    zeros,
)

SIZES = (1, 3, 63, 64, 65, 127)
RNG = np.random.default_rng(11)


# ---- atomics -----------------------------------------------------------------------------


def atomics(kind: str, n: int, element: ScalarType, cores: int = 4) -> Module:
    """Every core adds its own row to a few places, in the order of the cores."""
    b = Builder("a", grid=(cores,))
    core = b.compute_tile_id()
    x = b.view(b.pointers("x")[0], (8,), element)
    y, at, old = (
        b.view(b.pointers(name)[0], (cores, n), dtype)
        for name, dtype in (("y", element), ("at", I32), ("old", element))
    )
    given = b.reshape(b.load(y[core, 0], (1, n)), (n,))
    places = b.reshape(b.load(at[core, 0], (1, n)), (n,))
    b.turn(core)
    before = b.atomic_rmw(kind, given, x, places, places.differs(3))
    b.turn_done()
    b.store(b.reshape(before, (1, n)), old[core, 0])
    return built(b)


def folded(kind: str, old: Any, new: Any, dtype: Any) -> Any:
    unsigned = np.dtype(dtype.str.replace("i", "u"))
    with np.errstate(over="ignore"):
        return {
            "add": lambda: np.add(old, new, dtype=dtype),
            "and": lambda: old & new,
            "or": lambda: old | new,
            "xor": lambda: old ^ new,
            "max": lambda: max(old, new),
            "min": lambda: min(old, new),
            "umax": lambda: max(old, new, key=lambda v: int(v.astype(unsigned))),
            "umin": lambda: min(old, new, key=lambda v: int(v.astype(unsigned))),
            "xchg": lambda: new,
        }[kind]()


@pytest.mark.parametrize("element", [I32, I64], ids=str)
@pytest.mark.parametrize("kind", ["add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg"])
def test_whole_atomics_in_program_order(kind: str, element: ScalarType) -> None:
    y, at = values(RNG, (4, 9), element), RNG.integers(-1, 9, (4, 9)).astype(np.int32)
    x = values(RNG, 8, element)
    if element == I32:
        y[0, 0], at[0, 0], x[at[0, 0]] = 2**31 - 1, 0, 2**31 - 1  # an add that wraps
    found = agreed(atomics(kind, 9, element), x=x, y=y, at=at, old=zeros((4, 9), element))
    memory, before = x.copy(), zeros((4, 9), element)
    for place in np.ndindex(4, 9):
        if 0 <= at[place] < 8 and at[place] != 3:
            before[place] = memory[at[place]]
            memory[at[place]] = folded(kind, before[place], y[place], x.dtype)
    assert np.array_equal(found["x"], memory)
    assert np.array_equal(found["old"], before)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_float_sums_round_one_by_one(element: ScalarType, n: int) -> None:
    y, at = values(RNG, (4, n), element), RNG.integers(0, 8, (4, n)).astype(np.int32)
    found = agreed(
        atomics("fadd", n, element), x=zeros(8, element), y=y, at=at, old=zeros((4, n), element)
    )
    given = decode(y.view(storage_dtype(element)), element)
    memory = np.zeros(8, np.float32)
    for place in np.ndindex(4, n):
        if at[place] != 3:
            memory[at[place]] = round_to(memory[at[place]] + given[place], element)
    assert found["x"].tobytes() == encode(memory, element).tobytes()


def test_compare_and_swap() -> None:
    b = Builder("c", grid=(4,))
    core = b.compute_tile_id()
    lock = b.view(b.pointers("lock")[0], (1,), I32)
    seen = b.view(b.pointers("seen")[0], (4,), I32)
    b.turn(core)
    mine = core.to(I32) + 1
    old = b.atomic_cas(b.constant(0, I32), mine, lock, b.constant(0))
    b.turn_done()
    b.store(b.splat(old, (1,)), seen[core])
    found = agreed(built(b), lock=zeros(1, I32), seen=zeros(4, I32))
    assert found["lock"].tolist() == [1]
    assert found["seen"].tolist() == [0, 1, 1, 1]


def test_the_null_engine_refuses_what_hangs_on_an_atomic() -> None:
    """A queue of work: without writes the counter would stand still for ever."""
    b = Builder("q", grid=(4,))
    out = b.view(b.pointers("out")[0], (64,), F32)
    n = b.view(b.pointers("n")[0], (1,), I32)
    ticket = b.atomic_rmw("add", b.constant(1, I32), n, b.constant(0))
    with b.if_(ticket < 3):
        b.store(b.full((1,), 1.0, F32), out[ticket.to(INDEX)])
    module = built(b)
    arguments = {"out": zeros(64, F32), "n": zeros(1, I32)}
    for engine in ("reference", "vm"):
        found = emulator.run(module, arguments, engine=engine).outputs
        assert found["out"][:4].tolist() == [1, 1, 1, 0]
    with pytest.raises(UnsupportedError, match="atomic"):
        emulator.run(module, arguments, engine="null")


def test_programs_take_turns_whatever_core_they_run_on() -> None:
    """24 programs on 8 cores; a sum in f32 depends on its order."""
    b = Builder("t", grid=(8,))
    core = b.compute_tile_id()
    total = b.view(b.pointers("total")[0], (1,), F32)
    given, seen = whole_view(b, "given", (24,), F32), whole_view(b, "seen", (24,), F32)
    with b.loop(core, 24, 8) as program:
        b.turn(program)
        value = b.load(given[program], (1,)).item(0)
        old = b.atomic_rmw("fadd", value, total, b.constant(0))
        b.turn_done()
        b.store(b.splat(old, (1,)), seen[program])
    numbers = values(RNG, 24, F32) * np.float32(1.1)
    found = agreed(built(b), total=zeros(1, F32), given=numbers, seen=zeros(24, F32))
    sums = np.concatenate([[np.float32(0)], np.add.accumulate(numbers, dtype=np.float32)])
    assert np.array_equal(found["seen"], sums[:-1])
    assert found["total"][0] == sums[-1]


def test_a_turn_that_never_comes() -> None:
    b = Builder("t", grid=(2,))
    b.turn(3)
    b.turn_done()
    module = built(b)
    for engine in ("reference", "vm", "null"):
        with pytest.raises(DeadlockError, match="turn"):
            emulator.run(module, {}, engine=engine)


# ---- barrier -----------------------------------------------------------------------------


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_after_a_barrier_everybody_sees_what_was_stored(cores: int) -> None:
    b = Builder("b", grid=(cores,))
    core = b.compute_tile_id()
    shared, out = (b.view(p, (cores,), F32) for p in b.pointers("shared", "out"))
    with b.loop(0, 3) as phase:
        own = b.splat((core + phase).to(F32), (1,))
        b.store(own, shared[core])
        b.barrier()
        total = b.reshape(b.reduce("add", b.load(shared[0], (cores,))), ())
        b.barrier()
        b.store(b.splat(total.item(), (1,)), out[core])
    found = agreed(built(b), shared=zeros(cores, F32), out=zeros(cores, F32))
    assert found["out"].tolist() == [sum(core + 2 for core in range(cores))] * cores


def test_a_barrier_that_not_everybody_reaches() -> None:
    b = Builder("b", grid=(3,))
    with b.if_(b.compute_tile_id().differs(1)):
        b.barrier()
    module = built(b)
    for engine in ("reference", "vm", "null"):
        with pytest.raises(DeadlockError, match="barrier"):
            emulator.run(module, {}, engine=engine)


# ---- scan, take, histogram ---------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_scans_along_every_axis(n: int, reverse: bool) -> None:
    for axis in range(3):
        shape = tuple(n if d == axis else 2 + d for d in range(3))
        b = Builder("s")
        x, out = whole_view(b, "x", shape, I32), whole_view(b, "out", shape, I32)
        kept(b.scan(loaded(x), axis, "add", reverse), out)
        data = values(RNG, shape, I32)
        found = agreed(built(b), x=data, out=zeros(shape, I32))["out"]
        wanted = np.flip(data, axis) if reverse else data
        wanted = np.cumsum(wanted, axis, dtype=np.int32)
        assert np.array_equal(found, np.flip(wanted, axis) if reverse else wanted)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_a_scan_rounds_every_sum(kind: ScalarType) -> None:
    b = Builder("s")
    x, out = whole_view(b, "x", (37,), kind), whole_view(b, "out", (37,), kind)
    kept(b.scan(loaded(x), 0), out)
    data = values(RNG, 37, kind)
    found = agreed(built(b), x=data, out=zeros(37, kind))["out"]
    wanted = decode(data.view(storage_dtype(kind)), kind)
    for distance in (1, 2, 4, 8, 16, 32):
        wanted = np.concatenate(
            [wanted[:distance], round_to(wanted[:-distance] + wanted[distance:], kind)]
        )
    assert found.tobytes() == encode(wanted, kind).tobytes()


def test_a_scan_of_two_tensors_that_hands_one_through() -> None:
    """A running maximum with its place, and a body that yields an argument as it is."""
    b = Builder("s")
    x, top, place, last = (
        whole_view(b, name, (2, 50), kind)
        for name, kind in (("x", F32), ("top", F32), ("place", I32), ("last", I32))
    )
    numbers = loaded(whole_view(b, "n", (2, 50), I32))

    def larger(a: Any, i: Any, c: Any, j: Any) -> Any:
        holds = a >= c
        return b.select(holds, a, c), b.select(holds, i, j)

    best, where = b.scan([loaded(x), numbers], 1, larger)
    kept(best, top)
    kept(where, place)
    kept(b.scan(numbers, 1, lambda before, own: before), last)
    data = values(RNG, (2, 50), F32)
    count = np.broadcast_to(np.arange(50, dtype=np.int32), (2, 50)).copy()
    room = {"top": zeros((2, 50), F32), "place": zeros((2, 50), I32), "last": zeros((2, 50), I32)}
    found = agreed(built(b), x=data, n=count, **room)
    assert np.array_equal(found["top"], np.maximum.accumulate(data, 1))
    assert np.array_equal(np.take_along_axis(data, found["place"], 1), found["top"])
    assert not found["last"].any()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", SIZES)
def test_take_along_an_axis(n: int, axis: int) -> None:
    source = (n, 5) if axis == 0 else (5, n)
    wanted = (9, 5) if axis == 0 else (5, 9)
    b = Builder("t")
    x, at = whole_view(b, "x", source, F16), whole_view(b, "at", wanted, I32)
    kept(b.take(loaded(x), loaded(at), axis), whole_view(b, "out", wanted, F16))
    data, places = values(RNG, source, F16), RNG.integers(0, n, wanted).astype(np.int32)
    found = agreed(built(b), x=data, at=places, out=zeros(wanted, F16))["out"]
    assert np.array_equal(found, np.take_along_axis(data, places, axis))


def test_a_take_beyond_the_tensor_is_an_error() -> None:
    b = Builder("t")
    x, at = whole_view(b, "x", (4,), F16), whole_view(b, "at", (2,), I32)
    kept(b.take(loaded(x), loaded(at), 0), whole_view(b, "out", (2,), F16))
    module = built(b)
    arguments = {"x": zeros(4, F16), "at": np.array([0, 4], np.int32), "out": zeros(2, F16)}
    for engine in ("reference", "vm"):
        with pytest.raises(SpyreLabError, match="4"):
            emulator.run(module, arguments, engine=engine)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_histogram(n: int, masked: bool) -> None:
    b = Builder("h")
    x = loaded(whole_view(b, "x", (n,), I32))
    mask = {"mask": values(RNG, n, I1)} if masked else {}
    some = loaded(whole_view(b, "mask", (n,), I1)) if masked else None
    kept(b.histogram(x, 12, some), whole_view(b, "out", (12,), I32))
    data = RNG.integers(-3, 15, n).astype(np.int32)
    found = agreed(built(b), x=data, out=zeros(12, I32), **mask)["out"]
    counted = data[mask["mask"]] if masked else data
    counted = counted[(counted >= 0) & (counted < 12)]
    assert np.array_equal(found, np.bincount(counted, minlength=12))


# ---- print and assert --------------------------------------------------------------------


def test_prints_come_program_by_program(capsys: pytest.CaptureFixture[str]) -> None:
    b = Builder("p", grid=(3,))
    core = b.compute_tile_id()
    x = b.view(b.pointers("x")[0], (3, 2), F32)
    row = b.reshape(b.load(x[core, 0], (1, 2)), (2,))
    b.print_("x", row, program=(core, core * 0, core * 0))
    b.barrier()
    b.print_("n", (core - 1).to(I32), hex=True)
    b.print_("both", row.item(0), (core - 1).to(I32), unsigned=(1,))
    b.print_("end")
    module = built(b)
    data = np.array([[0, 0.5], [1, 0.1], [2, -3]], np.float32)
    wanted = []
    for core in range(3):
        number = (core - 1) % 2**32
        wanted += [
            *(f"pid ({core}, 0, 0) idx ({i}) x: {v!s}" for i, v in enumerate(data[core])),
            f"core {core} n: 0x{number:08x}",
            f"core {core} both: (operand 0) {float(core)}",
            f"core {core} both: (operand 1) {number}",
            f"core {core} end",
        ]
    for engine, threads in (("reference", 1), ("vm", 1), ("vm", 2)):
        emulator.run(module, {"x": data}, engine=engine, threads=threads)
        assert capsys.readouterr().out.splitlines() == wanted
    emulator.run(module, {"x": data}, engine="null")
    assert capsys.readouterr().out == ""


def test_what_was_printed_before_an_assertion_is_seen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    b = Builder("p", grid=(2,))
    core = b.compute_tile_id()
    b.print_("here", core.to(I32))
    b.assert_(core < 1, "the second core")
    module = built(b)
    for engine in ("reference", "vm"):
        with pytest.raises(AssertionFailedError, match="the second core"):
            emulator.run(module, {}, engine=engine, threads=1)
        assert capsys.readouterr().out.splitlines() == ["core 0 here: 0", "core 1 here: 1"]


def test_assertions_name_their_place() -> None:
    b = Builder("f", grid=(2,))
    x = loaded(whole_view(b, "x", (5,), I32))
    place = CallSiteLocation(FileLocation("inner.py", 3, 1), FileLocation("kernel.py", 9, 5))
    with b.at(place):
        b.assert_(x < 4, "x is too large")
    module = built(b)
    emulator.run(module, {"x": np.arange(5, dtype=np.int32) - 1}, engine="vm")
    for engine in ("reference", "vm"):
        with pytest.raises(AssertionFailedError, match="x is too large") as caught:
            emulator.run(module, {"x": np.arange(5, dtype=np.int32)}, engine=engine)
        assert "inner.py:3, called at kernel.py:9" in str(caught.value)
        assert caught.value.location == place
    emulator.run(module, {"x": np.arange(5, dtype=np.int32)}, engine="null")
