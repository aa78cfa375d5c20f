"""Where the elements of a view lie: the digits, against a table of every element."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spyrelab.layout import (
    LayoutError,
    SpyreTensorLayout,
    access,
    contiguous_strides,
    element_offsets,
    pack,
    read,
)
from tests.layout.views import random_sample, random_strided, random_view

DEFAULT = SpyreTensorLayout.default((5, 100, 150))


def test_the_stick_axis_has_two_digits() -> None:
    found = access(DEFAULT, (5, 100, 150), (15000, 150, 1))
    assert found is not None
    assert found.start == 0
    assert found.access.axes == (((5, 64),), ((100, 960),), ((3, 320), (64, 1)))


def test_slices_of_one_shape_share_their_access() -> None:
    first = access(DEFAULT, (5, 10, 150), (15000, 150, 1), 0)
    second = access(DEFAULT, (5, 10, 150), (15000, 150, 1), 20 * 150)
    assert first and second and first.access == second.access
    assert hash(first.access) == hash(second.access)
    assert second.start == 20 * 960


def test_a_slice_that_begins_inside_a_stick() -> None:
    within = access(DEFAULT, (5, 100, 30), (15000, 150, 1), 10)
    assert within is not None and within.start == 10
    assert access(DEFAULT, (5, 100, 100), (15000, 150, 1), 10) is None


def test_broadcast_and_single_axes() -> None:
    found = access(DEFAULT, (5, 7, 1, 150), (15000, 0, 150, 1))
    assert found is not None
    assert found.access.axes[1:3] == (((7, 0),), ((1, 0),))


@pytest.mark.parametrize("choose", [random_view, random_strided])
def test_digits_agree_with_the_table(choose: object) -> None:
    rng = random.Random(1)
    followed = 0
    for number in range(2000):
        sample = random_sample(rng, ("f16", "f32", "f8E5M2", "i64"))
        packed = pack(sample.array, sample.layout, sample.stride)
        size, stride, offset = choose(rng, sample)  # type: ignore[operator]
        view = sample.view(tuple(size), tuple(stride), offset)
        shown = f"case {number}: {sample.layout}, {size}, {stride}, {offset}"
        table = element_offsets(sample.layout, size, stride, offset)
        assert (packed[table] == view).all(), shown
        found = access(sample.layout, tuple(size), tuple(stride), offset)
        if found is not None:
            followed += 1
            assert (read(packed, found) == view).all(), shown
    assert followed > 1000


def test_merged_dimensions() -> None:
    whole = SpyreTensorLayout.default((10, 128))
    found = access(whole, (1280,), (1,))
    assert found is not None and found.access.axes == (((10, 64), (2, 640), (64, 1)),)
    assert access(SpyreTensorLayout.default((10, 100)), (1000,), (1,)) is None
    table = element_offsets(SpyreTensorLayout.default((10, 100)), (1000,), (1,))
    assert table[99] == 640 + 35 and table[100] == 64


def test_the_diagonal() -> None:
    layout = SpyreTensorLayout.default((64, 64))
    found = access(layout, (64,), (65,))
    assert found is not None and found.access.axes == (((64, 65),),)


def test_pieces_cover_a_view_once_and_hold_no_padding() -> None:
    found = access(DEFAULT, (5, 100, 150), contiguous_strides((5, 100, 150)))
    assert found is not None
    covered = np.zeros((5, 100, 150), int)
    for piece in found.access.pieces:
        covered[piece.slices] += 1
        assert np.prod(piece.shape) == np.prod(piece.size)
    assert (covered == 1).all()


def test_a_view_beyond_the_tensor_is_an_error() -> None:
    with pytest.raises(LayoutError, match="does not have"):
        element_offsets(DEFAULT, (6, 100, 150), (15000, 150, 1))
    assert access(DEFAULT, (6, 100, 150), (15000, 150, 1)) is None


def test_no_coordinate_leaves_its_extent() -> None:
    """A second tile beside 193 rows of 8 elements: the offsets of other rows are its own."""
    layout = SpyreTensorLayout([2, 4, 194, 2, 4, 16], [1, 1544, 8, 16, 2, -1], "i64")
    size = (2, 193, 4, 2, 1)
    assert access(layout, size, contiguous_strides(size)) is None
    with pytest.raises(LayoutError, match="does not have"):
        pack(np.zeros(size, np.int64), layout)
