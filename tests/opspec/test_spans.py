"""Common digits of operands, and the tiles that walk them."""

from __future__ import annotations

import itertools
import math

import pytest

from spyrelab.ktir.builder import Builder
from spyrelab.layout.access import Digit
from spyrelab.opspec.spans import MixedDigitsError, common_spans, joined, plain
from spyrelab.opspec.tiling import Tiling


def offset(axis, index):
    total = 0
    for digit in reversed(axis[1:]):
        index, at = divmod(index, digit.count)
        total += at * digit.stride
    return total + index * axis[0].stride


def walked(span, operand):
    places = itertools.product(*(range(count) for count in span.counts))
    strides = span.strides[operand]
    start = span.offsets[operand]
    return [start + sum(i * s for i, s in zip(place, strides, strict=True)) for place in places]


AXES = [
    (Digit(3, 640), Digit(64, 1)),
    (Digit(400, 7),),
    (Digit(2, 1000), Digit(2, 5), Digit(64, 20)),
    plain(400),
    (Digit(2, 9000), Digit(128, 64)),
]


@pytest.mark.parametrize("extent", [1, 2, 63, 64, 65, 127, 128, 129, 192])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_spans_cover_every_index_once(extent, count):
    for axes in itertools.combinations(AXES, count):
        spans = common_spans(extent, axes)
        assert [span.low for span in spans] == [
            sum(s.extent for s in spans[:i]) for i in range(len(spans))
        ]
        for operand, axis in enumerate(axes):
            found = [place for span in spans for place in walked(span, operand)]
            assert found == [offset(axis, i) for i in range(extent)]


def test_digits_that_cut_each_other():
    with pytest.raises(MixedDigitsError) as error:
        common_spans(
            60, [(Digit(20, 9), Digit(3, 1)), (Digit(60, 2),), (Digit(30, 9), Digit(2, 1))]
        )
    assert error.value.operand in (0, 2)


def test_neighbouring_digits_are_joined():
    rows = common_spans(5, [plain(5, 12), plain(5, 24)])
    cols = common_spans(12, [plain(12, 1), plain(12, 2)])
    both = joined([rows[0], cols[0]])
    assert (both.counts, both.strides) == ((60,), ((1,), (2,)))


@pytest.mark.parametrize("counts", [(1,), (7,), (3, 64), (2, 3, 64), (5, 1, 7), (200, 64)])
@pytest.mark.parametrize("wanted", [1, 5, 64, 100, 256, 100000])
@pytest.mark.parametrize("least", [1, 64])
def test_tiles_cover_an_index(counts, wanted, least):
    tiling = Tiling.of(counts, wanted, 1, least)
    b = Builder("places")
    found = set()
    for number in range(tiling.total):
        corner = [getattr(p, "constant", p) for p in tiling.place(number, b)]
        steps = itertools.product(*(range(n) for n in tiling.shape))
        places = [tuple(c + s for c, s in zip(corner, step, strict=True)) for step in steps]
        inside = {p for p in places if all(i < n for i, n in zip(p, counts, strict=True))}
        assert inside
        assert not inside & found
        found |= inside
    assert len(found) == math.prod(counts)
    assert tiling.elements <= max(wanted, min(least, counts[-1]))
