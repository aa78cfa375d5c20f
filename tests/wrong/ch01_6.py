"""Plausible wrong answers to ch01.6.  Docstrings: the status, and how the first hint begins."""

from spyrelab.ktir import F16, F32, Builder
from spyrelab.ktir.builder import TileGroups

TASK = "ch01.6"


def build(rows, cols, *, share=None, tile=None, narrow=False, everyone=False, groups=1, guard=True):
    share = share or -(-cols // (64 * 32)) * 64
    tile = tile or share
    b = Builder("row_sums", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(rows,), dtype=F32)
    core = b.compute_tile_id()
    values = b.load(x[0, core * share], shape=(rows, tile))
    partial = b.reduce("add", values if narrow else values.to(F32), 1).to(F32)
    group = TileGroups.adjacent(groups, 32 // groups)
    total = b.produce_reduce(partial, group, everyone=everyone)
    if guard:
        with b.if_(core.equals(0)):
            b.store(total, out[0])
    else:
        b.store(total, out[0])
    return b.build()


def sums_in_f16(rows, cols):
    """wrong: Large sums need more digits than f16 has"""
    return build(rows, cols, narrow=True)


def drops_the_tail(rows, cols):
    """wrong: Columns at the end are lost"""
    return build(rows, cols, share=cols // 32)


def shares_overlap(rows, cols):
    """wrong: Do all 32 cores take part"""
    share = -(-cols // (64 * 32)) * 64
    return build(rows, cols, share=share, tile=share + 64)


def two_groups(rows, cols):
    """wrong: Do all 32 cores take part"""
    return build(rows, cols, groups=2)


def everyone_receives(rows, cols):
    """over budget: Too many bytes on the ring"""
    return build(rows, cols, everyone=True)


def everyone_stores(rows, cols):
    """over budget: Each element of x is read by one core only"""
    return build(rows, cols, everyone=True, guard=False)


def whole_tiles_travel(rows, cols):
    """over budget: Too many bytes on the ring"""
    share = -(-cols // (64 * 32)) * 64
    b = Builder("row_sums", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(rows,), dtype=F32)
    core = b.compute_tile_id()
    tile = b.load(x[0, core * share], shape=(rows, share)).to(F32)
    folded = b.produce_reduce(tile, TileGroups.adjacent(1, 32))
    with b.if_(core.equals(0)):
        b.store(b.reduce("add", folded, 1), out[0])
    return b.build()


def every_core_reads_everything(rows, cols):
    """over budget: Each element of x is read by one core only"""
    b = Builder("row_sums", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(rows,), dtype=F32)
    core = b.compute_tile_id()
    total = b.reduce("add", b.load(x[0, 0], shape=(rows, cols)).to(F32), 1)
    with b.if_(core.equals(0)):
        b.store(total, out[0])
    return b.build()


def one_core_does_it_all(rows, cols):
    """over budget: Is every core at work?"""
    b = Builder("row_sums", grid=(1,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(rows,), dtype=F32)
    b.store(b.reduce("add", b.load(x[0, 0], shape=(rows, cols)).to(F32), 1), out[0])
    return b.build()
