"""Reads and writes by index tensors, on stick-tiled tables, against torch."""

from __future__ import annotations

import pytest
import torch

from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.indexing import index_ranges
from spyrelab.opspec.registry import builder_of
from tests.opspec.card import Placed, run

TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.int64]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def values(*size, dtype=torch.float16):
    made = torch.randn(size) * 8
    return made.to(dtype)


def indices(high, *size, dtype=torch.int64, negative=True):
    return torch.randint(-high if negative else 0, high, size, dtype=dtype)


def same(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


def read(op, wanted, *inputs, **options):
    out = torch.zeros_like(wanted).contiguous()
    run(op, inputs, [out], **options)
    same(out, wanted)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("index", [torch.int64, torch.int32], ids=str)
def test_types(dtype, index):
    table, ids = values(50, 70, dtype=dtype), indices(50, 3, 5, dtype=index)
    read("embedding", table[ids.long()], table, ids)


@pytest.mark.parametrize("width", [1, 3, 63, 64, 65, 127, 129])
@pytest.mark.parametrize("count", [1, 7, 65])
def test_embedding(width, count):
    table, ids = values(33, width), indices(33, count)
    read("embedding", table[ids], table, ids, sanitize="padding")


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_index_select_along_every_dimension(dim):
    table = values(5, 67, 130)
    ids = indices(table.shape[dim], 37)
    wanted = table.index_select(dim, ids % table.shape[dim])
    read("index_select", wanted, table, ids, dim=dim, sanitize="padding")


def test_a_lookup_of_many_rows_by_all_cores():
    table, ids = values(300, 192), indices(300, 1500)
    read("embedding", table[ids], table, ids)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("size", [(4, 3, 65), (6, 66, 130), (1, 1, 1)])
def test_gather(dim, size):
    table = values(6, 67, 131)
    ids = indices(table.shape[dim], *size)
    read("gather", table.gather(dim, ids % table.shape[dim]), table, ids, dim=dim)


def test_gather_by_an_expanded_index():
    table, ids = values(9, 130), indices(9, 4, 1).expand(4, 130)
    read("gather", table.gather(0, ids % 9), table, ids, dim=0)


@pytest.mark.parametrize(
    ("dims", "sizes"),
    [
        ((0,), [(3, 4)]),
        ((0, 1), [(5,), (5,)]),
        ((0, 1), [(5, 1), (7,)]),
        ((1,), [(6,)]),
        ((1, 2), [(2, 3), (3,)]),
        ((0, 2), [(5,), (5,)]),
        ((0, 1, 2), [(5,), (1,), (4, 1)]),
        ((1,), [()]),
    ],
)
def test_index(dims, sizes):
    table = values(6, 7, 130)
    given = [indices(table.shape[d], *size) for d, size in zip(dims, sizes, strict=True)]
    key = [slice(None)] * 3
    for dim, ids in zip(dims, given, strict=True):
        key[dim] = ids
    read("index", table[tuple(key)], table, *given, dims=dims)


def test_a_view_of_a_table_and_a_strided_index():
    base, ids = values(40, 4, 64), indices(40, 9, 2)[:, 1]
    table = base.transpose(0, 1)[2]
    read("embedding", table[ids], table, ids)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64], ids=str)
def test_index_put(accumulate, dtype):
    table, ids = values(9, 130, dtype=dtype), indices(9, 40)
    given = values(40, 130, dtype=dtype)
    wide = table.float() if dtype.is_floating_point else table.clone()
    wide.index_put_((ids,), given.to(wide.dtype), accumulate=accumulate)
    wanted = wide.to(dtype)
    run("index_put", [ids, given], [table], dims=(0,), accumulate=accumulate, sanitize=True)
    same(table, wanted)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_of_one_value_at_points(accumulate):
    table, one = values(6, 70, dtype=torch.float32), torch.tensor(2.5)
    rows, cols = indices(6, 30), indices(70, 30)
    wanted = table.clone().index_put_((rows, cols), one, accumulate=accumulate)
    run("index_put", [rows, cols, one], [table], dims=(0, 1), accumulate=accumulate)
    same(table, wanted)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("op", ["index_copy", "index_add"])
