"""Packing and unpacking: the identity, the padding, the number formats."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spyrelab.layout import (
    LayoutError,
    SpyreTensorLayout,
    access,
    contiguous_strides,
    convert,
    element_offsets,
    pack,
    read,
    unpack,
    write,
)
from tests.layout.views import random_sample, random_view


def test_pack_then_unpack_is_the_identity() -> None:
    """2,000 random shapes, strides, layouts and types; padding is zero, and never read."""
    rng = random.Random(2)
    for number in range(2000):
        sample = random_sample(rng)
        shown = f"case {number}: {sample.size}, {sample.stride}, {sample.layout}"
        packed = pack(sample.array, sample.layout, sample.stride)
        places = element_offsets(sample.layout, sample.size, sample.stride)
        assert len(np.unique(places)) == sample.array.size, shown
        padding = np.ones(packed.size, bool)
        padding[places.ravel()] = False
        assert not packed[padding].any(), shown
        packed[padding] = -1 % 256
        again = unpack(packed, sample.layout, sample.size, sample.stride)
        assert (again == sample.array).all(), shown


def test_views_with_offsets_read_and_write_their_own_elements_only() -> None:
    rng = random.Random(3)
    for number in range(1000):
        sample = random_sample(rng, ("f16", "f32"))
        size, stride, offset = random_view(rng, sample)
        found = access(sample.layout, tuple(size), tuple(stride), offset)
        if found is None or 0 in stride:
            continue
        packed = pack(sample.array, sample.layout, sample.stride)
        before, new = packed.copy(), np.full(size, 9999, packed.dtype)
        write(packed, found, new)
        assert (read(packed, found) == 9999).all(), f"case {number}"
        touched = element_offsets(sample.layout, size, stride, offset)
        before[touched] = 9999
        assert (packed == before).all(), f"case {number}"


def test_known_sticks() -> None:
    array = np.arange(3 * 70, dtype=np.uint16).reshape(3, 70)
    packed = pack(array, SpyreTensorLayout.default((3, 70))).reshape(2, 3, 64)
    assert (packed[0] == array[:, :64]).all()
    assert (packed[1, :, :6] == array[:, 64:]).all() and not packed[1, :, 6:].any()
    sparse = pack(array, SpyreTensorLayout.sparse((3, 70))).reshape(3, 70, 64)
    assert (sparse[:, :, 0] == array).all() and not sparse[:, :, 1:].any()


@pytest.mark.parametrize("size", [(), (0,), (3, 0), (0, 0), (3, 0, 64), (1,), (1, 1, 1)])
def test_empty_and_single(size: tuple[int, ...]) -> None:
    array = np.full(size, 7, np.uint16)
    layout = SpyreTensorLayout.default(size)
    assert (unpack(pack(array, layout), layout, size) == array).all()


def test_arrays_that_do_not_fit_are_refused() -> None:
    layout = SpyreTensorLayout.default((3, 70))
    with pytest.raises(LayoutError, match="elements of 4 bytes"):
        pack(np.zeros((3, 70), np.float32), layout)
    with pytest.raises(LayoutError, match="does not have"):
        pack(np.zeros((4, 70), np.uint16), layout)
    with pytest.raises(LayoutError, match=r"does not (have|describe)"):
        unpack(np.zeros(layout.numel, np.uint16), layout, (70, 3, 9))


def test_half_to_the_1_6_9_format_and_back() -> None:
    values = np.array([0, 1, -2.5, 65504, 2**-14, 1 + 2**-9], np.float16)
    packed = convert(values.view(np.uint16), "f16", "df16")
    assert packed[1] == 31 << 9
    back = convert(packed, "df16", "f16").view(np.float16)
    assert (back[:3] == values[:3]).all() and back[5] == values[5]
    assert np.isinf(back[3]) or abs(back[3] / values[3] - 1) < 2**-9


def test_every_short_float_survives_the_way_through_a_wider_format() -> None:
    for short in ("f8E4M3FN", "f8E5M2"):
        bits = np.arange(256, dtype=np.uint8)
        there = convert(bits, short, "f16")
        back = convert(there, "f16", short)
        numbers = ~np.isnan(there.view(np.float16))
        assert (back[numbers] == bits[numbers]).all()
    half = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    there = convert(half, "df16", "f32")
    back = convert(there, "f32", "df16")
    finite = np.isfinite(there.view(np.float32))
    assert finite.sum() > 65000 and (back[finite] == half[finite]).all()
    brain = convert(convert(half, "bf16", "f32"), "f32", "bf16")
    numbers = (half & 0x7FFF) <= 0x7F80
    assert (brain[numbers] == half[numbers]).all()


def test_contiguous_is_the_default_stride() -> None:
    array = np.arange(200, dtype=np.uint16).reshape(2, 100)
    layout = SpyreTensorLayout.default((2, 100))
    assert (pack(array, layout) == pack(array, layout, contiguous_strides((2, 100)))).all()
