"""Kernels that servers of language models use: adapters per token, drafts that are verified."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

# ---- rows of tokens that were sorted by what handles them ---------------------------------


@triton.jit
def scaled_groups(x, out, order, starts, lengths, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    first = tl.program_id(1) * ROWS
    length = tl.load(lengths + group)
    if first >= length:
        return
    left = min(ROWS, length - first)
    # Rows past the end repeat the first ones, so that their loads need no mask.
    token = tl.load(order + tl.load(starts + group) + first + tl.arange(0, ROWS) % left)
    at, row = tl.arange(0, BLOCK), tl.arange(0, ROWS)
    values = tl.load(x + token[:, None] * n + at[None, :], mask=at[None, :] < n, other=0.0)
    inside = (row[:, None] < left) & (at[None, :] < n)
    tl.store(out + token[:, None] * n + at[None, :], values * (group + 1), mask=inside)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_sorted_rows_whose_numbers_wrap_around(dtype):
    groups = torch.tensor([1, 0, 2, 1, 1, 0, 2, 1, 1, 1, 1])
    x = torch.randn(len(groups), 40, generator=torch.Generator().manual_seed(0))
    lengths = groups.bincount()
    starts = lengths.cumsum(0) - lengths
    tables = [t.to(dtype).to("spyre") for t in (groups.argsort(stable=True), starts, lengths)]
    out = torch.zeros_like(x, device="spyre")
    scaled_groups[(3, 2)](x.to("spyre"), out, *tables, 40, ROWS=4, BLOCK=64)
    torch.testing.assert_close(out.cpu(), x * (groups + 1)[:, None])


# ---- a walk through a tree of drafts, whose matches are counted in two types ---------------


@triton.jit
def accepted(next_token, candidates, targets, count, steps):
    total = tl.load(next_token) * 0
    place = total
    going = 1
    for _ in range(steps):
        if going == 1:
            match = tl.load(candidates + place) == tl.load(targets + place)
            total += match
            place = match * tl.load(next_token + place) + (~match) * place
            going = match * 1
    tl.store(count, total)
    tl.store(count + 1, place)


def test_a_truth_value_is_added_to_numbers_of_two_types():
    tables = [[2, 0, 4, 0, 1], [7, 3, 5, 3, 9], [7, 1, 5, 1, 8]]
    count = torch.zeros(2, dtype=torch.int64, device="spyre")
    accepted[(1,)](*(torch.tensor(table).to("spyre") for table in tables), count, 5)
    assert count.tolist() == [2, 4]
