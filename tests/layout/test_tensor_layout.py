"""Layouts: known values, the identity that defines them, and layouts that cannot be."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from spyrelab.layout import (
    LayoutError,
    SpyreTensorLayout,
    contiguous_strides,
    element_offsets,
)
from tests.layout.views import random_sample

KNOWN = [
    ((5, 100, 150), None, [100, 3, 5, 64], [150, 64, 15000, 1]),
    ((5, 100, 150), [1, 0, 2], [5, 3, 100, 64], [15000, 64, 150, 1]),
    ((5, 100, 150), [0, 2, 1], [150, 2, 5, 64], [1, 9600, 15000, 150]),
    ((512, 256), None, [4, 512, 64], [64, 256, 1]),
    ((512, 256), [1, 0], [8, 256, 64], [16384, 1, 256]),
    ((2, 3, 4, 65), None, [3, 4, 2, 2, 64], [260, 65, 64, 780, 1]),
    ((2, 3, 4, 5, 6), None, [3, 4, 5, 1, 2, 64], [120, 30, 6, 64, 360, 1]),
    ((7,), None, [1, 64], [64, 1]),
    ((), None, [1, 64], [64, 1]),
    ((1,), None, [1, 64], [64, 1]),
    ((3, 1), None, [1, 3, 64], [64, 1, -1]),
]


@pytest.mark.parametrize(("size", "order", "device_size", "stride_map"), KNOWN)
def test_known_layouts(
    size: tuple[int, ...], order: list[int] | None, device_size: list[int], stride_map: list[int]
) -> None:
    layout = SpyreTensorLayout.default(size, "f16", order)
    assert (list(layout.device_size), list(layout.stride_map)) == (device_size, stride_map)


@pytest.mark.parametrize(("dtype", "lanes"), [("f32", 32), ("bf16", 64), ("f8E4M3FN", 128)])
def test_a_stick_holds_128_bytes(dtype: str, lanes: int) -> None:
    layout = SpyreTensorLayout.default((3, 200), dtype)
    assert layout.elements_per_stick == lanes == layout.device_size[-1]
    assert layout.device_size == (-(-200 // lanes), 3, lanes)
    assert layout.nbytes == math.prod(layout.device_size) * 128 // lanes


def test_sparse_linear_padded_and_canonical() -> None:
    sparse = SpyreTensorLayout.sparse((3, 4))
    assert (sparse.device_size, sparse.stride_map) == ((3, 4, 64), (4, 1, -1))
    assert sparse.is_synthetic and not sparse.is_linear
    linear = SpyreTensorLayout.linear((3, 4), "i64")
    assert (linear.device_size, linear.stride_map) == ((3, 4), (4, 1)) and linear.is_linear
    turned = SpyreTensorLayout.linear((3, 4), "i64", (1, 3))
    assert (turned.device_size, turned.stride_map) == ((4, 3), (3, 1)) and turned.is_linear
    padded = SpyreTensorLayout.default((5, 100)).padded([2, 64, 64])
    assert (padded.device_size, padded.stride_map) == ((2, 64, 64), (64, 100, 1))
    small = SpyreTensorLayout.default((2, 1, 7)).canonical()
    assert small == SpyreTensorLayout([2, 64], [7, 1])


def test_equal_layouts_are_one_key() -> None:
    first = SpyreTensorLayout.default((5, 100, 150), "f16")
    again = SpyreTensorLayout([100, 3, 5, 64], (150, 64, 15000, 1), "torch.float16")
    assert first == again and hash(first) == hash(again) and len({first, again}) == 1
    assert first != SpyreTensorLayout.default((5, 100, 150), "bf16")


def test_host_offset_is_the_dot_product_for_every_element() -> None:
    rng = random.Random(0)
    for number in range(300):
        sample = random_sample(rng)
        layout = sample.layout
        places = element_offsets(layout, sample.size, sample.stride)
        indices = np.indices(sample.size)
        strides = np.reshape(sample.stride, (-1,) + (1,) * len(sample.size))
        offsets = (indices * strides).sum(axis=0)
        coordinates = np.stack(np.unravel_index(places, layout.device_size or (1,)))
        steps = np.maximum(layout.stride_map or (0,), 0)
        assert (np.tensordot(steps, coordinates, 1) == offsets).all(), f"case {number}: {layout}"
        if layout.device_size:
            last = tuple(int(c) for c in coordinates[(slice(None), *[-1] * len(sample.size))])
            assert layout.host_offset(last) == offsets.max()


@pytest.mark.parametrize(
    ("device_size", "stride_map", "dtype", "message"),
    [
        ([4, 64], [64], "f16", "every device dimension needs one host stride"),
        ([-1, 64], [64, 1], "f16", "negative extent"),
        ([4, 64], [-1, 1], "f16", "only the last dimension may have -1"),
        ([4, 64], [64, -2], "f16", "negative stride"),
        ([4, 2, 64], [1, 64, 1], "f16", "two places"),
        ([4, 64], [0, 1], "f16", "two places"),
        ([4, 64], [64, 1], "complex64", "no element type"),
        ([4, 64], [64, 1], "float64", "no element type"),
    ],
)
def test_layouts_that_cannot_be(
    device_size: list[int], stride_map: list[int], dtype: str, message: str
) -> None:
    with pytest.raises(LayoutError, match=message):
        SpyreTensorLayout(device_size, stride_map, dtype)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(LayoutError, match="no permutation"):
        SpyreTensorLayout.default((3, 4), dim_order=[0, 0])
    with pytest.raises(LayoutError, match="differ in rank"):
        SpyreTensorLayout.default((3, 4), host_stride=(1,))
    with pytest.raises(LayoutError, match="would drop"):
        SpyreTensorLayout.default((3, 4)).padded([1, 2, 64])
    with pytest.raises(LayoutError, match="lies outside"):
        SpyreTensorLayout.default((3, 4)).host_offset((0, 3, 0))


def test_contiguous_strides() -> None:
    assert contiguous_strides(()) == ()
    assert contiguous_strides((5, 1, 7)) == (7, 7, 1)
    assert contiguous_strides((5, 0, 7)) == (7, 7, 1)


@pytest.mark.parametrize(
    ("size", "grown"), [((33, 4), (4, 33, 32)), ((2, 31), (2, 2, 32)), ((40, 1), (2, 40, 32))]
)
def test_padding_takes_no_offsets_of_elements(
    size: tuple[int, ...], grown: tuple[int, ...]
) -> None:
    with pytest.raises(LayoutError, match=r"dimension 0 of .* cannot be padded"):
        SpyreTensorLayout.default(size, "f32").padded(grown)


@pytest.mark.parametrize(
    ("size", "grown"), [((1, 50), (1, 2, 64)), ((50,), (2, 64)), ((1, 3, 150), (4, 3, 2, 64))]
)
def test_padding_leaves_every_element_where_it_is(
    size: tuple[int, ...], grown: tuple[int, ...]
) -> None:
    layout, stride = SpyreTensorLayout.default(size), contiguous_strides(size)
    places = [
        np.unravel_index(element_offsets(each, size, stride), each.device_size)
        for each in (layout, layout.padded(grown))
    ]
    np.testing.assert_array_equal(*places)
