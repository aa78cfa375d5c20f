"""Plausible wrong answers to ch02.6.  Docstrings: the status, and how the first hint begins."""

from math import ceil

from spyrelab.ktir import F16, F32, Builder
from spyrelab.ktir.builder import TileGroups

TASK = "ch02.6"


def build(rows, cols, share, height, late=False, passes=1, cores=32, add=True):
    b = Builder("column_sums", grid=(cores,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(cols,), dtype=F32)
    core = b.compute_tile_id()
    begin = core * share
    total = b.fill((cols,), 0.0, F32)
    loop = b.loop(begin, begin + share, height, carry=[total], names=("row", "total"))
    with loop as (row, so_far):
        for _ in range(passes):
            values = b.load(x[row, 0], shape=(height, cols))
        part = b.reduce("add", values, 0).to(F32) if late else b.reduce("add", values.to(F32), 0)
        b.yield_(so_far + part)
    total = loop.results[0]
    if add and cores > 1:
        total = b.produce_reduce(total, TileGroups.adjacent(1, cores))
    with b.if_(core.equals(0)):
        b.store(total, out[0])
    return b.build()


def by_columns(rows, cols, height):
    width = ceil(cols / 2048) * 64
    b = Builder("column_sums", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(cols,), dtype=F32)
    first = b.compute_tile_id() * width
    total = b.fill((width,), 0.0, F32)
    loop = b.loop(0, rows, height, carry=[total], names=("row", "total"))
    with loop as (row, so_far):
        values = b.load(x[row, first], shape=(height, width)).to(F32)
        b.yield_(so_far + b.reduce("add", values, 0))
    b.store(loop.results[0], out[first])
    return b.build()


def tiled(rows):
    return ceil(rows / 256) * 8


def added_in_f16(rows, cols):
    """wrong: Are the values sums over all rows"""
    return build(rows, cols, tiled(rows), 8, late=True)


def partial_sums_stay_where_they_are(rows, cols):
    """wrong: Are the values sums over all rows"""
    return build(rows, cols, tiled(rows), 8, add=False)


def drops_the_tail(rows, cols):
    """wrong: Rows at the end are lost"""
    return build(rows, cols, rows // 32, 1)


def rows_counted_twice(rows, cols):
    """wrong: Rows at the end are lost"""
    return build(rows, cols, ceil(rows / 32), 8)


def still_by_column(rows, cols):
    """over budget: How long are the runs"""
    return by_columns(rows, cols, 32)


def column_by_column_in_taller_tiles(rows, cols):
    """over budget: How long are the runs"""
    return by_columns(rows, cols, 33)


def reads_twice(rows, cols):
    """over budget: How long are the runs"""
    return build(rows, cols, tiled(rows), 8, passes=2)


def one_core(rows, cols):
    """over budget: How long are the runs"""
    return build(rows, cols, ceil(rows / 8) * 8, 8, cores=1)
