"""A view made anew in every turn costs what a tile that moves in one view costs."""

from __future__ import annotations

import pytest

from spyrelab.ktir import F16, F32, Builder, Module
from spyrelab.timing import estimate

N = 512


def product(moving: bool, rows: int, columns: int, depth: int) -> Module:
    """Square matrices of f16, ``rows x columns`` of the result on a core at a time."""
    b = Builder("product", (32,))
    pointers = b.pointers("a", "c", "o")
    core = b.compute_tile_id()

    def box(which: int, row: object, column: object, shape: tuple[int, int]) -> object:
        if moving:
            address = pointers[which] + row * N + column  # type: ignore[operator]
            return b.view(address, sizes=shape, strides=(N, 1), dtype=F16)[0, 0]
        return b.view(pointers[which], sizes=(N, N), dtype=F16)[row, column]

    across = N // columns
    with b.loop(core, N // rows * across, 32, names="program") as program:
        row, column = program // across * rows, program % across * columns
        zero = b.full((rows, columns), 0.0, F32)
        turns = b.loop(0, N, depth, carry=(zero,), names="k")
        with turns as (k, total):
            left = b.load(box(0, row, k, (rows, depth)), shape=(rows, depth))
            right = b.load(box(1, k, column, (depth, columns)), shape=(depth, columns))
            b.yield_(b.matmul(left, right, total))
        (total,) = turns.results
        b.store(total.to(F16), box(2, row, column, (rows, columns)))
    return b.build()


@pytest.mark.parametrize("tile", [(64, 128, 128), (128, 128, 512), (32, 512, 64), (64, 64, 64)])
def test_moving_views_of_a_product(tile: tuple[int, int, int]) -> None:
    still, moving = (estimate(product(way, *tile)) for way in (False, True))
    assert moving.seconds == pytest.approx(still.seconds, rel=1e-9)
    assert moving.port_bytes == still.port_bytes >= 3 * N * N * 2
