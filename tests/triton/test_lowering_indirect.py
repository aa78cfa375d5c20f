"""Accesses through tables: pages, embedding rows, descriptors."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from tests.triton.translated import launch, translate_kernel

PAGE, HEADS, D = 16, 2, 32


@triton.jit
def embedding(table, indices, out, n, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, BLOCK)
    number = tl.load(indices + row, mask=row < n, other=0)
    inside = (row < n)[:, None] & (d < width)[None, :]
    value = tl.load(table + number[:, None] * width + d[None, :], mask=inside, other=0.0)
    tl.store(out + row[:, None] * width + d[None, :], value, mask=inside)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("n", [1, 16, 37])
def test_embedding(n: int, dtype: torch.dtype) -> None:
    table, indices = torch.randn(50, 40), torch.randint(0, 50, (n,)).to(dtype)
    args = {"table": table, "indices": indices, "out": torch.zeros(n, 40), "n": n, "width": 40}
    kinds = ["box", "indirect", "box"]
    got = launch(embedding, (-(-n // 16),), args, kinds, ROWS=16, BLOCK=64)["out"]
    assert torch.equal(got, table[indices])


@triton.jit
def embedding_gradient(table, indices, x, n, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, d = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    number = tl.load(indices + row, mask=row < n, other=0)
    inside = (row < n)[:, None] & (d < width)[None, :]
    value = tl.load(x + row[:, None] * width + d[None, :], mask=inside)
    tl.store(table + number[:, None] * width + d[None, :], value, mask=inside)


def test_scatter_through_a_table() -> None:
    indices, x = torch.randperm(50)[:11].int(), torch.randn(11, 40)
    args = {"table": torch.zeros(50, 40), "indices": indices, "x": x, "n": 11, "width": 40}
    kinds = ["box", "box", "indirect"]
    got = launch(embedding_gradient, (1,), args, kinds, ROWS=16, BLOCK=64)["table"]
    expected = torch.zeros(50, 40)
    expected[indices.long()] = x
    assert torch.equal(got, expected)


@triton.jit
def pages(
    cache, page_table, out, length, page_stride, token_stride,
    SIZE: tl.constexpr, TILE: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0)
    d = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for start in range(0, length, TILE):
        token = start + tl.arange(0, TILE)
        inside = token < length
        page = tl.load(page_table + token // SIZE, mask=inside, other=0).to(tl.int64)
        at = page[:, None] * page_stride + (token % SIZE)[:, None] * token_stride
        value = tl.load(cache + at + head * WIDTH + d[None, :], mask=inside[:, None], other=0.0)
        total += tl.sum(value, 0)
    tl.store(out + head * WIDTH + d, total)


@pytest.mark.parametrize("tile", [8, 16, 64])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 63, 130])
def test_tokens_of_pages(length: int, tile: int) -> None:
    cache = torch.randn(10, PAGE, HEADS, D)
    table = torch.randperm(10, dtype=torch.int32)
    args = {"cache": cache, "page_table": table, "out": torch.zeros(HEADS, D), "length": length}
    args |= {"page_stride": PAGE * HEADS * D, "token_stride": HEADS * D}
    kinds = ["indirect", "indirect", "box"]
    got = launch(pages, (HEADS,), args, kinds, SIZE=PAGE, TILE=tile, WIDTH=D)["out"]
    expected = cache[table.long()].view(-1, HEADS, D)[:length].sum(0)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@triton.jit
def from_token(table, x, out, start, KNOWN: tl.constexpr, BLOCK: tl.constexpr):
    if KNOWN:
        tl.assume(start >= 0)
    token = start + tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.load(table + token // 4) * 4 + token % 4))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("start", [0, 3, 21])
def test_dividends_that_may_be_negative_take_a_branch(start: int, known: bool) -> None:
    table, x = torch.randperm(16, dtype=torch.int32), torch.randn(64)
    args = {"table": table, "x": x, "out": torch.zeros(32), "start": start}
    translation = translate_kernel(from_token, args, KNOWN=known, BLOCK=32)
    assert ("scf.if" in str(translation.module)) is not known
    got = launch(from_token, (1,), args, ["indirect", "indirect", "box"], KNOWN=known, BLOCK=32)
    token = start + torch.arange(32)
    assert torch.equal(got["out"], x[table[token // 4].long() * 4 + token % 4])


@triton.jit
def whole_pages(
    cache, page_table, out, length, page_stride, token_stride,
    SIZE: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0)
    d, t = tl.arange(0, WIDTH), tl.arange(0, SIZE)
    total = tl.zeros([WIDTH], tl.float32)
    for number in range(0, tl.cdiv(length, SIZE)):
        page = tl.load(page_table + number)
        at = page * page_stride + t[:, None] * token_stride + head * WIDTH + d[None, :]
        inside = (number * SIZE + t < length)[:, None]
        total += tl.sum(tl.load(cache + at, mask=inside, other=0.0), 0)
    tl.store(out + head * WIDTH + d, total)


@pytest.mark.parametrize("length", [1, 16, 17, 130])
def test_whole_pages_are_boxes(length: int) -> None:
    cache = torch.randn(10, PAGE, HEADS, D)
    table = torch.randperm(10, dtype=torch.int32)
    args = {"cache": cache, "page_table": table, "out": torch.zeros(HEADS, D), "length": length}
    args |= {"page_stride": PAGE * HEADS * D, "token_stride": HEADS * D}
    got = launch(whole_pages, (HEADS,), args, ["box"] * 3, SIZE=PAGE, WIDTH=D)["out"]
    expected = cache[table.long()].view(-1, HEADS, D)[:length].sum(0)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@triton.jit
def scores(
    q, cache, page_table, out, length,
    SIZE: tl.constexpr, T: tl.constexpr, WIDTH: tl.constexpr, M: tl.constexpr,
):  # fmt: skip
    d, t, m = tl.arange(0, WIDTH), tl.arange(0, T), tl.arange(0, M)
    query = tl.load(q + m[:, None] * WIDTH + d[None, :])
    page = tl.load(page_table + t // SIZE)
    at = page[None, :] * (SIZE * WIDTH) + (t % SIZE)[None, :] * WIDTH + d[:, None]
    key = tl.load(cache + at, mask=(t < length)[None, :], other=0.0)
    tl.store(out + m[:, None] * T + t[None, :], tl.dot(query, key))


def test_keys_by_columns_are_read_by_rows() -> None:
    cache, q = torch.randn(10, PAGE, D).half(), torch.randn(16, D).half()
    table = torch.randperm(10, dtype=torch.int32)
    args = {"q": q, "cache": cache, "page_table": table, "out": torch.zeros(16, 64), "length": 50}
    kinds = ["box", "box", "indirect", "box"]
    got = launch(scores, (1,), args, kinds, SIZE=PAGE, T=64, WIDTH=D, M=16)["out"]
    keys = cache[table.long()].view(-1, D)[:64].float()
    keys[50:] = 0
    torch.testing.assert_close(got, q.float() @ keys.T, rtol=1e-3, atol=1e-3)


@triton.jit
def written_table(table, x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    number = tl.load(table + at)
    tl.store(table + at, BLOCK - 1 - at)
    tl.store(out + at, tl.load(x + number))


def test_a_table_that_is_written_is_read_first() -> None:
    table, x = torch.randperm(32, dtype=torch.int32), torch.randn(32)
    args = {"table": table, "x": x, "out": torch.zeros(32)}
    got = launch(written_table, (1,), args, ["box", "box", "gather", "box"], BLOCK=32)
    assert torch.equal(got["out"], x[table.long()])
    assert torch.equal(got["table"], torch.arange(31, -1, -1, dtype=torch.int32))


@triton.jit
def descriptors(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    row = tl.program_id(0) * BM
    for column in range(0, N, BN):
        target.store([row, column], source.load([row, column]) * 2)


@pytest.mark.parametrize(("m", "n"), [(1, 4), (33, 40), (64, 128), (65, 132)])
def test_descriptors(m: int, n: int) -> None:
    x = torch.randn(m, n)
    args = {"x": x, "out": torch.zeros_like(x), "M": m, "N": n}
    got = launch(descriptors, (-(-m // 32),), args, ["descriptor"] * 2, BM=32, BN=64)["out"]
    assert torch.equal(got, x * 2)


@triton.jit
def shifted(x, out, N, place, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [1, N], [N, 1], [1, BN], padding_option="nan")
    target = tl.make_tensor_descriptor(out, [1, BN], [BN, 1], [1, BN])
    target.store([0, 0], source.load([0, place]))


@pytest.mark.parametrize("place", [-5, 0, 30, 80])
def test_descriptors_fill_with_nan(place: int) -> None:
    x = torch.arange(48.0)
    args = {"x": x, "out": torch.zeros(32), "N": 48, "place": place}
    got = launch(shifted, (1,), args, BN=32)["out"]
    at = torch.arange(place, place + 32)
    inside = (at >= 0) & (at < 48)
    expected = torch.where(inside, x[at.clamp(0, 47)], torch.nan)
    torch.testing.assert_close(got, expected, equal_nan=True)


@triton.jit
def rows_of_descriptor(x, rows, out, M, N, column, BR: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [1, BN])
    number = tl.load(rows + tl.arange(0, BR))
    target.scatter(source.gather(number, column), number, column)


def test_rows_of_descriptors() -> None:
    x, rows = torch.randn(20, 64), torch.randperm(20)[:8].int()
    args = {"x": x, "rows": rows, "out": torch.zeros(20, 64), "M": 20, "N": 64, "column": 40}
    got = launch(rows_of_descriptor, (1,), args, BR=8, BN=32)["out"]
    expected = torch.zeros(20, 64)
    expected[rows.long(), 40:] = x[rows.long(), 40:]
    assert torch.equal(got, expected)


@triton.jit
def summed(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [BM, N], [N, 1], [BM, BN])
    target.atomic_add([0, 0], source.load([tl.program_id(0) * BM, 0]))


def test_atomic_sums_through_descriptors() -> None:
    x = torch.randn(24, 28)
    args = {"x": x, "out": torch.zeros(8, 28), "M": 24, "N": 28}
    got = launch(summed, (3,), args, BM=8, BN=32)["out"]
    torch.testing.assert_close(got, x.view(3, 8, 28).sum(0))
