"""Joining, turning around and rolling."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.opspec.host import Host
from tests.opspec.random_views import sizes, views

DTYPES = st.sampled_from(["f16", "f32", "i64"])


def test_joined_views() -> None:
    host = Host()

    @settings(max_examples=50)
    @given(st.data())
    def check(data: Any) -> None:
        host.clear()
        size = data.draw(sizes()) or (3,)
        dim = data.draw(st.integers(0, len(size) - 1))
        plans = []
        for extent in data.draw(st.lists(st.integers(1, 140), min_size=1, max_size=3)):
            own = (*size[:dim], extent, *size[dim + 1 :])
            plans.append(data.draw(views(own, data.draw(DTYPES))))
        wanted = np.concatenate([plan.expected() for plan in plans], dim)
        target = data.draw(views(wanted.shape, data.draw(DTYPES), is_output=True))
        out = target.place(host)
        host.run("cat", [plan.place(host) for plan in plans], [out], sanitize=True, dim=dim)
        np.testing.assert_array_equal(host.get(out), wanted)

    check()
    host.close()


def test_flips_and_rolls() -> None:
    host = Host()

    @settings(max_examples=50)
    @given(st.data())
    def check(data: Any) -> None:
        host.clear()
        size = data.draw(sizes()) or (70,)
        plan = data.draw(views(size, data.draw(DTYPES)))
        every = st.integers(0, len(size) - 1)
        dims = tuple(data.draw(st.lists(every, min_size=1, unique=True)))
        shifts = tuple(data.draw(st.integers(-200, 200)) for _ in dims)
        source, out = plan.place(host), host.empty(size, "f32")
        host.run("flip", [source], [out], sanitize=True, dims=dims)
        np.testing.assert_array_equal(host.get(out), np.flip(plan.expected(), dims))
        host.run("roll", [source], [out], sanitize=True, dims=dims, shifts=shifts)
        np.testing.assert_array_equal(host.get(out), np.roll(plan.expected(), shifts, dims))

    check()
    host.close()


def test_a_join_across_sticks_is_one_launch(host: Host) -> None:
    parts = [np.full((2, n), float(n)) for n in (5, 70, 64)]
    out = host.empty((2, 139), "f16")
    compiled = host.run("cat", [host.put(part, "f16") for part in parts], [out], dim=1)
    assert len(compiled.steps) == 1
    np.testing.assert_array_equal(host.get(out), np.concatenate(parts, 1))
