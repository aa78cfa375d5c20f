"""Model answers of chapter 2."""

from __future__ import annotations

from math import ceil, log2

from spyrelab.ktir import F16, F32, Builder, Module
from spyrelab.ktir.builder import TileGroups
from spyrelab.machine import SPYRE
from spyrelab.timing import CONSTANTS

CORES = 32
READ_RATE = CONSTANTS.ddr_bytes_per_second / (1 + CONSTANTS.unicast_overhead)
WRITE_RATE = CONSTANTS.ddr_write_bytes_per_second


def bound_of(timeline: list[tuple[str, float, float]]) -> tuple[str, float]:
    """The length of the union of each unit's spans."""
    busy: dict[str, float] = {}
    reached: dict[str, float] = {}
    for unit, begin, end in sorted(timeline, key=lambda span: span[1]):
        start = max(begin, reached.get(unit, 0.0))
        busy[unit] = busy.get(unit, 0.0) + max(0.0, end - start)
        reached[unit] = max(end, reached.get(unit, 0.0))
    unit = max(busy, key=lambda name: busy[name])
    return unit, busy[unit] / max(reached.values())


def roofline_us(b: int, m: int, n: int, k: int) -> float:
    """The larger of compute and memory time."""
    compute = 2 * b * m * n * k / SPYRE.peak_flops("f16")
    memory = 2 * b * (m * k + k * n + m * n) / SPYRE.ddr_read_bytes_per_second
    return max(compute, memory) * 1e6


def predict_speedup(rows: int, cols: int, passes: int) -> float:
    """Launch, reads and writes, one after the other."""
    nbytes = 2 * rows * cols
    read, rest = nbytes / READ_RATE, CONSTANTS.launch_seconds + nbytes / WRITE_RATE
    return (passes * read + rest) / (read + rest)


def choose_split(m: int, n: int, k: int) -> tuple[int, int]:
    """About 128 rows a core, and both operands shared by at least two cores, better four."""
    parts = min(16, max(4, 2 ** round(log2(m / 128))))
    parts = min(parts, 2 ** int(log2(m)))
    return parts, CORES // parts


def overlapped(rows: int, cols: int) -> Module:
    """About eight tiles a core: the first load and the last store are small."""
    height = ceil(rows / (8 * CORES))
    share = ceil(rows / (CORES * height)) * height
    b = Builder("overlapped", grid=(CORES,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    with b.loop(begin, b.minimum(begin + share, rows), height, names="row") as row:
        values = b.load(x[row, 0], shape=(height, cols)).to(F32)
        for _ in range(3):
            values = b.tanh(values)
        b.store(values.to(F16), out[row, 0])
    return b.build()


def column_sums(rows: int, cols: int) -> Module:
    """Whole rows per core, so that runs are long; partial sums meet on the ring."""
    share, height = ceil(rows / CORES), 8
    share = ceil(share / height) * height
    b = Builder("column_sums", grid=(CORES,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(cols,), dtype=F32)
    core = b.compute_tile_id()
    begin = core * share
    total = b.fill((cols,), 0.0, F32)
    loop = b.loop(begin, begin + share, height, carry=[total], names=("row", "total"))
    with loop as (row, so_far):
        values = b.load(x[row, 0], shape=(height, cols)).to(F32)
        b.yield_(so_far + b.reduce("add", values, 0))
    whole = b.produce_reduce(loop.results[0], TileGroups.adjacent(1, CORES))
    with b.if_(core.equals(0)):
        b.store(whole, out[0])
    return b.build()


def repair_race(text: str) -> str:
    """Write to y, and begin where the core before ends."""
    text = text.replace("construct_memory_view %x", "construct_memory_view %y")
    text = text.replace("construct_memory_view %y", "construct_memory_view %x", 1)
    return text.replace("arith.constant 7 : index", "arith.constant 8 : index")
