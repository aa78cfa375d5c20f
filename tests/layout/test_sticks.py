"""What sticks hold, and what views make of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spyrelab.layout import (
    LayoutError,
    SpyreTensorLayout,
    access,
    contiguous_strides,
    pack,
    unpack,
)
from spyrelab.layout.sticks import Holding, Sticks, follow, layout_of, stick_layout, sticks_of
from tests.layout.views import random_sample

Layout = SpyreTensorLayout


@pytest.mark.parametrize(
    ("layout", "size", "expected"),
    [
        (Layout.default((512, 256)), (512, 256), Sticks(Holding.DENSE, 1)),
        (Layout.default((512, 256), dim_order=[1, 0]), (512, 256), Sticks(Holding.DENSE, 0)),
        (Layout.default((5, 10)), (5, 10), Sticks(Holding.DENSE, 1)),
        (Layout.default((5, 1)), (5, 1), Sticks(Holding.SPARSE)),
        (Layout.sparse((5, 10)), (5, 10), Sticks(Holding.SPARSE)),
        (Layout.linear((5, 128)), (5, 128), Sticks(Holding.DENSE, 1)),
        (Layout.linear((5, 100)), (5, 100), Sticks(Holding.MIXED)),
        (Layout.linear((100,)), (100,), Sticks(Holding.DENSE, 0)),
        (Layout.linear((6, 32)), (6, 32), Sticks(Holding.MIXED)),
        (Layout.default((1, 1)), (1, 1), Sticks(Holding.SCALAR)),
        (Layout.default(()), (), Sticks(Holding.SCALAR)),
    ],
)
def test_sticks_of(layout: Layout, size: tuple[int, ...], expected: Sticks) -> None:
    assert sticks_of(layout, size) == expected


def test_in_words() -> None:
    assert str(Sticks(Holding.DENSE, 2)) == "sticks along dimension 2"
    assert str(Sticks(Holding.SPARSE)) == "one element per stick"


def test_a_layout_of_another_tensor_is_refused() -> None:
    with pytest.raises(LayoutError, match="does not describe"):
        sticks_of(Layout.default((5, 10)), (6, 10))


def test_stick_layout_runs_along_the_dimension() -> None:
    for dimension in range(3):
        layout = stick_layout((5, 100, 150), "f16", dimension)
        assert sticks_of(layout, (5, 100, 150)) == Sticks(Holding.DENSE, dimension)
    assert stick_layout((5, 1), "f16", 1) == Layout.sparse((5, 1))


def test_a_transpose_keeps_memory_and_turns_the_sticks() -> None:
    turned = follow(Layout.default((512, 256)), (256, 512), (1, 256))
    assert turned == Layout.default((256, 512), dim_order=[1, 0])


def test_slices() -> None:
    layout = Layout.default((100, 256))
    rows = follow(layout, (10, 256), (256, 1), 20 * 256)
    assert rows is not None and sticks_of(rows, (10, 256)) == Sticks(Holding.DENSE, 1)
    columns = follow(layout, (100, 64), (256, 1), 128)
    assert columns is not None and sticks_of(columns, (100, 64)) == Sticks(Holding.DENSE, 1)
    assert follow(layout, (100, 64), (256, 1), 32) is None
    single = follow(layout, (100,), (256,), 64)
    assert single is not None and sticks_of(single, (100,)) == Sticks(Holding.SPARSE)


def test_heads_out_of_a_row() -> None:
    heads = follow(Layout.default((10, 256)), (10, 4, 64), (256, 64, 1))
    assert heads is not None and sticks_of(heads, (10, 4, 64)) == Sticks(Holding.DENSE, 2)
    small = follow(Layout.default((10, 256)), (10, 8, 32), (256, 32, 1))
    assert small is not None and sticks_of(small, (10, 8, 32)) == Sticks(Holding.MIXED)


def test_a_followed_view_reads_the_same_memory() -> None:
    """The derived layout, as one of a contiguous tensor, finds the view's elements."""
    rng = random.Random(5)
    followed = 0
    for number in range(1500):
        sample = random_sample(rng, ("f16", "f32"))
        size, stride = sample.size, list(sample.stride)
        order = rng.sample(range(len(size)), len(size))
        view = [size[d] for d in order]
        steps, offset = [stride[d] for d in order], 0
        if view and rng.random() < 0.7:
            at = rng.randrange(len(view))
            low = rng.choice([0, 0, 64, rng.randrange(view[at])]) % view[at]
            offset, view[at] = low * steps[at], rng.randint(1, view[at] - low)
        layout = follow(sample.layout, tuple(view), tuple(steps), offset)
        if layout is None:
            continue
        followed += 1
        found = access(sample.layout, tuple(view), tuple(steps), offset)
        assert found is not None
        packed = pack(sample.array, sample.layout, sample.stride)[found.start :]
        packed = np.pad(packed, (0, max(0, layout.numel - packed.size)))[: layout.numel]
        expected = sample.view(tuple(view), tuple(steps), offset)
        shown = f"case {number}: {sample.layout}, {view}, {steps}, {offset} -> {layout}"
        assert (unpack(packed, layout, view) == expected).all(), shown
    assert followed > 700


def test_layout_of_is_the_inverse_of_access() -> None:
    for layout, size in [
        (Layout.default((5, 100, 150)), (5, 100, 150)),
        (Layout.sparse((5, 10)), (5, 10)),
        (Layout.linear((5, 10), "f32"), (5, 10)),
        (Layout.default((3, 70), dim_order=[1, 0]).padded([1, 96, 64]), (3, 70)),
    ]:
        found = access(layout, size, contiguous_strides(size))
        assert found is not None
        again = layout_of(found.access, layout.dtype)
        assert again is not None
        assert access(again, size, contiguous_strides(size)) == found
