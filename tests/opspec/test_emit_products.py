"""Matrix products on slices, as one core's part of a program."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.layout import SpyreTensorLayout
from spyrelab.opspec import Unsuitable, Unsupported
from tests.opspec.emitted import Part, check, program
from tests.opspec.host import Host

SIZES = [(4, 64, 64), (8, 130, 70), (256, 200, 300), (4, 1, 1), (12, 1000, 65)]
BUDGETS = [1 << 16, 1 << 18, 1_600_000]


def random(host: Host, size, dtype="f16", seed=0):
    return host.put(np.random.default_rng(seed).standard_normal(size), dtype)


def whole(host: Host, size, dtype="f16", seed=0):
    """Small whole numbers: their sums are exact, however the depth is cut."""
    return host.put(np.random.default_rng(seed).integers(-3, 4, size), dtype)


@pytest.mark.parametrize("lx_bytes", BUDGETS)
@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_slices_of_rows(host: Host, size, lx, lx_bytes):
    m, k, n = size
    make = random if lx_bytes > 1 << 16 else whole
    a, b, out = make(host, (m, k)), make(host, (k, n), seed=1), host.empty((m, n), "f16")
    lx = lx and k * n < 100_000
    given = [Part(a, 0, lx), Part(b, None, lx)]
    check(host, "mm", given, [Part(out, 0, lx)], cores=4, lx_bytes=lx_bytes)


@pytest.mark.parametrize("lx_bytes", BUDGETS)
def test_slices_of_columns_and_batches(host: Host, lx_bytes):
    make = random if lx_bytes > 1 << 16 else whole
    a, b, out = make(host, (70, 130)), make(host, (130, 256), seed=1), random(host, (70, 256))
    check(host, "mm", [Part(a), Part(b, 1)], [Part(out, 1)], cores=4, lx_bytes=lx_bytes)
    a, b = random(host, (8, 70, 65)), random(host, (8, 65, 130), seed=1)
    out = random(host, (8, 70, 130))
    for op in ("bmm", "matmul"):
        check(host, op, [Part(a, 0), Part(b, 0)], [Part(out, 0)], cores=4, lx_bytes=lx_bytes)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_with_a_bias(host: Host, dtype):
    a, b = random(host, (8, 70), dtype), random(host, (70, 130), dtype, 1)
    row, full = random(host, (130,), dtype, 2), random(host, (8, 130), dtype, 3)
    out = host.empty((8, 130), dtype)
    for lx in (False, True):
        parts = [Part(a, 0, lx), Part(b, None, lx)]
        check(host, "linear", [*parts, Part(row, None, lx)], [Part(out, 0, lx)], cores=4)
        check(host, "addmm", [Part(row, None, lx), *parts], [Part(out, 0)], cores=4)
        check(host, "addmm", [Part(full, 0, lx), *parts, 0.5, 3.0], [Part(out, 0)], cores=2)
    a, b = random(host, (4, 8, 70), dtype), random(host, (4, 70, 66), dtype, 1)
    bias, out = random(host, (4, 8, 66), dtype, 2), host.empty((4, 8, 66), dtype)
    check(
        host, "baddbmm", [Part(bias, 0), Part(a, 0), Part(b, 0), 2.0, 0.5], [Part(out, 0)], cores=4
    )


@pytest.mark.parametrize("shared", ["leader", "everyone"])
@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("size", [(4, 256, 64), (16, 1024, 130), (1, 512, 300)], ids=str)
def test_partners_share_a_sum(host: Host, size, lx, shared):
    m, k, n = size
    # Small whole numbers: sums are exact in any order.
    whole = np.random.default_rng(0).integers(-3, 4, (m, k)), np.ones((k, n)) * 2
    a, b = (host.put(values, "f16") for values in whole)
    bias, out = random(host, (n,), seed=2), host.empty((m, n), "f16")
    given = [Part(a, 1, lx), Part(b, 0, lx)]
    options = {"cores": 4, "shared": shared, "lx_bytes": 1 << 16}
    check(host, "mm", given, [Part(out)], **options)
    check(host, "addmm", [Part(bias, None, lx), *given], [Part(out)], **options)


def test_more_than_the_scratchpad_holds(host: Host):
    a, b, out = whole(host, (64, 2100)), whole(host, (2100, 1100), seed=1), random(host, (64, 1100))
    for lx_bytes in BUDGETS:
        check(host, "mm", [Part(a, 0), Part(b)], [Part(out, 0)], cores=4, lx_bytes=lx_bytes)
    with pytest.raises(Unsupported, match="bytes of scratchpad"):
        program("mm", [Part(a), Part(b)], [Part(out)], lx_bytes=1000)


def test_numbers_may_be_whole(host: Host):
    a, b, c = (random(host, (64, 64), seed=n) for n in range(3))
    out = host.empty((64, 64), "f16")
    program("addmm", [Part(c), Part(a), Part(b), 1, 2], [Part(out)])


def test_what_lies_wrong(host: Host):
    a, b, out = (random(host, (64, 64), seed=n) for n in range(3))
    with pytest.raises(Unsuitable) as error:
        program("mm", [Part(a), Part(b.transpose(1, 0))], [Part(out)])
    assert error.value.position == 1
    layout = SpyreTensorLayout.sparse((64, 1), "f16")
    stats = host.put(np.ones((64, 1)), "f16", layout)
    with pytest.raises(Unsuitable) as error:
        program("mm", [Part(stats, sparse=True), Part(b[:1])], [Part(out)])
    assert error.value.position == 0
