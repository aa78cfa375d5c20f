"""Plausible wrong answers to ch04.6.  Docstrings: the status, and how the first hint begins."""

from math import ceil

from spyrelab.ktir import F16, Builder

TASK = "ch04.6"


def build(rows, cols, across, down, turned=True, cores=32, wide=64, tall=64):
    b = Builder("turn", grid=(cores,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(ceil(cols / 64), rows, 64), dtype=F16)
    out = b.view(out_at, sizes=(ceil(rows / 64), cols, 64), dtype=F16)
    wides, talls = 64 // wide, 64 // tall
    with b.loop(b.compute_tile_id(), across * down * wides * talls, cores, names="n") as n:
        lane, line, block = n % wides * wide, n // wides % talls * tall, n // (wides * talls)
        tile, strip = block % across, block // across
        values = b.load(x[tile, strip * 64 + line, lane], shape=(1, tall, wide))
        if turned:
            values = b.transpose(values, [0, 2, 1])
        b.store(values, out[strip, tile * 64 + lane, line])
    return b.build()


def not_turned(rows, cols):
    """wrong: Try one block"""
    return build(rows, cols, ceil(cols / 64), ceil(rows / 64), turned=False)


def memory_as_it_is(rows, cols):
    """wrong: Try one block"""
    b = Builder("turn", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(cols, rows), dtype=F16)
    first = b.compute_tile_id() * 64
    with b.loop(first, cols, 2048, names="col") as col, b.loop(0, rows, 64, names="row") as row:
        values = b.load(x[row, col], shape=(64, 64))
        b.store(b.transpose(values, [1, 0]), out[col, row])
    return b.build()


def full_blocks_only(rows, cols):
    """wrong: Some rows or columns are missing"""
    return build(rows, cols, cols // 64, rows // 64)


def last_rows_missing(rows, cols):
    """wrong: Some rows or columns are missing"""
    return build(rows, cols, ceil(cols / 64), rows // 64)


def half_sticks_read(rows, cols):
    """over budget: Right, but sticks"""
    return build(rows, cols, ceil(cols / 64), ceil(rows / 64), wide=32)


def half_sticks_written(rows, cols):
    """over budget: Right, but sticks"""
    return build(rows, cols, ceil(cols / 64), ceil(rows / 64), tall=16)


def one_core(rows, cols):
    """over budget: Is every core at work"""
    return build(rows, cols, ceil(cols / 64), ceil(rows / 64), cores=1)


def half_the_cores(rows, cols):
    """over budget: Is every core at work"""
    return build(rows, cols, ceil(cols / 64), ceil(rows / 64), cores=16)
