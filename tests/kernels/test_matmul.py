"""Matmul: sizes, splits with and without partners, tiles that fit, what is stored with it."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.kernels import KernelError, matmul
from spyrelab.kernels.division import LX_BYTES
from spyrelab.kernels.matmul_tiles import choose_tiles

SPLITS = [(1, 1, 1, 1), (1, 4, 8, 1), (1, 2, 4, 4), (1, 1, 3, 2), (1, 1, 1, 7)]


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 65, 3), (63, 64, 65), (127, 129, 131)])
@pytest.mark.parametrize("split", SPLITS)
def test_sizes_and_splits(check, size, split):
    m, n, k = size
    check("matmul", b=1, m=m, n=n, k=k, split=split, scale=2)


@pytest.mark.parametrize("partners", ["adjacent", "16 apart"])
@pytest.mark.parametrize("split", [(1, 1, 16, 2), (1, 2, 4, 4), (2, 1, 4, 4), (1, 1, 1, 32)])
def test_partners_fold_their_sums(check, split, partners):
    b, m, n, k = 2 if split[0] > 1 else 1, 24, 80, 160
    done = check("matmul", b=b, m=m, n=n, k=k, split=split, k_partners=partners, scale=2)
    assert np.sum(done.counters.ring) == 4 * b * m * n * (split[3] - 1)


@pytest.mark.parametrize("b", [2, 5, 33])
@pytest.mark.parametrize("split", [(4, 1, 2, 1), (32, 1, 1, 1), (1, 2, 2, 2)])
def test_batches(check, b, split):
    check("matmul", b=b, m=17, n=33, k=65, split=split, scale=2)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "df16"])
def test_types(check, dtype):
    check("matmul", b=1, m=20, n=70, k=90, dtype=dtype, split=(1, 2, 2, 2), scale=4)


@pytest.mark.parametrize("split", [(1, 1, 1, 1), (1, 1, 1, 2)])
def test_blocks_larger_than_the_scratchpad_are_tiled(check, split):
    check("matmul", b=1, m=300, n=1100, k=2100, split=split, scale=2)


@pytest.mark.parametrize(
    "share", [(1, 1, 32768, 4096), (4, 512, 512, 128), (1, 2048, 448, 8192), (1, 9973, 9973, 9973)]
)
@pytest.mark.parametrize("partial", [False, True])
def test_tiles_cover_a_share_and_fit(share, partial):
    tiles = choose_tiles(*share, 2, partial)
    assert tiles.live_bytes(2, partial) <= LX_BYTES
    counts = (tiles.batch_count, tiles.row_count, tiles.col_count, tiles.depth_count)
    sizes = (tiles.batch, tiles.rows, tiles.cols, tiles.depth)
    for extent, size, count in zip(share, sizes, counts, strict=True):
        assert extent <= size * count < extent + count + size


def test_the_back_end_share_is_an_attribute_and_changes_nothing_else():
    one, other = (matmul(1, 64, 64, 64, lx_backend_fraction=f).functions[0] for f in (0.1, 0.4))
    assert one.attributes["spyrelab.lx_backend_fraction"] == 0.1
    other.attributes["spyrelab.lx_backend_fraction"] = 0.1
    assert str(one.body) == str(other.body)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"m": 0}, "m = 0"),
        ({"split": (1, 0, 1, 1)}, "split of m"),
        ({"split": (1, 2)}, "four parts"),
        ({"k_partners": "far"}, "k_partners"),
        ({"lx_backend_fraction": 1.0}, "lx_backend_fraction"),
        ({"dtype": "i8"}, "dtype"),
    ],
)
def test_rejected_parameters(change, reason):
    with pytest.raises(KernelError, match=reason):
        matmul(**{"b": 1, "m": 8, "n": 8, "k": 8, **change})
