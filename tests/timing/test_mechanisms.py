"""What single mechanisms of the model do, each on the smallest program that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyrelab import kernels
from spyrelab.ktir import F16, F32, Builder, Module
from spyrelab.layout import SpyreTensorLayout
from spyrelab.timing import CONSTANTS, estimate
from spyrelab.timing.contraction import price
from spyrelab.timing.fit import usable
from spyrelab.timing.measurements import contraction_of, read_measurements
from spyrelab.timing.stream import seconds as stream_seconds

DATA = Path(__file__).parents[2] / "book" / "data" / "spyre_measurements.csv"


def projection(kept: bool, rows: int = 32768, depth: int = 512, columns: int = 512) -> Module:
    """``exp(x @ w)`` in tiles of rows, with w loaded once or for every tile."""
    b = Builder("projection", grid=(32,))
    places = b.pointers("x", "w", "out")
    extents = ((rows, depth), (depth, columns), (rows, columns))
    x, w, out = (b.view(p, sizes=e, dtype=F16) for p, e in zip(places, extents, strict=True))
    first = b.compute_tile_id() * (rows // 32)
    weight = b.load(w[0, 0], shape=(depth, columns)) if kept else None
    with b.loop(0, rows // 32, 32, names="row") as row:
        tile = b.load(x[first + row, 0], shape=(32, depth))
        right = weight if weight is not None else b.load(w[0, 0], shape=(depth, columns))
        b.store(b.exp(b.matmul(tile, right)).to(F16), out[first + row, 0])
    return b.build()


def test_an_operand_that_stays_is_read_once() -> None:
    kept, again = estimate(projection(True)), estimate(projection(False))
    assert kept.port_bytes == 2 * (2 * 32768 * 512 + 512 * 512)
    assert kept.plan is not None
    assert again.plan is not None
    assert kept.plan.contraction.right_kept
    assert not again.plan.contraction.right_kept
    assert again.seconds > 2 * kept.seconds
    assert kept.seconds > kept.port_bytes / 159e9


def exponentials(height: int, rows: int, times: int) -> Module:
    b = Builder("exponentials", grid=(32,))
    x, out = (b.view(p, sizes=(rows, 512), dtype=F16) for p in b.pointers("x", "out"))
    first = b.compute_tile_id() * (rows // 32)
    with b.loop(0, rows // 32, height, names="row") as row:
        tile = b.load(x[first + row, 0], shape=(height, 512)).to(F32)
        for _ in range(times):
            tile = b.exp(tile)
        b.store(tile.to(F16), out[first + row, 0])
    return b.build()


def test_the_first_iteration_hides_nothing() -> None:
    """Two tiles, bound by the port: it waits once, while the first tile is computed."""
    made = estimate(exponentials(256, 16384, times=2))
    steps = {s.step.label.split()[0]: s for s in made.schedule.segments}
    loads = 2 * steps["load"].step.port_seconds
    work = sum(s.busy[0] for s in made.schedule.segments if s.step.label == "math.exp") / 2
    waits = steps["load"].step.port_seconds + work - loads
    assert waits > 0
    assert made.seconds >= made.busy_seconds("port") + waits


def test_tiles_that_fit_once_take_turns() -> None:
    """Loads of 512 KB do not fit twice into a share of 419 KB."""
    made = estimate(exponentials(512, 65536, times=4))
    turns = made.busy_seconds("port") + made.busy_seconds("sfp")
    assert made.seconds == pytest.approx(turns, rel=0.03)
    assert estimate(exponentials(256, 65536, times=4)).seconds < 0.8 * made.seconds


def test_few_batched_sums_hardly_spill() -> None:
    """32 KB of sums per core: LX-007 and LX-008 took 60 us each, whatever the share."""
    rows = {row.id: row for row in read_measurements(DATA)}
    small, large = (contraction_of(rows[name]) for name in ("LX-007", "LX-001"))
    assert small.batch * small.rows * small.columns * 4 == 32 * 1024
    spilled = [float(price(work).port_spill / price(work).port_read) for work in (small, large)]
    assert spilled[0] < 0.15
    assert spilled[1] > 1


@pytest.mark.parametrize("name", ["BW-003", "BW-004", "BW-006"])
def test_streams_of_the_file_are_near(name: str) -> None:
    """Their columns count bytes; so read they agree with the sums (PS-006) on one rate."""
    rows = {row.id: row for row in read_measurements(DATA)}
    row = rows[name]
    assert row.extents[1] == 1024
    assert stream_seconds(row, CONSTANTS) * 1e6 == pytest.approx(row.measured_us, rel=0.07)


def test_rounded_rows_are_not_fitted() -> None:
    rows = {row.id: row for row in read_measurements(DATA)}
    assert not usable(rows["PS-002"])
    assert not usable(rows["LX-001"])
    assert usable(rows["GS-072"])
    assert usable(rows["KF-001"])


@pytest.mark.parametrize(
    ("extents", "split"),
    [
        ((1, 1024, 4096, 512), (1, 4, 8, 1)),
        ((8, 512, 512, 128), (8, 2, 2, 1)),
        ((4, 64, 512, 256), (4, 1, 8, 1)),
    ],
)
def test_a_product_of_sticks_costs_what_a_product_of_rows_costs(
    extents: tuple[int, int, int, int], split: tuple[int, int, int, int]
) -> None:
    """Where sticks come out even, layouts move the same bytes: the batch is not mistaken."""
    b, m, n, k = extents
    sizes = {"a": (m, k), "b": (k, n), "out": (m, n)}
    layouts = {
        name: SpyreTensorLayout.default((b, *size) if b > 1 else size)
        for name, size in sizes.items()
    }
    rows = estimate(kernels.matmul(*extents, split=split))
    sticks = estimate(kernels.matmul(*extents, split=split, layouts=layouts))
    assert sticks.cycles == rows.cycles
