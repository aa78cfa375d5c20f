"""Masks become sizes of views; what cannot is computed, element by element."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from tests.triton.translated import launch

N = 64


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32).view(shape)


@triton.jit
def between(x, out, low, high, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = (at >= low) & (at < high)
    tl.store(out + at, tl.load(x + at, mask=inside, other=7.0))


@pytest.mark.parametrize(
    ("low", "high"), [(0, N), (5, 20), (-3, 70), (30, 30), (70, 80), (40, 20), (-9, -2)]
)
def test_both_bounds(low: int, high: int) -> None:
    x = numbers(N)
    expected = torch.full((N,), 7.0)
    kept = slice(max(low, 0), max(min(high, N), 0))
    expected[kept] = x[kept]
    args = {"x": x, "out": torch.zeros(N), "low": low, "high": high}
    assert torch.equal(launch(between, (1,), args, ["box"] * 2, BLOCK=N)["out"], expected)


@triton.jit
def stored(x, out, low, high, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=(low <= at) & (at <= high))


@pytest.mark.parametrize(("low", "high"), [(0, N - 1), (5, 20), (30, 29), (-5, 100)])
def test_stores_outside_the_mask_are_dropped(low: int, high: int) -> None:
    x = numbers(N)
    expected = torch.zeros(N)
    kept = slice(max(low, 0), max(min(high + 1, N), 0))
    expected[kept] = x[kept]
    args = {"x": x, "out": torch.zeros(N), "low": low, "high": high}
    assert torch.equal(launch(stored, (1,), args, ["box"] * 2, BLOCK=N)["out"], expected)


@triton.jit
def compared(x, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if KIND == "less":
        inside = at * 3 < n
    elif KIND == "at_most":
        inside = n >= at + at
    elif KIND == "reversed":
        inside = n - at > 10
    elif KIND == "equal":
        inside = at == n
    elif KIND == "quotient":
        inside = at // 4 < n
    elif KIND == "quotient_from":
        inside = at // 4 >= n
    elif KIND == "scalar":
        inside = (at < 40) & (n > 8)
    else:
        inside = (at < BLOCK) & (at != n)
    tl.store(out + at, tl.load(x + at, mask=inside, other=-1.0))


KINDS = {
    "less": lambda at, n: at * 3 < n,
    "at_most": lambda at, n: n >= 2 * at,
    "reversed": lambda at, n: n - at > 10,
    "equal": lambda at, n: at == n,
    "quotient": lambda at, n: at // 4 < n,
    "quotient_from": lambda at, n: at // 4 >= n,
    "scalar": lambda at, n: (at < 40) & (n > 8),
    "unequal": lambda at, n: at != n,
}


@pytest.mark.parametrize("n", [-5, 0, 1, 7, 9, 30, 64, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_comparisons(kind: str, n: int) -> None:
    x, at = numbers(N), torch.arange(N)
    expected = torch.where(KINDS[kind](at, n), x, -1.0)
    form = "gather" if kind == "unequal" else "box"
    args = {"x": x, "out": torch.zeros(N), "n": n}
    got = launch(compared, (1,), args, [form, "box"], KIND=kind, BLOCK=N)
    assert torch.equal(got["out"], expected)


@triton.jit
def diagonal(x, out, stride, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK)[None, :]
    value = tl.load(x + i * stride + j, mask=j <= i, other=0.0)
    tl.store(out + i * stride + j, value, mask=j >= i - 3)


def test_masks_of_two_axes_are_gathered() -> None:
    x = numbers(16, 32)
    args = {"x": x, "out": torch.zeros_like(x), "stride": 32}
    got = launch(diagonal, (1,), args, ["gather"] * 2, BLOCK=32, ROWS=16)
    i, j = torch.arange(16)[:, None], torch.arange(32)[None]
    assert torch.equal(got["out"], torch.where((j <= i) & (j >= i - 3), x, 0.0))


@triton.jit
def rows_of(x, keep, out, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    chosen = tl.load(keep + i) != 0
    inside = chosen[:, None] & (j < n)[None, :]
    value = tl.load(x + i[:, None] * n + j[None, :], mask=inside, other=9.0)
    tl.store(out + i[:, None] * n + j[None, :], value, mask=(j < n)[None, :])


def test_computed_masks_of_rows_move_rows() -> None:
    x = numbers(16, 30)
    keep = torch.tensor([0, 1] * 8, dtype=torch.int32)
    args = {"x": x, "keep": keep, "out": torch.zeros_like(x), "n": 30}
    got = launch(rows_of, (1,), args, ["box", "gather", "box"], BLOCK=32, ROWS=16)
    assert torch.equal(got["out"], torch.where(keep[:, None] != 0, x, 9.0))


@triton.jit
def repeated(x, out, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    row = tl.load(x + j[None, :] + i[:, None] * 0, mask=j[None, :] < n, other=0.0)
    one = tl.load(x + tl.zeros([BLOCK], tl.int32))
    tl.store(out + i[:, None] * BLOCK + j[None, :], row + one[None, :])


def test_axes_without_a_step_are_loaded_once() -> None:
    x = numbers(30)
    args = {"x": x, "out": torch.zeros(4, 32), "n": 30}
    got = launch(repeated, (1,), args, ["box"] * 3, BLOCK=32, ROWS=4)
    row = torch.nn.functional.pad(x, (0, 2)) + x[0]
    assert torch.equal(got["out"], row.expand(4, 32))


@triton.jit
def last_wins(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at * 0, tl.load(x + at))


def test_the_last_store_to_one_place_wins() -> None:
    x = numbers(N)
    got = launch(last_wins, (1,), {"x": x, "out": torch.zeros(1)}, BLOCK=N)
    assert got["out"].item() == N


@triton.jit
def scalars(x, out, n):
    place = tl.program_id(0)
    value = tl.load(x + place, mask=place < n, other=5.0)
    tl.store(out + place, value + 1, mask=place != 2)


def test_single_elements() -> None:
    x = numbers(4)
    got = launch(scalars, (6,), {"x": x, "out": torch.zeros(6), "n": 4})
    assert got["out"].tolist() == [2, 3, 0, 5, 6, 6]


@triton.jit
def wrapped(x, out, M, BM: tl.constexpr, BN: tl.constexpr):
    k = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.arange(0, BN)
    value = tl.load(x + (k % M)[:, None] * BN + j[None, :])
    tl.store(out + k[:, None] * BN + j[None, :], value)


@pytest.mark.parametrize("rows", [1, 5, 16, 20, 48])
def test_rows_that_wrap_around(rows: int) -> None:
    x = numbers(rows, 8)
    args = {"x": x, "out": torch.zeros(48, 8), "M": rows}
    got = launch(wrapped, (3,), args, ["box"] * 2, BM=16, BN=8)
    assert torch.equal(got["out"], x[torch.arange(48) % rows])


@triton.jit
def joined(x, y, out, n, which, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    source = x if which > 0 else y
    tl.store(out + at, tl.load(source + at, mask=at < n))


@pytest.mark.parametrize("which", [0, 1])
def test_pointers_of_two_arguments(which: int) -> None:
    x, y = numbers(N), -numbers(N)
    args = {"x": x, "y": y, "out": torch.zeros(N), "n": 50, "which": which}
    got = launch(joined, (1,), args, sanitize=False, BLOCK=N)
    expected = torch.where(torch.arange(N) < 50, x if which else y, 0.0)
    assert torch.equal(got["out"], expected)


@triton.jit
def padded(x, out, pages, ROWS: tl.constexpr, D: tl.constexpr, D_PADDED: tl.constexpr):
    i, d = tl.arange(0, ROWS), tl.arange(0, D_PADDED)
    value = tl.load(x + i[:, None] * D + d[None, :], mask=(d < D)[None, :], other=0.0)
    page = tl.load(pages + i)
    again = tl.load(x + page[:, None] * D + d[None, :], mask=(d < D)[None, :], other=0.0)
    whole = tl.make_tensor_descriptor(x, [ROWS, D], [D, 1], [ROWS, D_PADDED])
    nothing = tl.load(x + d, mask=d < D - D, other=2.0)
    value += again + whole.load([0, 0]) + nothing[None, :]
    tl.store(out + i[:, None] * D + d[None, :], value, mask=(d < D)[None, :])


def test_known_extents_below_the_block() -> None:
    x, pages = numbers(8, 80), torch.randperm(8, dtype=torch.int32)
    args = {"x": x, "out": torch.zeros(8, 80), "pages": pages}
    got = launch(padded, (1,), args, ROWS=8, D=80, D_PADDED=128)["out"]
    assert torch.equal(got, 2 * x + x[pages.long()] + 2)


@triton.jit
def through_numbers(x, out, n, width, FORM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, 8)
    at = tl.arange(0, BLOCK)
    if FORM == "where":
        inside = tl.where(at < n, 1, 0).to(tl.int1)
        rows = tl.where(row // 2 < 3, 1, 0).to(tl.int1)
        both = rows[:, None] & inside[None, :]
    elif FORM == "cast":
        inside = (at < n).to(tl.int32)
        both = ((row < 6)[:, None]) & (inside[None, :] > 0)
    elif FORM == "late":
        wide = tl.where(at[None, :] < n, 1, 0) + tl.zeros((8, BLOCK), tl.int32)
        both = (row < 6)[:, None] & (wide != 0)
    else:
        both = (row < 6)[:, None] * (at < n)[None, :]
    place = row[:, None] * width + at[None, :]
    tl.store(out + place, tl.load(x + place, mask=both, other=9.0))


@pytest.mark.parametrize("form", ["where", "cast", "late", "product"])
@pytest.mark.parametrize("n", [0, 1, 33, N])
def test_masks_that_were_numbers_are_bounds_again(form: str, n: int) -> None:
    x = numbers(8, N)
    expected = torch.full((8, N), 9.0)
    expected[:6, :n] = x[:6, :n]
    args = {"x": x, "out": torch.zeros(8, N), "n": n, "width": N}
    made = launch(through_numbers, (1,), args, ["box"] * 2, FORM=form, BLOCK=N)
    assert torch.equal(made["out"], expected)
