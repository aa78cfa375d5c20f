"""Pointwise operations on slices, as one core's part of a program."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.layout import SpyreTensorLayout
from spyrelab.opspec import Unsupported
from tests.opspec.emitted import Part, check, launch, program
from tests.opspec.host import Host
from tests.opspec.pointwise_cases import CASES, Case

SHAPES = [(4, 64), (8, 100), (4, 3, 130), (16, 1), (12, 65)]
MOST_LX = 1_600_000


def random(host: Host, size, dtype="f16", seed=0, layout=None):
    values = np.random.default_rng(seed).standard_normal(size) * 3
    return host.put(values, dtype, layout)


@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize("size", SHAPES, ids=str)
def test_slices_of_rows(host: Host, size, cores, lx):
    a, b, out = (random(host, size, seed=n) for n in range(3))
    parts = [Part(a, 0, lx), Part(b, 0, lx)]
    check(host, "mul", parts, [Part(out, 0, lx)], cores=cores)
    check(host, "add", [*parts, 0.3], [Part(out, 0)], cores=cores)


@pytest.mark.parametrize("lx_bytes", [1 << 16, 1 << 18, MOST_LX])
def test_broadcasts_and_turns(host: Host, lx_bytes):
    x = random(host, (256, 200))
    turned = random(host, (200, 256), seed=1).transpose(1, 0)
    row, column = random(host, (1, 200), seed=2), random(host, (256, 1), seed=3)
    out = random(host, (256, 200))
    for other in (turned, row, column):
        cut = None if other is row else 0
        check(
            host, "sub", [Part(x, 0), Part(other, cut)], [Part(out, 0)], cores=4, lx_bytes=lx_bytes
        )


@pytest.mark.parametrize("lx", [False, True])
def test_copies_turn_and_convert(host: Host, lx):
    x = random(host, (128, 256)).transpose(1, 0)
    for dtype in ("f16", "f32", "i1", "i32"):
        out = host.empty((256, 128), dtype)
        check(host, "copy", [Part(x, 0, lx)], [Part(out, 0, lx)], cores=4, lx_bytes=1 << 16)


def test_numbers(host: Host):
    for dtype in ("f16", "bf16", "f32"):
        x, out = random(host, (5, 70), dtype), host.empty((5, 70), "i1")
        check(host, "lt", [Part(x), 0.1], [Part(out)])
        filled = host.empty((5, 70), dtype)
        check(host, "fill", [0.1], [Part(filled)])
        check(host, "fill", [3], [Part(filled)])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_of_the_table(host: Host, case: Case):
    kind = "f16"
    inputs = [random(host, (4, 700), kind, seed=n) for n in range(case.tensors)]
    out = host.empty((4, 700), kind)
    check(
        host,
        case.name,
        [*(Part(x, 0) for x in inputs), *case.numbers],
        [Part(out, 0)],
        cores=2,
        lx_bytes=1 << 16,
        attributes=case.attributes,
    )


def test_in_place(host: Host):
    values = np.random.default_rng(0).standard_normal((300, 200))
    x, y = host.put(values, "f16"), host.put(values + 1, "f16")
    out = host.empty((300, 200), "f16")
    check(host, "add", [Part(x, 0), Part(y, 0)], [Part(out, 0)], cores=4, lx_bytes=1 << 16)
    wanted = host.get(out).copy()
    made = program("add", [Part(x, 0), Part(y, 0)], [Part(x, 0)], cores=4, lx_bytes=1 << 16)
    launch(host, made, [x, y, x])
    np.testing.assert_array_equal(host.get(x), wanted)


def test_elements_alone_in_sticks(host: Host):
    stats = random(host, (512, 1), layout=SpyreTensorLayout.sparse((512, 1), "f16"))
    x, out = random(host, (512, 70), seed=1), host.empty((512, 70), "f16")
    for number in (1 << 16, 1 << 18):
        given = [Part(x, 0), Part(stats, 0, sparse=True)]
        check(host, "sub", given, [Part(out, 0)], cores=4, lx_bytes=number)
    result = random(host, (512, 1), layout=SpyreTensorLayout.sparse((512, 1), "f16"))
    check(host, "exp", [Part(stats, 0, sparse=True)], [Part(result, 0, sparse=True)], cores=2)


def test_what_does_not_fit(host: Host):
    x, out = random(host, (4, 64)), host.empty((4, 64), "f16")
    with pytest.raises(Unsupported, match="bytes"):
        program("add", [Part(x), Part(x)], [Part(out)], lx_bytes=2)
    with pytest.raises(Unsupported, match="one core's part"):
        program("triu", [Part(x)], [Part(out)])
