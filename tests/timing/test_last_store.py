"""What a program stores at its end, with nothing after it, takes its full time at the port."""

from __future__ import annotations

from spyrelab.ktir import F16, F32, Builder, Module
from spyrelab.timing import estimate


def exponential(height: int, rows: int = 16384, cols: int = 512) -> Module:
    """``out = exp(exp(x))``, each core's 512 rows in tiles of ``height``."""
    b = Builder("exponential", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    first = b.compute_tile_id() * (rows // 32)
    with b.loop(0, rows // 32, height, names="row") as row:
        tile = b.load(x[first + row, 0], shape=(height, cols)).to(F32)
        b.store(b.exp(b.exp(tile)).to(F16), out[first + row, 0])
    return b.build()


def test_one_tile_is_loads_work_and_stores_one_after_the_other() -> None:
    made = estimate(exponential(512))
    assert made.seconds >= 0.999 * sum(made.busy_seconds(u) for u in ("port", "sfp"))
