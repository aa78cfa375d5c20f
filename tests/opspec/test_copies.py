"""Copies and sums between views of any kind, under the sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyrelab.layout import SpyreTensorLayout
from tests.opspec.host import Host
from tests.opspec.random_views import sizes, views

DTYPES = st.sampled_from(["f16", "f32", "i1", "i64"])
NUMBERS = st.sampled_from(["f16", "f32", "i64"])


@pytest.mark.parametrize("sanitize", [True, "padding"])
def test_copies_between_any_two_views(sanitize: bool | str) -> None:
    host = Host()

    @settings(max_examples=60)
    @given(st.data())
    def check(data: Any) -> None:
        host.clear()
        size = data.draw(sizes())
        source = data.draw(views(size, data.draw(DTYPES)))
        target = data.draw(views(size, data.draw(NUMBERS), is_output=True))
        out = target.place(host)
        host.run("copy", [source.place(host)], [out], sanitize=sanitize)
        np.testing.assert_array_equal(host.get(out), source.expected())

    check()
    host.close()


@pytest.mark.parametrize("sanitize", [True, "padding"])
def test_sums_of_any_two_views(sanitize: bool | str) -> None:
    host = Host()

    @settings(max_examples=60)
    @given(st.data())
    def check(data: Any) -> None:
        host.clear()
        size = data.draw(sizes())
        x, y = (data.draw(views(size, data.draw(DTYPES))) for _ in range(2))
        target = data.draw(views(size, data.draw(NUMBERS), is_output=True))
        out = target.place(host)
        host.run("add", [x.place(host), y.place(host)], [out], sanitize=sanitize)
        np.testing.assert_array_equal(host.get(out), x.expected() + y.expected())

    check()
    host.close()


SIZES = [(), (1,), (3,), (63,), (64,), (65,), (127,), (129,), (7, 11), (3, 65), (65, 3), (2, 3, 70)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("source", ["f16", "f32", "i64"])
@pytest.mark.parametrize("target", ["f16", "f32", "i64"])
def test_sizes_around_a_stick(host: Host, size: tuple[int, ...], source: str, target: str) -> None:
    values = np.arange(int(np.prod(size))).reshape(size) % 100
    x, out = host.put(values, source), host.empty(size, target)
    host.run("add", [x, x], [out], sanitize=True)
    np.testing.assert_array_equal(host.get(out), values + values)


def test_a_transpose_turns_tiles(host: Host) -> None:
    values = np.arange(130.0 * 200).reshape(130, 200) % 999
    x, out = host.put(values, "f16"), host.empty((200, 130), "f16")
    compiled = host.run("copy", [x.transpose()], [out], sanitize=True)
    assert len(compiled.steps) == 1
    assert "linalg.transpose" in _names(compiled.steps[0].program)
    np.testing.assert_array_equal(host.get(out), values.T)


def test_a_shifted_slice_is_copied_in_one_launch(host: Host) -> None:
    values = np.arange(4.0 * 256).reshape(4, 256)
    x, out = host.put(values, "f16"), host.empty((4, 200), "f16")
    compiled = host.run("copy", [x[:, 3:203]], [out], sanitize="padding")
    assert len(compiled.steps) == 1
    assert not compiled.tables
    np.testing.assert_array_equal(host.get(out), values[:, 3:203])
    host.run("mul", [x[:, 3:203], 2.0], [x[:, 3:203]], sanitize=True)
    values[:, 3:203] *= 2
    np.testing.assert_array_equal(host.get(x), values)


def test_a_reshape_across_sticks_goes_through_linear_memory(host: Host) -> None:
    values = np.arange(300.0).reshape(100, 3)
    x, out = host.put(values, "f16"), host.empty((300,), "f32")
    compiled = host.run("copy", [x.view((300,), (1,))], [out], sanitize=True)
    assert compiled.temporaries == (SpyreTensorLayout.linear((300,), "f16"),)
    np.testing.assert_array_equal(host.get(out), values.reshape(-1))
    back = host.empty((100, 3), "f16")
    host.run("copy", [out], [back.view((300,), (1,))], sanitize=True)
    np.testing.assert_array_equal(host.get(back), values)


@pytest.mark.parametrize("scattered", [(True, False), (False, True), (True, True)])
def test_scattered_views(host: Host, scattered: tuple[bool, bool]) -> None:
    size, stride, offset = (5, 103), (130, 1), 3
    values = np.arange(700.0).reshape(7, 100)
    x, out = host.put(values, "f16"), host.empty((7, 100), "f16")
    other = host.put(np.arange(515.0).reshape(size), "f16"), host.empty(size, "f16")
    source = x.view(size, stride, offset) if scattered[0] else other[0]
    target = out.view(size, stride, offset) if scattered[1] else other[1]
    compiled = host.run("copy", [source], [target], sanitize=True)
    assert not compiled.tables
    flat = values.reshape(-1)
    picked = np.lib.stride_tricks.as_strided(flat[offset:], size, (130 * 8, 8))
    wanted = picked if scattered[0] else np.arange(515.0).reshape(size)
    np.testing.assert_array_equal(host.get(target), wanted)


@pytest.mark.parametrize("writes", [False, True])
def test_a_small_part_of_a_large_tensor_takes_a_table(host: Host, writes: bool) -> None:
    size, stride, offset = (5, 103), (130, 1), 3
    values = np.arange(100_000.0).reshape(1000, 100) % 1000
    large, small = host.put(values, "f16"), host.put(np.arange(515.0).reshape(size), "f32")
    part = large.view(size, stride, offset)
    source, target = (small, part) if writes else (part, small)
    wanted = host.get(source)
    compiled = host.run("copy", [source], [target], sanitize=True)
    assert [table.dtype for table in compiled.tables] == [np.dtype(np.int32)]
    np.testing.assert_array_equal(host.get(target), wanted)


def test_other_operations_copy_scattered_operands_first(host: Host) -> None:
    size, stride = (5, 103), (130, 1)
    x = host.put(np.arange(700.0).reshape(7, 100), "f16").view(size, stride, 3)
    out = host.empty(size, "f16")
    compiled = host.run("neg", [x], [out], sanitize=True)
    assert SpyreTensorLayout.default(size, "f16") in compiled.temporaries
    np.testing.assert_array_equal(host.get(out), -host.get(x))


def _names(program: Any) -> set[str]:
    return {operation.name for operation in program.operations}
