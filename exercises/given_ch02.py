"""Rates and programs that the exercises of chapter 2 hand out: read them, do not edit them.

In answers, ``from given_ch02 import READ_RATE`` works, and so does ``exercises.given_ch02``.
"""

from __future__ import annotations

from spyrelab.ktir import F16, F32, Builder, Module
from spyrelab.timing import CONSTANTS, estimate
from spyrelab.viz.events import engine_events

READ_RATE = CONSTANTS.ddr_bytes_per_second / (1 + CONSTANTS.unicast_overhead)
"""Bytes a second that memory gives when every core reads data of its own, in long runs."""

WRITE_RATE = CONSTANTS.ddr_write_bytes_per_second
"""Bytes a second that memory takes."""

LAUNCH = CONSTANTS.launch_seconds
"""Seconds that any kernel takes before its first load."""


def timeline_of(program: Module, core: int = 0) -> list[tuple[str, float, float]]:
    """The predicted timeline of one core: ``(unit, begin, end)`` in microseconds."""
    events = engine_events(estimate(program))
    return [(str(e.engine), e.start * 1e6, e.end * 1e6) for e in events if e.core == core]


def centre(rows: int, cols: int, passes: int) -> Module:
    """``out = x - (the largest value of the row)``, reading x ``passes`` times.

    Arguments of the kernel: x and out ``[rows, cols]`` of f16.
    """
    height = 4
    share = -(-rows // (32 * height)) * height
    b = Builder("centre", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    with b.loop(begin, b.minimum(begin + share, rows), height, names="row") as row:
        values = b.load(x[row, 0], shape=(height, cols))
        top = b.broadcast(b.reduce("max", values, 1), (height, cols), 1)
        for _ in range(passes - 1):
            values = b.load(x[row, 0], shape=(height, cols))
        b.store(values - top, out[row, 0])
    return b.build()


def activation_in_one_tile(rows: int, cols: int) -> Module:
    """``out = tanh(tanh(tanh(x)))`` in f32: a core loads all its rows, computes, and stores.

    Arguments of the kernel: x and out ``[rows, cols]`` of f16.
    """
    share = -(-rows // 32)
    b = Builder("activation_in_one_tile", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    values = b.load(x[begin, 0], shape=(share, cols)).to(F32)
    for _ in range(3):
        values = b.tanh(values)
    b.store(values.to(F16), out[begin, 0])
    return b.build()


def column_sums_by_stick(rows: int, cols: int) -> Module:
    """``out[c] = sum_r x[r, c]``: a core adds up columns of its own, 64 rows at a time.

    Arguments of the kernel: x ``[rows, cols]`` of f16, out ``[cols]`` of f32.
    """
    width = -(-cols // (32 * 64)) * 64
    b = Builder("column_sums_by_stick", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(cols,), dtype=F32)
    first = b.compute_tile_id() * width
    total = b.fill((width,), 0.0, F32)
    loop = b.loop(0, rows, 64, carry=[total], names=("row", "total"))
    with loop as (row, so_far):
        values = b.load(x[row, first], shape=(64, width)).to(F32)
        b.yield_(so_far + b.reduce("add", values, 0))
    b.store(loop.results[0], out[first])
    return b.build()


RACING_SUM = """\
// y[r] = x[r] + x[r - 1] (nothing above row 0), for a 256 x 64 matrix, 8 rows per core.
// Two lines are wrong: cores get in each other's way.

#matrix = affine_set<(r, c) : (r >= 0, -r + 255 >= 0, c >= 0, -c + 63 >= 0)>
#block  = affine_set<(r, c) : (r >= 0, -r + 7 >= 0, c >= 0, -c + 63 >= 0)>
#rc     = affine_map<(r, c) -> (r, c)>

module {
  func.func @sum(%x: index, %y: index) attributes {grid = [32]} {
    %core = ktdp.get_compute_tile_id : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %share = arith.constant 7 : index
    %first = arith.muli %core, %share : index
    %above = arith.subi %first, %one : index

    %from = ktdp.construct_memory_view %x, sizes: [256, 64], strides: [64, 1] {
      coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>
    } : memref<256x64xf16>
    %to = ktdp.construct_memory_view %x, sizes: [256, 64], strides: [64, 1] {
      coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>
    } : memref<256x64xf16>

    %own = ktdp.construct_access_tile %from[%first, %zero] {
      access_tile_set = #block, access_tile_order = #rc
    } : memref<256x64xf16> -> !ktdp.access_tile<8x64xindex>
    %rows = ktdp.load %own : !ktdp.access_tile<8x64xindex> -> tensor<8x64xf16>
    %before = ktdp.construct_access_tile %from[%above, %zero] {
      access_tile_set = #block, access_tile_order = #rc
    } : memref<256x64xf16> -> !ktdp.access_tile<8x64xindex>
    %others = ktdp.load %before : !ktdp.access_tile<8x64xindex> -> tensor<8x64xf16>
    %sum = arith.addf %rows, %others : tensor<8x64xf16>

    %target = ktdp.construct_access_tile %to[%first, %zero] {
      access_tile_set = #block, access_tile_order = #rc
    } : memref<256x64xf16> -> !ktdp.access_tile<8x64xindex>
    ktdp.store %sum, %target : tensor<8x64xf16>, !ktdp.access_tile<8x64xindex>
    return
  }
}
"""
