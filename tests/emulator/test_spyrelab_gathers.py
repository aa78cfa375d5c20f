"""Gathers and scatters at computed offsets: every engine computes the same, and what it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import LxOverflowError
from spyrelab.ktir import F16, F32, I1, I32, I64, INDEX, Module, ScalarType
from spyrelab.ktir.builder import Builder, Row
from spyrelab.ktir.ir import FileLocation
from tests.emulator.spyrelab_cases import (
    FLOATS,
    WHOLE,
    agreed,
    built,
    kept,
    loaded,
    values,
    whole_view,
    zeros,
)

SIZES = (1, 3, 63, 64, 65, 127)
RNG = np.random.default_rng(11)


# ---- gather and scatter ------------------------------------------------------------------


def gathers(n: int, kind: ScalarType, offset: ScalarType, masked: bool) -> Module:
    b = Builder("g")
    view = b.view(b.pointers("x")[0], (b.argument("length"),), kind)
    at, out = whole_view(b, "at", (n,), offset), whole_view(b, "out", (n,), kind)
    mask = loaded(whole_view(b, "mask", (n,), I1)) if masked else None
    kept(b.gather_elements(view, loaded(at), mask), out)
    return built(b)


@pytest.mark.parametrize("kind", [*FLOATS, *WHOLE, I1], ids=str)
def test_gather_of_every_type(kind: ScalarType) -> None:
    x = values(RNG, 50, kind)
    at = RNG.integers(-5, 55, 65).astype(np.int32)
    out = agreed(gathers(65, kind, I32, False), x=x, length=50, at=at, out=zeros(65, kind))["out"]
    inside = (at >= 0) & (at < 50)
    assert out.tobytes() == np.where(inside, x[np.where(inside, at, 0)], zeros(1, kind)).tobytes()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("offset", [I32, I64, INDEX], ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_gather_of_every_size(n: int, offset: ScalarType, masked: bool) -> None:
    x, at = values(RNG, 90, F32), values(RNG, n, offset) % 90
    mask = {"mask": values(RNG, n, I1)} if masked else {}
    module = gathers(n, F32, offset, masked)
    out = agreed(module, x=x, length=90, at=at, out=zeros(n, F32), **mask)["out"]
    assert np.array_equal(out, np.where(mask["mask"], x[at], 0) if masked else x[at])


def test_gather_through_a_view_that_begins_elsewhere_and_strides() -> None:
    b = Builder("g")
    x = b.pointers("x")[0]
    view = b.view(x + 10, (20,), F16, strides=(3,))
    kept(
        b.gather_elements(view, loaded(whole_view(b, "at", (2, 5), I32))),
        whole_view(b, "out", (2, 5), F16),
    )
    data, at = values(RNG, 80, F16), np.array([[0, 1, 2, 19, 20], [-1, 5, 5, 5, 3]], np.int32)
    out = agreed(built(b), x=data, at=at, out=zeros((2, 5), F16))["out"]
    inside = (at >= 0) & (at < 20)
    assert np.array_equal(out, np.where(inside, data[10 + 3 * np.clip(at, 0, 19)], 0))


@pytest.mark.parametrize("limit", [0, 1, 4, 7])
@pytest.mark.parametrize("stride", [1, 3])
def test_rows_behind_offsets(stride: int, limit: int) -> None:
    b = Builder("g")
    x = b.view(b.pointers("x")[0], (60,), F32)
    y = b.view(b.pointers("y")[0], (60,), F32)
    at, limit_ = loaded(whole_view(b, "at", (5,), I32)), b.argument("limit")
    rows = b.gather_elements(x, at, row=Row(5, stride, limit_))
    b.scatter_elements(rows + 1.0, y, at, row=Row(5, stride, limit_))
    kept(rows, whole_view(b, "out", (5, 5), F32))
    data, places = values(RNG, 60, F32), np.array([0, 7, 59, -1, 40], np.int32)
    found = agreed(
        built(b), x=data, y=zeros(60, F32), at=places, out=zeros((5, 5), F32), limit=limit
    )
    count = min(limit, 5)
    wanted, written = np.zeros((5, 5), np.float32), np.zeros(60, np.float32)
    for row, place in enumerate(places):
        last = place + (max(count, 1) - 1) * stride
        if place >= 0 and last < 60 and count:
            wanted[row, :count] = data[place : last + 1 : stride]
            written[place : last + 1 : stride] = wanted[row, :count] + np.float32(1)
    assert np.array_equal(found["out"], wanted)
    assert np.array_equal(found["y"], written)


def test_rows_behind_a_matrix_of_offsets() -> None:
    b = Builder("g")
    x = b.view(b.pointers("x")[0], (400,), F16)
    at, mask = loaded(whole_view(b, "at", (3, 4), I64)), loaded(whole_view(b, "mask", (3, 4), I1))
    rows = b.gather_elements(x, at, mask, row=Row(6, 2))
    b.scatter_elements(rows, x, at + 1, mask, row=Row(6, 2))
    kept(rows, whole_view(b, "out", (3, 4, 6), F16))
    data, places, some = (
        values(RNG, 400, F16),
        np.arange(12).reshape(3, 4) * 33,
        values(RNG, (3, 4), I1),
    )
    found = agreed(built(b), x=data, at=places, mask=some, out=zeros((3, 4, 6), F16))
    wanted = data[places[..., None] + np.arange(6) * 2] * some[..., None]
    assert np.array_equal(found["out"], wanted)
    written = data.copy()
    written[(places[..., None] + 1 + np.arange(6) * 2)[some]] = wanted[some]
    assert np.array_equal(found["x"], written)


def test_offsets_that_scans_takes_and_histograms_make() -> None:
    """The null engine computes what steers addresses, whatever made it."""
    b = Builder("o", grid=(2,))
    core = b.compute_tile_id()
    x, out = (b.view(p, (2, 64), F32) for p in b.pointers("x", "out"))
    flat = b.view(b.pointers("flat")[0], (512,), F32)
    numbers = loaded(whole_view(b, "numbers", (64,), I32))
    real = b.reshape(b.load(x[core, 0], (1, 64)), (64,))
    with b.loop(0, 3, carry=(numbers,)) as (i, places):
        counts = b.histogram(places, 64, real > 0.0)
        ends = b.scan(counts, 0, "add")
        picked = b.take(ends, places, 0)
        with b.if_(i < 2) as branch:
            found = b.gather_elements(flat, picked + i.to(I32), picked.differs(7))
            b.store(b.reshape(found, (1, 64)), out[core, 0])
        b.yield_((places + 1) % 64)
    del branch
    arguments = {
        "x": values(RNG, (2, 64), F32),
        "out": zeros((2, 64), F32),
        "flat": values(RNG, 512, F32),
        "numbers": RNG.integers(0, 64, 64).astype(np.int32),
    }
    agreed(built(b), **arguments)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", [F32, F16, I32], ids=str)
def test_later_elements_of_a_scatter_win(n: int, kind: ScalarType) -> None:
    b = Builder("s")
    target = b.view(b.pointers("x")[0], (16,), kind)
    source, at = whole_view(b, "y", (n,), kind), whole_view(b, "at", (n,), I32)
    mask = loaded(whole_view(b, "mask", (n,), I1))
    b.scatter_elements(loaded(source), target, loaded(at), mask)
    y, places, some = values(RNG, n, kind), RNG.integers(-2, 18, n), values(RNG, n, I1)
    wanted = zeros(16, kind)
    for value, place, taken in zip(y, places, some, strict=True):
        if taken and 0 <= place < 16:
            wanted[place] = value
    found = agreed(built(b), x=zeros(16, kind), y=y, at=places.astype(np.int32), mask=some)
    assert found["x"].tobytes() == wanted.tobytes()


def test_masked_elements_count_for_nothing() -> None:
    arguments: dict[str, Any] = {
        "x": values(RNG, 4096, F16),
        "length": 4096,
        "at": np.arange(64, dtype=np.int32) * 64,
        "out": zeros(64, F16),
        "mask": np.arange(64) < 10,
    }
    counters = emulator.run(gathers(64, F16, I32, True), arguments).counters
    assert int(counters.ddr_read[0]) == 10 * 2 + 64 * 4 + 64  # elements, offsets, mask
    assert int(counters.sticks_read[0]) == 10 + 2 + 1


# ---- scratchpad --------------------------------------------------------------------------


def test_an_overflow_names_the_lines_of_the_source() -> None:
    b = Builder("g")
    x = b.view(b.pointers("x")[0], (4096,), F32)
    at = loaded(whole_view(b, "at", (1 << 18,), I32))
    with b.at(FileLocation("kernel.py", 12, 4)):
        values_ = b.gather_elements(x, at)
    with b.at(FileLocation("kernel.py", 13, 4)):
        kept(values_ + b.gather_elements(x, at), whole_view(b, "out", (1 << 18,), F32))
    with pytest.raises(LxOverflowError) as caught:
        emulator.lower(built(b))
    assert "scratchpad (kernel.py:13)" in str(caught.value)
    assert "%gathered: 1,048,576 bytes (kernel.py:12)" in str(caught.value)


def test_what_a_gather_makes_occupies_the_scratchpad() -> None:
    b = Builder("g")
    x = b.view(b.pointers("x")[0], (4096,), F32)
    at = loaded(whole_view(b, "at", (1024,), I32))
    kept(b.gather_elements(x, at), whole_view(b, "out", (1024,), F32))
    assert int(emulator.lower(built(b)).lx_peaks[0]) == 2 * 4096
