"""Plausible wrong answers to ch02.5.  Docstrings: the status, and how the first hint begins."""

from math import ceil

from spyrelab.ktir import F16, F32, Builder

TASK = "ch02.5"


def build(rows, cols, share, height, width=None, times=3, dtype=F32, exact=True, cores=32):
    b = Builder("overlapped", grid=(cores,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    end = b.minimum(begin + share, rows) if exact else begin + share
    with b.loop(begin, end, height, names="row") as row:
        for column in range(0, cols, width or cols):
            values = b.load(x[row, column], shape=(height, min(width or cols, cols - column)))
            values = values.to(dtype) if dtype is not F16 else values
            for _ in range(times):
                values = b.tanh(values)
            b.store(values.to(F16) if dtype is not F16 else values, out[row, column])
    return b.build()


def tiled(rows):
    height = ceil(rows / 256)
    return ceil(rows / (32 * height)) * height, height


def two_tanh(rows, cols):
    """wrong: Keep the arithmetic"""
    return build(rows, cols, *tiled(rows), times=2)


def in_f16(rows, cols):
    """wrong: Keep the arithmetic"""
    return build(rows, cols, *tiled(rows), dtype=F16)


def half_of_the_cores(rows, cols):
    """wrong: Keep the arithmetic"""
    return build(rows, cols, *tiled(rows), cores=16)


def a_height_that_does_not_divide_the_share(rows, cols):
    """wrong: Keep the arithmetic"""
    share = ceil(rows / 32)
    return build(rows, cols, share, share // 2 + 1)


def drops_the_tail(rows, cols):
    """wrong: Some rows belong to no core"""
    share = rows // 32
    return build(rows, cols, share, 1)


def tiles_reach_into_the_next_core(rows, cols):
    """wrong: Some rows belong to no core"""
    share = ceil(rows / 32)
    return build(rows, cols, share, share // 2 + 1 if rows % 32 else share // 8)


def one_large_tile(rows, cols):
    """over budget: The first load and the last store"""
    share = ceil(rows / 32)
    return build(rows, cols, share, share)


def four_tiles(rows, cols):
    """over budget: The first load and the last store"""
    height = ceil(rows / 128)
    return build(rows, cols, ceil(rows / (32 * height)) * height, height)


def one_stick_wide(rows, cols):
    """over budget: The first load and the last store"""
    return build(rows, cols, *tiled(rows), width=64)


def one_core(rows, cols):
    """over budget: The first load and the last store"""
    return build(rows, cols, rows, 4 if rows % 4 == 0 else 1, cores=1)
