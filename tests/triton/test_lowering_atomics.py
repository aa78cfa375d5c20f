"""Atomics in the order of programs, barriers, prints, assertions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from spyrelab.emulator.errors import AssertionFailedError
from tests.triton.translated import launch, run_translation, translate_kernel

N = 32


@triton.jit
def update(target, x, old, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + at)
    inside = at < n
    place = target + at % 8
    if KIND == "add":
        before = tl.atomic_add(place, value, mask=inside)
    elif KIND == "max":
        before = tl.atomic_max(place, value, mask=inside)
    elif KIND == "min":
        before = tl.atomic_min(place, value, mask=inside)
    elif KIND == "and":
        before = tl.atomic_and(place, value, mask=inside)
    elif KIND == "or":
        before = tl.atomic_or(place, value, mask=inside)
    elif KIND == "xor":
        before = tl.atomic_xor(place, value, mask=inside)
    else:
        before = tl.atomic_xchg(place, value, mask=inside)
    tl.store(old + tl.program_id(0) * BLOCK + at, before)


COMBINE: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "max": max,
    "min": min,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "xchg": lambda a, b: b,
}


OF_FLOATS = ("add", "max", "min", "xchg")
"""Bits of floats have no and, or, xor."""


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, dtype) for kind in COMBINE for dtype in (torch.int32, torch.int64)]
    + [(kind, torch.float32) for kind in OF_FLOATS],
)
def test_read_modify_write(kind: str, dtype: torch.dtype) -> None:
    x = torch.randint(-50, 50, (40, N)).to(dtype)
    start = torch.randint(-50, 50, (8,)).to(dtype)
    args = {"target": start, "x": x, "old": torch.zeros_like(x), "n": 20}
    got = launch(update, (40,), args, sanitize=False, KIND=kind, BLOCK=N)
    held, old = start.tolist(), torch.zeros_like(x)
    for program in range(40):
        for lane in range(20):
            value, place = x[program, lane].item(), lane % 8
            old[program, lane] = held[place]
            held[place] = COMBINE[kind](held[place], value)
    assert got["target"].tolist() == held
    if kind not in ("max", "min") or not dtype.is_floating_point:
        assert torch.equal(got["old"], old)


@triton.jit
def tickets(counter, order, turns):
    for _ in range(turns):
        ticket = tl.atomic_add(counter, 1)
        tl.store(order + ticket, tl.program_id(0))


def test_programs_take_turns() -> None:
    args = {
        "counter": torch.zeros(1, dtype=torch.int32),
        "order": torch.zeros(80, dtype=torch.int32),
        "turns": 2,
    }
    got = launch(tickets, (40,), args, sanitize=False)["order"]
    assert torch.equal(got, torch.arange(40, dtype=torch.int32).repeat_interleave(2))


@triton.jit
def swap(target, out):
    program = tl.program_id(0)
    before = tl.atomic_cas(target, program, program + 1)
    tl.store(out + program, before)


def test_compare_and_swap() -> None:
    args = {"target": torch.zeros(1, dtype=torch.int32), "out": torch.zeros(5, dtype=torch.int32)}
    got = launch(swap, (5,), args, sanitize=False)
    assert got["target"].item() == 5
    assert got["out"].tolist() == [0, 1, 2, 3, 4]


@triton.jit(noinline=True)
def wait_x_grid_barrier(semaphore):
    tl.atomic_add(semaphore, 1)


@triton.jit
def phases(x, parts, out, semaphore, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(parts + program, tl.sum(tl.load(x + program * BLOCK + at), 0))
    wait_x_grid_barrier(semaphore)
    others = tl.load(parts + tl.arange(0, 8))
    tl.store(out + program, tl.sum(others, 0))


def test_grid_barrier() -> None:
    x = torch.arange(128.0)
    args = {"x": x, "parts": torch.zeros(8), "out": torch.zeros(8)}
    args["semaphore"] = torch.zeros(1, dtype=torch.int32)
    assert translate_kernel(phases, args, BLOCK=16).barriers == 1
    got = launch(phases, (8,), args, sanitize=False, BLOCK=16)["out"]
    assert got.tolist() == [x.sum().item()] * 8


@triton.jit
def spoken(x, n, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    tl.device_print("value", value, n)


def test_device_print(capfd: pytest.CaptureFixture[str]) -> None:
    args = {"x": torch.tensor([1.5, 2.5]), "n": 7}
    translation = translate_kernel(spoken, args, BLOCK=2)
    run_translation(spoken, translation, (1,), args, constants=("BLOCK",))
    text = capfd.readouterr().out
    assert "value" in text
    assert "2.5" in text
    assert "7" in text


@triton.jit
def checked(x, out, limit, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.device_assert(value < limit, "too large")
    tl.static_assert(BLOCK > 1)
    tl.assume(limit > 0)
    tl.debug_barrier()
    tl.store(out + at, value)


def test_device_assert() -> None:
    args = {"x": torch.arange(8.0), "out": torch.zeros(8), "limit": 8}
    assert torch.equal(launch(checked, (1,), args, BLOCK=8)["out"], args["x"])
    translation = translate_kernel(checked, args, options={"debug": True}, BLOCK=8)
    run_translation(checked, translation, (1,), args, constants=("BLOCK",))
    with pytest.raises(AssertionFailedError, match="too large"):
        run_translation(checked, translation, (1,), args | {"limit": 5}, constants=("BLOCK",))
