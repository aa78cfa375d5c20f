"""Where what is known about an index must not be believed too far."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import triton
import triton.language as tl

from tests.triton.translated import launch

N = 32


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32).view(shape)


def indices(*shape: int, below: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, below, shape, generator=generator).int()


@triton.jit
def divided(out, start, D: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = start + at
    tl.store(out + at, (value // D) * 100 + value % D)
    tl.store(out + BLOCK + at, (value // D < 1).to(tl.int32) + (value >> 1))


@pytest.mark.parametrize("start", [-40, -16, -3, 0, 5])
@pytest.mark.parametrize("divisor", [1, 3, 4])
def test_division_of_negative_numbers_truncates(start: int, divisor: int) -> None:
    value = start + torch.arange(N)
    whole = torch.div(value, divisor, rounding_mode="trunc")
    expected = torch.stack(
        (whole * 100 + value - whole * divisor, (whole < 1).long() + (value >> 1))
    )
    args = {"out": torch.zeros(2, N, dtype=torch.int32), "start": start}
    assert torch.equal(launch(divided, (1,), args, D=divisor, BLOCK=N)["out"], expected.int())


@triton.jit
def hashed(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mixed = at.to(tl.uint32) * 0x9E3779B1
    tl.store(out + at, tl.load(x + (mixed % 16), mask=(mixed >> 16) < n, other=-1.0))


def test_hashes_overflow() -> None:
    x = numbers(16)
    mixed = (torch.arange(N) * 0x9E3779B1) % (1 << 32)
    expected = torch.where((mixed >> 16) < 40000, x[mixed % 16], -1.0)
    args = {"x": x, "out": torch.zeros(N), "n": 40000}
    assert torch.equal(launch(hashed, (1,), args, BLOCK=N)["out"], expected)


@triton.jit
def narrow(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    small = (at * 16).to(tl.int8)
    tl.store(out + at, small.to(tl.int32) * 2 + (small < 0).to(tl.int32))


def test_narrow_integers_wrap() -> None:
    small = (torch.arange(N) * 16).to(torch.int8).int()
    got = launch(narrow, (1,), {"out": torch.zeros(N, dtype=torch.int32)}, BLOCK=N)["out"]
    assert torch.equal(got, small * 2 + (small < 0).int())


@triton.jit
def pairs(x, i, j, out, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row, column = tl.load(i + at), tl.load(j + at)
    value = tl.load(x + row[:, None] * stride + column[None, :])
    tl.store(out + at[:, None] * BLOCK + at[None, :], value)


def test_rows_and_columns_by_tables() -> None:
    x, i, j = numbers(20, 24), indices(8, below=20), indices(8, below=24)
    args = {"x": x, "i": i, "j": j, "out": torch.zeros(8, 8), "stride": 24}
    kinds = ["box", "box", "indirect", "box"]
    got = launch(pairs, (1,), args, kinds, BLOCK=8)["out"]
    assert torch.equal(got, x[i.long()][:, j.long()])


@triton.jit
def nested(x, outer, inner, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + tl.load(inner + tl.load(outer + at))))


def test_tables_of_tables() -> None:
    x, inner, outer = numbers(20), indices(16, below=20), indices(N, below=16)
    args = {"x": x, "outer": outer, "inner": inner, "out": torch.zeros(N)}
    got = launch(nested, (1,), args, ["box", "indirect", "gather", "box"], BLOCK=N)["out"]
    assert torch.equal(got, x[inner[outer.long()].long()])


@triton.jit
def scaled_index(x, table, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    index = tl.load(table + at, mask=at < n, other=-1)
    value = tl.load(x + index * 2 + 1, mask=index >= 0, other=0.5)
    tl.store(out + at, value)


@pytest.mark.parametrize("n", [0, 5, N])
def test_marks_in_tables(n: int) -> None:
    x, table = numbers(40), indices(N, below=20)
    expected = torch.where(torch.arange(N) < n, x[table.long() * 2 + 1], 0.5)
    args = {"x": x, "table": table, "out": torch.zeros(N), "n": n}
    assert torch.equal(launch(scaled_index, (1,), args, BLOCK=N)["out"], expected)


@triton.jit
def clamped(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    safe = tl.where(at < n, at, 0)
    last = tl.minimum(at, n - 1)
    tl.store(out + at, tl.load(x + safe) * 1000 + tl.load(x + last))


def test_clamped_indices() -> None:
    x, at = numbers(20), torch.arange(N)
    expected = x[torch.where(at < 20, at, 0)] * 1000 + x[at.clamp(max=19)]
    args = {"x": x, "out": torch.zeros(N), "n": 20}
    assert torch.equal(launch(clamped, (1,), args, BLOCK=N)["out"], expected)


@triton.jit
def restarted(x, out, rows, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    line = x + at
    for _ in range(rows):
        pointer = line
        for column in range(0, columns, BLOCK):
            total += tl.load(pointer, mask=column + at < columns, other=0.0)
            pointer += BLOCK
        line += columns
    tl.store(out + at, total)


def test_pointers_that_start_again() -> None:
    x = numbers(5, 40)
    args = {"x": x, "out": torch.zeros(16), "rows": 5, "columns": 40}
    got = launch(restarted, (1,), args, ["box"] * 2, BLOCK=16)["out"]
    padded = torch.nn.functional.pad(x, (0, 8)).view(5, 3, 16)
    assert torch.equal(got, padded.sum((0, 1)))


@triton.jit
def skipping(x, flags, out, steps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    pointer = x + at
    live = at < BLOCK
    total = tl.zeros([BLOCK], tl.float32)
    for step in range(steps):
        if tl.load(flags + step) != 0:
            pointer += BLOCK
            live = live & (at < BLOCK - step)
        else:
            pointer += 1
        total += tl.load(pointer, mask=live, other=0.0)
    tl.store(out + at, total)


def test_pointers_that_move_by_what_was_loaded() -> None:
    x, flags = numbers(200), torch.tensor([1, 0, 0, 1, 1], dtype=torch.int32)
    at, live, place = torch.arange(N), torch.ones(N, dtype=torch.bool), 0
    total = torch.zeros(N)
    for step, flag in enumerate(flags.tolist()):
        place += N if flag else 1
        live &= (at < N - step) if flag else live
        total += torch.where(live, x[place + at], 0.0)
    args = {"x": x, "flags": flags, "out": torch.zeros(N), "steps": 5}
    assert torch.equal(launch(skipping, (1,), args, BLOCK=N)["out"], total)


@triton.jit
def strides_of_nothing(x, out, M, N_, xm, xn, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    inside = (m < M) & (n < N_)
    tl.store(out + m * N_ + n, tl.load(x + m * xm + n * xn, mask=inside, other=-1.0), mask=inside)


@pytest.mark.parametrize(("m", "n"), [(1, 5), (7, 1), (7, 30)])
def test_expanded_tensors(m: int, n: int) -> None:
    x = numbers(m)
    args = {"x": x, "out": torch.zeros(m, n), "M": m, "N_": n, "xm": 1, "xn": 0}
    got = launch(strides_of_nothing, (1,), args, ["box"] * 2, BM=8, BN=32)["out"]
    assert torch.equal(got, x[:, None].expand(m, n))


@triton.jit
def behind(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at <= n), other=0.0)
    right = tl.load(x + (at + 1), mask=at + 1 < n, other=0.0)
    tl.store(out + at, left + right, mask=at < n)


@pytest.mark.parametrize("n", [1, 2, 17, N])
def test_neighbours(n: int) -> None:
    x = numbers(n)
    padded = torch.nn.functional.pad(x, (1, 1))
    args = {"x": x, "out": torch.zeros(n), "n": n}
    got = launch(behind, (1,), args, ["box"] * 3, BLOCK=N)["out"]
    assert torch.equal(got, padded[:-2] + padded[2:])


@triton.jit
def four(x, out, A, B, C, D, S: tl.constexpr):
    a, b = tl.arange(0, 2)[:, None, None, None], tl.arange(0, 4)[None, :, None, None]
    c, d = tl.arange(0, 4)[None, None, :, None], tl.arange(0, S)[None, None, None, :]
    inside = (a < A) & (b < B) & (c < C) & (d < D)
    at = ((a * B + b) * C + c) * D + d
    value = tl.load(x + at, mask=inside, other=0.0)
    back = ((d * C + c) * B + b) * A + a
    tl.store(out + back, tl.sum(value, 1)[:, None] * 0 + value, mask=inside)


def test_four_axes() -> None:
    x = numbers(2, 3, 4, 5)
    args = {"x": x, "out": torch.zeros(5, 4, 3, 2), "A": 2, "B": 3, "C": 4, "D": 5}
    got = launch(four, (1,), args, ["box"] * 2, S=8)["out"]
    assert torch.equal(got, x.permute(3, 2, 1, 0))


@triton.jit
def lengths(x, starts, out, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    begin = tl.load(starts + i, mask=i < n, other=0)
    end = tl.load(starts + i + 1, mask=i < n, other=0)
    inside = j[None, :] < (end - begin)[:, None]
    value = tl.load(x + begin[:, None] + j[None, :], mask=inside, other=0.0)
    tl.store(out + i, tl.sum(value, 1), mask=i < n)


def test_ragged_rows() -> None:
    x, starts = numbers(40), torch.tensor([0, 3, 3, 20, 40], dtype=torch.int32)
    args = {"x": x, "starts": starts, "out": torch.zeros(4), "n": 4}
    got = launch(lengths, (1,), args, ROWS=8, BLOCK=N)["out"]
    assert got.tolist() == [x[a:b].sum().item() for a, b in pairwise(starts.tolist())]


@triton.jit
def truths(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    flag = tl.load(x + at)
    tl.store(out + at, ~flag & (at > 3))
    tl.store(out + BLOCK + at, tl.where(flag, at % 2 == 0, at < 5))


def test_truth_values() -> None:
    x, at = indices(N, below=2).bool(), torch.arange(N)
    args = {"x": x, "out": torch.zeros(2, N, dtype=torch.bool)}
    got = launch(truths, (1,), args, BLOCK=N)["out"]
    expected = torch.stack((~x & (at > 3), torch.where(x, at % 2 == 0, at < 5)))
    assert torch.equal(got, expected)


@triton.jit
def wide(x, out, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    value = tl.load(x + at * stride, mask=at < n)
    tl.store(out + at, value, mask=at < n)


def test_offsets_of_64_bits() -> None:
    x = numbers(90, 3)
    args = {"x": x, "out": torch.zeros(90), "n": 90, "stride": 3}
    assert torch.equal(launch(wide, (3,), args, ["box"] * 2, BLOCK=32)["out"], x[:, 0])


@triton.jit
def in_place(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for step in range(3):
        value = tl.load(x + at, mask=at < n, other=0.0)
        tl.store(x + at, value * 2 + step, mask=at < n)


def test_loads_see_earlier_stores() -> None:
    x = numbers(20)
    got = launch(in_place, (1,), {"x": x, "n": 20}, BLOCK=N)["x"]
    assert torch.equal(got, ((x * 2) * 2 + 1) * 2 + 2)


@triton.jit
def tuples(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    parts = ()
    for number in tl.static_range(3):
        parts = parts + (tl.load(x + number * BLOCK + at),)  # noqa: RUF005
    total = tl.zeros([BLOCK], tl.float32)
    for number in tl.static_range(3):
        total += parts[number] * (number + 1)
    tl.store(out + at, total)


def test_tuples() -> None:
    x = numbers(3, N)
    got = launch(tuples, (1,), {"x": x, "out": torch.zeros(N)}, ["box"] * 2, BLOCK=N)["out"]
    assert torch.equal(got, x[0] + 2 * x[1] + 3 * x[2])
