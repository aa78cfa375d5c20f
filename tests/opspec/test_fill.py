"""Ranges, the identity and triangles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opspec.host import Host

COUNTS = [1, 3, 64, 65, 1000, 40_000]


@pytest.mark.parametrize("count", COUNTS)
def test_ranges(host: Host, count: int) -> None:
    out = host.empty((count,), "i64")
    host.run("arange", [3, -2], [out], sanitize=True)
    np.testing.assert_array_equal(host.get(out), 3 - 2 * np.arange(count))
    out = host.empty((count,), "f32")
    host.run("arange", [0.5, 0.25], [out], sanitize=True)
    np.testing.assert_array_equal(host.get(out), 0.5 + 0.25 * np.arange(count))


@pytest.mark.parametrize("count", COUNTS)
def test_even_steps(host: Host, count: int) -> None:
    out = host.empty((count,), "f32")
    host.run("linspace", [-1.0, 2.0], [out], sanitize=True, steps=count)
    wanted = np.linspace(-1, 2, count)
    # The step has a relative error of half a unit, and is taken at most count / 2 times.
    np.testing.assert_allclose(host.get(out), wanted, rtol=0, atol=3e-7)
    assert host.get(out)[-1] == (2.0 if count > 1 else -1.0)


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (65, 65), (130, 70), (2, 70, 65)], ids=str)
@pytest.mark.parametrize("dtype", ["f16", "f32", "i64"])
def test_matrices(host: Host, size: tuple[int, ...], dtype: str) -> None:
    values = np.random.default_rng(0).integers(1, 9, size)
    x, out = host.put(values, dtype), host.empty(size, dtype)
    for diagonal in (0, -2, 3):
        host.run("tril", [x], [out], sanitize=True, diagonal=diagonal)
        np.testing.assert_array_equal(host.get(out), np.tril(values, diagonal))
        host.run("triu", [x], [out], sanitize=True, diagonal=diagonal)
        np.testing.assert_array_equal(host.get(out), np.triu(values, diagonal))
    host.run("eye", [], [out], sanitize=True)
    np.testing.assert_array_equal(host.get(out), np.broadcast_to(np.eye(*size[-2:]), size))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i1", "i32", "i64"])
def test_fills(host: Host, dtype: str) -> None:
    out = host.empty((5, 70), dtype)
    host.run("fill", [3.0], [out[:, 3:]], sanitize=True)
    wanted = np.zeros((5, 70))
    wanted[:, 3:] = 1 if dtype == "i1" else 3
    np.testing.assert_array_equal(host.get(out), wanted)