def test_index_copy_and_add(op, dim):
    table = values(5, 66, 130, dtype=torch.float32)
    count = table.shape[dim]
    ids = torch.randperm(count)[: count // 2] if op == "index_copy" else indices(count, count)
    size = list(table.shape)
    size[dim] = len(ids)
    source = values(*size, dtype=torch.float32)
    wanted = getattr(table, op)(dim, ids % count, source)
    run(op, [ids, source], [table], dim=dim, sanitize=True)
    same(table, wanted)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("op", ["scatter", "scatter_add"])
@pytest.mark.parametrize("size", [(4, 65), (7, 130), (1, 1)])
def test_scatter(op, dim, size):
    table, source = values(7, 131, dtype=torch.float32), values(8, 132, dtype=torch.float32)
    ids = indices(table.shape[dim], *size, negative=False)
    wanted = getattr(table, op)(dim, ids, source)
    run(op, [ids, source], [table], dim=dim, sanitize=True)
    same(table, wanted)


@pytest.mark.parametrize("op", ["scatter", "scatter_add"])
@pytest.mark.parametrize("size", [(320, 40), (37, 1000)])
def test_scatter_by_many_cores(op, size):
    table, source = values(400, 300, dtype=torch.float32), values(*size, dtype=torch.float32)
    ids = indices(300, *size, negative=False)
    wanted = getattr(table, op)(1, ids, source)
    run(op, [ids, source], [table], dim=1, sanitize=True)
    same(table, wanted)


def test_a_column_of_a_table_is_written():
    table, ids = values(50, 200), indices(50, 20)
    column, source = table[:, 3], values(20)
    wanted = table.clone()
    wanted[ids, 3] = source
    run("index_put", [ids, source], [column], dims=(0,))
    same(table, wanted)


def test_a_slice_that_begins_inside_a_stick_is_written():
    table, ids = values(50, 200), indices(50, 20)
    part, source = table[:, 3:100], values(20, 97)
    wanted = table.clone()
    wanted[ids, 3:100] = source
    run("index_put", [ids, source], [part], dims=(0,))
    same(table, wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64], ids=str)
def test_scatter_of_a_number(dtype):
    table, ids = values(7, 131, dtype=dtype), indices(131, 7, 20, negative=False)
    number = 3.5 if dtype.is_floating_point else 3
    wanted = table.scatter(1, ids, number)
    run("scatter", [ids, number], [table], dim=1)
    same(table, wanted)


def test_sums_do_not_depend_on_threads():
    grad, ids = values(200, 256), indices(20, 200, negative=False)
    results = []
    for threads in (1, 2):
        table = torch.zeros(20, 256).half()
        run("embedding_dense_backward", [grad, ids], [table], threads=threads)
        results.append(table)
    same(results[0], results[1])
    wanted = torch.zeros(20, 256).half().index_add(0, ids, grad)
    same(results[0], wanted)


def test_embedding_backward_leaves_the_padding_row():
    grad, ids = values(4, 9, 70, dtype=torch.float32), indices(12, 4, 9, negative=False)
    grad[ids == 3] = torch.nan
    table = torch.zeros(12, 70)
    run("embedding_dense_backward", [grad, ids], [table], padding_idx=3)
    wanted = torch.ops.aten.embedding_dense_backward(grad, ids, 12, 3, False)
    same(table, wanted)


def test_ranges_to_check_before_a_launch():
    table, ids = Placed(values(6, 7, 8)).operand, Placed(indices(6, 3)).operand
    ranges = index_ranges("index", (table, ids, ids), (), dims=(0, 2))
    assert ranges == ((1, -6, 6), (2, -8, 8))
    assert index_ranges("gather", (table, ids), (), dim=-1) == ((1, 0, 8),)
    assert index_ranges("scatter", (ids, "f32"), (table,), dim=1) == ((0, 0, 7),)
    backward = index_ranges("embedding_dense_backward", (table, ids), (table,), padding_idx=-1)
    assert backward == ((1, 0, 6),)
    assert index_ranges("add", (table, table), (table,)) == ()


def test_what_it_does_not_do():
    table, out = Placed(values(6, 8)).operand, Placed(values(3, 8)).operand
    mask, ids = Placed(torch.ones(6) > 0).operand, Placed(indices(6, 3)).operand
    with pytest.raises(Unsupported, match="i1"):
        builder_of("index")("index", (table, mask), (out,), dims=(0,))
    with pytest.raises(Unsupported, match="sideways"):
        builder_of("gather")("gather", (table, ids), (out,), dim=0, sideways=True)
    with pytest.raises(OpSpecError, match="rank 2"):
        builder_of("index_select")("index_select", (table, ids), (out,), dim=2)
