"""Loops, branches, early returns, calls."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from tests.triton.translated import launch, translate_kernel


@triton.jit
def early(x, out, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    if program >= n:
        return
    at = program * BLOCK + tl.arange(0, BLOCK)
    if program == 1:
        tl.store(out + at, tl.zeros([BLOCK], tl.float32))
        return
    tl.store(out + at, tl.load(x + at))


def test_early_return() -> None:
    x = torch.arange(64.0)
    got = launch(early, (4,), {"x": x, "out": torch.ones(64), "n": 3}, BLOCK=16)["out"]
    expected = x.clone()
    expected[16:32], expected[48:] = 0, 1
    assert torch.equal(got, expected)


@triton.jit
def search(sorted_values, out, n, value):
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if tl.load(sorted_values + middle) <= value:
            low = middle + 1
        else:
            high = middle
    tl.store(out, low)


@pytest.mark.parametrize("value", [-1, 0, 10, 25, 60])
def test_binary_search(value: int) -> None:
    values = torch.randint(0, 50, (40,), dtype=torch.int32).sort().values
    args = {"sorted_values": values, "out": torch.zeros(1, dtype=torch.int32), "n": 40}
    got = launch(search, (1,), args | {"value": value})["out"]
    assert got.item() == int((values <= value).sum())


@triton.jit
def grid(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + at, x + 100 * y + 10000 * z)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 1, 1), (3, 4, 5), (40, 2, 1), (1, 33, 2)])
def test_programs_of_a_grid(shape: tuple[int, int, int]) -> None:
    gx, gy, gz = shape
    x, y, z = torch.arange(gx), torch.arange(gy)[:, None], torch.arange(gz)[:, None, None]
    got = launch(grid, shape, {"out": torch.zeros(gz, gy, gx, dtype=torch.int32)})["out"]
    assert torch.equal(got, (x + 100 * y + 10000 * z).int())


@triton.jit
def carried(x, out, steps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    pointer = x + at
    offset = at
    total = tl.zeros([BLOCK], tl.float32)
    count = tl.zeros([BLOCK], tl.int32)
    for _ in range(steps):
        total += tl.load(pointer) + tl.load(x + offset)
        pointer += BLOCK
        offset += BLOCK
        count += at
    tl.store(out + at, total + count)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_carried_pointers_stay_boxes(steps: int) -> None:
    x = torch.arange(48.0)
    args = {"x": x, "out": torch.zeros(16), "steps": steps}
    got = launch(carried, (1,), args, ["box"] * 3, BLOCK=16)["out"]
    at = torch.arange(16.0)
    assert torch.equal(got, 2 * x.view(3, 16)[:steps].sum(0) + steps * at)


@triton.jit
def walked(x, out, stop, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    pointer, total, left = x + at, tl.zeros([BLOCK], tl.float32), stop
    while left > 0:
        value = tl.load(pointer, mask=at < left, other=0.0)
        total += value
        pointer += BLOCK
        left -= tl.load(x).to(tl.int32)
    tl.store(out + at, total + tl.load(pointer))


@pytest.mark.parametrize("stop", [0, 9, 33])
def test_pointers_of_while_loops_stay_boxes(stop: int) -> None:
    x = torch.arange(10.0, 90.0)
    args = {"x": x, "out": torch.zeros(16), "stop": stop}
    got = launch(walked, (1,), args, ["box"] * 4, BLOCK=16)["out"]
    total, place, left, at = torch.zeros(16), 0, stop, torch.arange(16)
    while left > 0:
        total += torch.where(at < left, x[place + at], 0.0)
        place, left = place + 16, left - 10
    assert torch.equal(got, total + x[place + at])


@triton.jit
def chased(following, out, steps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for _ in range(steps):
        at = tl.load(following + at)
    tl.store(out + tl.arange(0, BLOCK), at)


def test_offsets_that_change_their_form() -> None:
    following = torch.randperm(32, dtype=torch.int32)
    args = {"following": following, "out": torch.zeros(32, dtype=torch.int32), "steps": 3}
    got = launch(chased, (1,), args, BLOCK=32)["out"]
    assert torch.equal(got, following[following[following.long()].long()])


@triton.jit
def swapped(x, y, steps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    source, target = x, y
    for _ in range(steps):
        tl.store(target + at, tl.load(source + at) + 1)
        source, target = target, source


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_pointers_that_swap(steps: int) -> None:
    args = {"x": torch.arange(16.0), "y": torch.zeros(16), "steps": steps}
    got = launch(swapped, (1,), args, sanitize=False, BLOCK=16)
    newest = got["y"] if steps % 2 else got["x"]
    assert torch.equal(newest, torch.arange(16.0) + steps)


@triton.jit
def branched(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    base = 0
    mask = at < BLOCK
    if n > 3:
        offset = at + n
        base = 2
        mask = at < n
    else:
        offset = at + 1
    tl.store(out + at, tl.load(x + offset, mask=mask, other=0.0) + base)


@pytest.mark.parametrize("n", [0, 3, 4, 10])
def test_branches_join_sums(n: int) -> None:
    x, at = torch.arange(64.0), torch.arange(16)
    got = launch(branched, (1,), {"x": x, "out": torch.zeros(16), "n": n}, BLOCK=16)["out"]
    expected = torch.where(at < n, x[at + n], 0.0) + 2 if n > 3 else x[at + 1]
    assert torch.equal(got, expected)


@triton.jit(noinline=True)
def collatz(value, limit):
    steps = 0
    while (value != 1) & (steps < limit):
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    if steps == limit:
        return -1
    return steps


@triton.jit
def calls(x, out, limit):
    at = tl.program_id(0)
    tl.store(out + at, collatz(tl.load(x + at), limit))


def test_functions_out_of_line() -> None:
    x = torch.tensor([1, 2, 3, 7, 27], dtype=torch.int32)
    args = {"x": x, "out": torch.zeros(5, dtype=torch.int32), "limit": 50}
    assert launch(calls, (5,), args)["out"].tolist() == [0, 1, 7, 16, -1]


@triton.jit
def stepped(value):
    if value > 10:
        return value - 10
    if value < 3:
        return value + 5
    return value * 2


@triton.jit
def chained(x, out):
    at = tl.program_id(0)
    value = tl.load(x + at)
    for _ in tl.static_range(12):
        value = stepped(value)
    tl.store(out + at, value)


def test_sides_that_meet_again_are_lowered_once() -> None:
    x = torch.tensor([1, 4, 17, 30], dtype=torch.int32)
    expected = x.tolist()
    for _ in range(12):
        expected = [v - 10 if v > 10 else v + 5 if v < 3 else v * 2 for v in expected]
    args = {"x": x, "out": torch.zeros(4, dtype=torch.int32)}
    assert str(translate_kernel(chained, args).module).count("scf.if") <= 24
    assert launch(chained, (4,), args)["out"].tolist() == expected


@triton.jit
def hinted(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=3):
        total += tl.load(x + start + tl.arange(0, BLOCK))
    tl.store(out + tl.arange(0, BLOCK), total)


def test_hints_stay_with_the_loop() -> None:
    args = {"x": torch.ones(64), "out": torch.zeros(16), "n": 64}
    module = translate_kernel(hinted, args, BLOCK=16).module
    assert "spyrelab.num_stages = 3" in str(module)
    assert launch(hinted, (1,), args, BLOCK=16)["out"].tolist() == [4.0] * 16


@triton.jit
def downward(x, out, n):
    total = 0.0
    for i in range(n - 1, -1, -2):
        total = total * 2 + tl.load(x + i)
    tl.store(out, total)


def test_loops_that_count_down() -> None:
    x = torch.arange(9.0)
    expected = 0.0
    for i in range(8, -1, -2):
        expected = expected * 2 + x[i].item()
    assert launch(downward, (1,), {"x": x, "out": torch.zeros(1), "n": 9})["out"].item() == expected


@triton.jit
def locked(lock, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) * 2 + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


def test_locks_are_free_in_the_order_of_programs() -> None:
    x = torch.arange(1.0, 8.0)
    args = {"lock": torch.zeros(1, dtype=torch.int32), "total": torch.zeros(1), "x": x}
    expected = 0.0
    for value in x.tolist():
        expected = expected * 2 + value
    assert launch(locked, (7,), args, sanitize=False)["total"].item() == expected
