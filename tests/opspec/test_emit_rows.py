"""Operations on rows of slices, as one core's part of a program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab.layout import SpyreTensorLayout
from spyrelab.opspec import Unsupported
from tests.opspec.emitted import Part, check, program
from tests.opspec.host import Host

BUDGETS = [1 << 16, 1 << 18, 1_600_000]
SIZES = [(4, 64), (8, 100), (64, 1), (16, 1024), (128, 130), (4, 3, 70)]
FOLDS = ["sum", "mean", "amax", "amin", "prod", "any", "all", "var", "std", "logsumexp", "norm"]
SOFTMAX = ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward"]


def tolerance_of(size, lx) -> float:
    """None where folds are taken in the same pieces.

    They are not where the operation's own program lets cores share rows, and where a single row
    of 70 follows itself as one run of memory in the scratchpad.
    """
    return 1e-3 if size == (16, 1024) or (size == (4, 3, 70) and lx) else 0.0


def random(host: Host, size, dtype="f16", seed=0, layout=None):
    return host.put(np.random.default_rng(seed).standard_normal(size), dtype, layout)


@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("op", FOLDS)
def test_reductions(host: Host, op, size, lx):
    x, out = random(host, size), host.empty(size[:-1], "f32")
    options: dict[str, Any] = {"attributes": {"dims": (-1,)}, "cores": 4}
    for lx_bytes in BUDGETS:
        given, tolerance = [Part(x, 0, lx)], tolerance_of(size, lx)
        check(host, op, given, [Part(out, 0)], tolerance, lx_bytes=lx_bytes, **options)


@pytest.mark.parametrize("op", ["sum", "amax"])
def test_reductions_along_columns(host: Host, op):
    x, out = random(host, (100, 256)), host.empty((256,), "f16")
    options: dict[str, Any] = {"attributes": {"dims": (0,)}, "cores": 4}
    for lx_bytes in BUDGETS:
        check(host, op, [Part(x, 1)], [Part(out, 0)], 2e-3, lx_bytes=lx_bytes, **options)


@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("op", SOFTMAX)
def test_softmax(host: Host, op, size, lx):
    count = 1 + op.endswith("backward")
    given = [Part(random(host, size, seed=n), 0, lx) for n in range(count)]
    out = Part(host.empty(size, "f16"), 0, lx)
    for lx_bytes in BUDGETS:
        options: dict[str, Any] = {"attributes": {"dim": -1}, "cores": 4, "lx_bytes": lx_bytes}
        check(host, op, given, [out], tolerance_of(size, lx), **options)


@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_norms(host: Host, size, lx):
    x, weight, bias = random(host, size), random(host, size[-1:]), random(host, size[-1:], seed=1)
    outs = [Part(host.empty(size, "f16"), 0, lx)]
    stats = [Part(host.empty(size[:-1], "f32"), 0) for _ in range(2)]
    given = [Part(x, 0, lx), Part(weight, None, lx)]
    tolerance = 2 * tolerance_of(size, lx)
    for lx_bytes in BUDGETS:
        options: dict[str, Any] = {"cores": 4, "lx_bytes": lx_bytes}
        affine = {"normalized_dims": 1, "eps": 1e-5, "weight": True, "bias": True}
        layer = [*given, Part(bias, None, lx)]
        check(host, "layer_norm", layer, [*outs, *stats], tolerance, attributes=affine, **options)
        root = {"normalized_dims": 1, "eps": 1e-5, "weight": True}
        check(host, "rms_norm", given, [*outs, stats[0]], tolerance, attributes=root, **options)


@pytest.mark.parametrize("op", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("size", [(8, 100), (128, 130)], ids=str)
def test_norms_backward(host: Host, op, size):
    g, x, weight = random(host, size), random(host, size, seed=1), random(host, size[-1:], seed=2)
    stats = [random(host, size[:1], "f32", seed=n) for n in range(1 + (op == "layer_norm"))]
    given = [Part(g, 0), Part(x, 0), *(Part(s, 0) for s in stats)]
    out = Part(host.empty(size, "f16"), 0)
    for lx_bytes in BUDGETS:
        options: dict[str, Any] = {"cores": 4, "lx_bytes": lx_bytes}
        attributes = {"normalized_dims": 1, "weight": True}
        whole = [*given, Part(weight)]
        check(host, f"{op}_backward", whole, [out], attributes=attributes, **options)


@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("shared", ["leader", "everyone"])
@pytest.mark.parametrize("op", [*FOLDS, "count_nonzero"])
def test_partners_share_rows_to_reduce(host: Host, op, shared, lx):
    x, out = random(host, (16, 1024)), host.empty((16,), "f32")
    for lx_bytes in BUDGETS:
        check(
            host, op, [Part(x, 1, lx)], [Part(out)], 2e-5, cores=4, shared=shared,
            lx_bytes=lx_bytes, attributes={"dims": (-1,)},
        )  # fmt: skip


@pytest.mark.parametrize("lx", [False, True])
@pytest.mark.parametrize("size", [(16, 1024), (3, 512)], ids=str)
def test_partners_share_rows(host: Host, size, lx):
    x, y = random(host, size), random(host, size, seed=1)
    weight = random(host, size[-1:], seed=2)
    out = Part(host.empty(size, "f16"), 1, lx)
    stats = [Part(host.empty(size[:-1], "f32")) for _ in range(2)]
    for lx_bytes in BUDGETS:
        options: dict[str, Any] = {"cores": 4, "lx_bytes": lx_bytes, "shared": "everyone"}
        for op in SOFTMAX:
            given = [Part(x, 1, lx), Part(y, 1, lx)][: 1 + op.endswith("backward")]
            check(host, op, given, [out], 2e-3, attributes={"dim": -1}, **options)
        given = [Part(x, 1, lx), Part(weight, 0, lx)]
        attributes = {"normalized_dims": 1, "weight": True}
        check(host, "rms_norm", given, [out], 2e-3, attributes=attributes, **options)
        check(host, "layer_norm", given, [out, *stats], 2e-3, attributes=attributes, **options)


@pytest.mark.parametrize("lx_bytes", BUDGETS)
def test_other_families_of_rows(host: Host, lx_bytes):
    x, out = random(host, (8, 300)), host.empty((8, 300), "f16")
    numbers = host.empty((8, 300), "i64")
    options: dict[str, Any] = {"cores": 4, "lx_bytes": lx_bytes}
    first = [Part(numbers[:, 0], 0)]
    check(host, "argmax", [Part(x, 0)], first, attributes={"dims": (-1,)}, **options)
    check(host, "cumsum", [Part(x, 0)], [Part(out, 0)], attributes={"dim": -1}, **options)
    both = [Part(out, 0), Part(numbers, 0)]
    check(host, "sort", [Part(x, 0)], both, attributes={"dim": -1}, **options)
    image, result = random(host, (4, 8, 6, 10)), host.empty((4, 8, 6, 10), "f16")
    groups = {"attributes": {"groups": 2}, **options}
    check(host, "group_norm", [Part(image, 0)], [Part(result, 0)], **groups)


def test_partners_share_the_rows_of_a_weight(host: Host):
    g, x = random(host, (64, 100)), random(host, (64, 100), seed=1)
    rstd, out = random(host, (64,), "f32", seed=2), host.empty((100,), "f32")
    given = [Part(g, 0), Part(x, 0), Part(rstd, 0)]
    op, options = "rms_norm_parameters_backward", {"attributes": {"normalized_dims": 1}}
    check(host, op, given, [Part(out)], 1e-4, cores=4, shared="leader", **options)


def test_row_statistics_alone_in_sticks(host: Host):
    layout = SpyreTensorLayout.sparse((4096, 1), "f16")
    x, out = random(host, (4096, 4)), random(host, (4096, 1), layout=layout)
    for lx_bytes in BUDGETS:
        check(
            host, "amax", [Part(x, 0)], [Part(out, 0, sparse=True)], cores=4,
            lx_bytes=lx_bytes, attributes={"dims": (-1,)},
        )  # fmt: skip


def test_whole_sticks_are_counted(host: Host):
    layout = SpyreTensorLayout.sparse((64, 1), "f16")
    x, out = random(host, (64, 64)), random(host, (64, 1), layout=layout)
    made = program("sum", [Part(x)], [Part(out, sparse=True)], attributes={"dims": (-1,)})
    given = {"t0": x.address, "t1": out.address}
    counters = made.launch(given, host.memory, threads=1)
    assert counters.ddr_write.sum() == 64 * 128


def test_what_partners_cannot_share(host: Host):
    x, out = random(host, (16, 1024)), host.empty((16, 1024), "f16")
    with pytest.raises(Unsupported, match="several cores share"):
        program(
            "cumsum", [Part(x, 1)], [Part(out, 1)], cores=4, shared=True, attributes={"dim": -1}
        )
