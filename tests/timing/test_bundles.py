"""A product costs in a bundle what it costs as a program of its own."""

from __future__ import annotations

import pytest

from spyrelab import timing
from spyrelab.tiling import lower_bundle
from spyrelab.tiling.blocks import Draft
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.timing.splits import split_times

CASES = [
    (128, 1024, 1024, (4, 8, 1)),
    (512, 4096, 4096, (4, 8, 1)),
    (512, 1024, 4096, (32, 1, 1)),
    (16, 4096, 1024, (1, 32, 1)),
    (512, 4096, 4096, (1, 32, 1)),
    (64, 1024, 4096, (1, 8, 4)),
]


@pytest.mark.parametrize(("m", "n", "k", "parts"), CASES)
def test_a_lone_product_is_priced_as_best_split_prices_it(
    m: int, n: int, k: int, parts: tuple[int, int, int]
) -> None:
    draft = Draft()
    draft.op("mm", draft.input("x", m, k), draft.input("w", k, n), size=(m, n))
    (known,) = [c for c in split_times(1, m, n, k) if tuple(c.split) == (1, *parts)]
    made = lower_bundle([with_split(draft.ops[0], Split(parts))])
    found = timing.estimate(made.module).seconds
    assert found == pytest.approx(known.seconds, rel=0.01)
