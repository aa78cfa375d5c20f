"""Model answers of chapter 1."""

from __future__ import annotations

from spyrelab.ktir import F16, F32, I32, Builder, Module
from spyrelab.ktir.builder import TileGroups

CORES, STICK = 32, 128


def owner_of(index: int, n: int, itemsize: int) -> tuple[int, int, int]:
    """Sticks in equal runs of neighbours."""
    lanes = STICK // itemsize
    run = -(-n // (lanes * CORES))
    stick, lane = divmod(index, lanes)
    return stick // run, stick, lane


def axpy(n: int, alpha: float) -> Module:
    """One tile per core; what overhangs the end is masked by the view."""
    share = -(-n // (64 * CORES)) * 64
    tile = min(share, n)
    b = Builder("axpy", grid=(CORES,))
    x, y, out = (b.view(p, sizes=(n,), dtype=F16) for p in b.pointers("x", "y", "out"))
    first = b.compute_tile_id() * share
    scaled = b.load(x[first], shape=(tile,)) * alpha
    b.store(scaled + b.load(y[first], shape=(tile,)), out[first])
    return b.build()


def predict_traffic(rows: int, cols: int) -> tuple[int, int]:
    """Reads: x twice (2 bytes), powers (4); writes: powers (4), out (2)."""
    elements = rows * cols
    return elements * (2 + 2 + 4), elements * (4 + 2)


def repair_centre(text: str) -> str:
    """The stride of x, the identity of the maximum, the step of the loop."""
    text = text.replace("strides: [96, 1]", "strides: [100, 1]")
    text = text.replace("dense<0.000000e+00>", "dense<0xFC00>")
    return text.replace("arith.constant 16 : index", "arith.constant 32 : index")


def softmax(rows: int, cols: int) -> Module:
    """Row by row, everything between the load and the store in the scratchpad."""
    share = -(-rows // CORES)
    b = Builder("softmax", grid=(CORES,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    with b.loop(begin, b.minimum(begin + share, rows), names="row") as row:
        values = b.load(x[row, 0], shape=(1, cols)).to(F32)
        top = b.broadcast(b.reduce("max", values, 1), (1, cols), 1)
        powers = b.exp(values - top)
        total = b.broadcast(b.reduce("add", powers, 1), (1, cols), 1)
        b.store((powers / total).to(F16), out[row, 0])
    return b.build()


def row_sums(rows: int, cols: int) -> Module:
    """Sums of own columns, then one fold to core 0."""
    share = -(-cols // (64 * CORES)) * 64
    b = Builder("row_sums", grid=(CORES,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    out = b.view(out_at, sizes=(rows,), dtype=F32)
    core = b.compute_tile_id()
    values = b.load(x[0, core * share], shape=(rows, min(share, cols))).to(F32)
    partial = b.reduce("add", values, 1)
    total = b.produce_reduce(partial, TileGroups.adjacent(1, CORES))
    with b.if_(core.equals(0)):
        b.store(total, out[0])
    return b.build()


def gather_tokens(tokens: int, pages: int, width: int) -> Module:
    """A page per step; the view of out drops the tokens beyond the end."""
    needed = -(-tokens // 16)
    b = Builder("gather_tokens", grid=(CORES,))
    store_at, table_at, out_at = b.pointers("store", "table", "out")
    store = b.view(store_at, sizes=(pages, 16, width), dtype=F16)
    table = b.view(table_at, sizes=(needed,), dtype=I32)
    out = b.view(out_at, sizes=(tokens, width), dtype=F16)
    with b.loop(b.compute_tile_id(), needed, CORES, names="page") as page:
        rows = b.gather(store, (16, width), lambda t, c: (table[page], t, c))
        b.store(rows, out[page * 16, 0])
    return b.build()


def tallest_tile(cols: int, lx_bytes: int) -> int:
    """At its worst the program holds the tile twice: in f16 and in f32."""

    def peak(height: int) -> int:
        return sum(-(-height * cols * size // STICK) * STICK for size in (2, 4))

    height = lx_bytes // (6 * cols)
    while peak(height) > lx_bytes:
        height -= 1
    return height
