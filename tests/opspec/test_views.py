"""How views lie in device memory, and the boxes that programs walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyrelab.layout import SpyreTensorLayout, element_offsets
from spyrelab.opspec import Placed, Scattered, Shifted, Unsuitable, flipped, place
from spyrelab.opspec.iteration import Box, boxes
from spyrelab.opspec.views import contiguous, offsets_of
from tests.opspec.host import Tensor
from tests.opspec.random_views import Plan, sizes, views


def _view(plan: Plan) -> Tensor:
    strides = tuple(np.empty(plan.size, np.int8).strides)
    tensor = Tensor(0, plan.layout, plan.dtype, plan.size, strides)
    return tensor.transpose(*plan.permutation)[plan.index].expand(*plan.expanded)


@given(st.data())
def test_places_are_where_the_layout_says(data: Any) -> None:
    view = _view(data.draw(views(data.draw(sizes()), data.draw(st.sampled_from(["f16", "f32"])))))
    found = place(view.layout, view.size, view.stride, view.offset)
    wanted = element_offsets(view.layout, view.size, view.stride, view.offset)
    np.testing.assert_array_equal(offsets_of(found.access) + found.start, wanted)


def test_slices_across_a_stick_are_shifted() -> None:
    layout = SpyreTensorLayout.default((4, 256), "f16")
    assert isinstance(place(layout, (4, 100), (256, 1), 3).access, Shifted)
    assert isinstance(place(layout, (4, 60), (256, 1), 3).access, type(contiguous((1,))))
    odd = SpyreTensorLayout.default((7, 100), "f16")
    assert isinstance(place(odd, (4, 103), (130, 1), 3).access, Scattered)


@given(st.data())
def test_flipped_views_are_read_backwards(data: Any) -> None:
    view = _view(data.draw(views(data.draw(sizes()), "f16")))
    dims = data.draw(st.lists(st.integers(0, max(len(view.size) - 1, 0)), unique=True))
    dims = dims if view.size else []
    found = place(view.layout, view.size, view.stride, view.offset)
    turned = flipped(found, dims)
    if turned is None:
        assert isinstance(found.access, Scattered)
        return
    wanted = np.flip(offsets_of(found.access) + found.start, dims)
    np.testing.assert_array_equal(offsets_of(turned.access) + turned.start, wanted)


def _points(box: Box, operand: int) -> np.ndarray:
    total = np.full(box.counts, box.offsets[operand])
    for axis, (count, stride) in enumerate(zip(box.counts, box.strides[operand], strict=True)):
        shape = [1] * len(box.counts)
        shape[axis] = count
        total = total + (np.arange(count) * stride).reshape(shape)
    return total.reshape(-1)


@given(st.data())
def test_boxes_visit_every_point_once(data: Any) -> None:
    size = data.draw(sizes())
    accesses = []
    for number, dtype in enumerate(("f16", "f32", "i64")):
        view = _view(data.draw(views(size, dtype, is_output=number == 2)))
        accesses.append(place(view.layout, view.size, view.stride, view.offset).access)
    if any(isinstance(access, Scattered) for access in accesses):
        return
    try:
        found = boxes([*accesses, contiguous(size)], 2)
    except Unsuitable:
        return
    numbers = np.concatenate([_points(box, 3) for box in found])
    assert sorted(numbers) == list(range(int(np.prod(size))))
    for operand, access in enumerate(accesses):
        visited = np.concatenate([_points(box, operand) for box in found])
        np.testing.assert_array_equal(visited, offsets_of(access).reshape(-1)[numbers])


def test_one_structure_is_one_loop() -> None:
    access = place(SpyreTensorLayout.default((512, 256), "f16"), (512, 256), (256, 1)).access
    (box,) = boxes([access, access, access], 2)
    assert box == Box((512 * 256,), ((1,),) * 3, (0, 0, 0))


def test_a_partial_stick_is_a_box_of_its_own() -> None:
    access = place(SpyreTensorLayout.default((5, 150), "f16"), (5, 150), (150, 1)).access
    whole, rest = boxes([access, access], 1)
    assert whole.counts == (2 * 5 * 64,)
    assert rest.counts == (5, 22)
    assert rest.offsets == (640, 640)


def test_outputs_must_not_share_elements() -> None:
    wide = place(SpyreTensorLayout.linear((1,), "f32"), (4,), (0,)).access
    with pytest.raises(Unsuitable, match="share one element") as error:
        boxes([contiguous((4,)), wide], 1)
    assert error.value.position == 1


def test_digits_that_meet_too_often_are_unsuitable() -> None:
    rows = place(SpyreTensorLayout.default((100, 3), "f16"), (300,), (1,))
    flat = place(SpyreTensorLayout.default((300,), "f16"), (300,), (1,))
    assert isinstance(rows, Placed)
    with pytest.raises(Unsuitable, match="pieces") as error:
        boxes([rows.access, flat.access], 1)
    assert error.value.position == 0
