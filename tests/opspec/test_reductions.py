"""Reductions against torch on the CPU, over all axes of shapes that meet every edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.opspec.errors import OpSpecError, Unsupported
from tests.opspec.card import Placed, run
from tests.opspec.row_cases import ALSO_DEEP, FLOATS, check, choices_of_dims, random

FOLDS = {"sum": torch.sum, "amax": torch.amax, "amin": torch.amin, "mean": torch.mean}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ALSO_DEEP, ids=str)
def test_folds_over_every_set_of_axes(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = random(shape, dtype)
    for dims in choices_of_dims(len(shape)) if shape else [()]:
        for number, (op, fold) in enumerate(FOLDS.items()):
            keepdim = (len(dims) + number) % 2 == 0
            wanted = fold(x.float(), dim=dims, keepdim=keepdim)
            check(op, [x], [wanted], dtype=dtype, dims=dims, scale=4)


@pytest.mark.parametrize("shape", [(65,), (5, 127), (129, 63), (2, 37, 130)], ids=str)
def test_padding_and_masked_elements_are_never_data(shape: tuple[int, ...]) -> None:
    x = random(shape, torch.float16)
    for dims in choices_of_dims(len(shape)):
        wanted = torch.amax(x, dim=dims)
        check("amax", [x], [wanted], dims=dims, sanitize="padding")
        wanted = torch.logsumexp(x.float(), dim=dims)
        check("logsumexp", [x], [wanted], dtype=x.dtype, dims=dims, sanitize="padding")


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 1)])
def test_nan_and_infinity_follow_torch(dims: tuple[int, ...]) -> None:
    x = random((70, 66), torch.float32, special=True)
    for op, fold in FOLDS.items():
        check(op, [x], [fold(x, dim=dims)], dims=dims, scale=4)
    check("nansum", [x], [torch.nansum(x, dim=dims)], dims=dims, scale=4)
    check("logsumexp", [x], [torch.logsumexp(x, dim=dims)], dims=dims)
    low = torch.full((3, 70), -math.inf)
    check("logsumexp", [low], [torch.logsumexp(low, dim=1)], dims=1)
    check("any", [x], [torch.any(x, dim=dims[0])], dims=dims[0])


@pytest.mark.parametrize("shape", [(7,), (5, 100), (3, 2, 65)], ids=str)
def test_moments(shape: tuple[int, ...]) -> None:
    x = random(shape, torch.float32) * 3 + 100
    for dims in choices_of_dims(len(shape)):
        for correction in (0, 1, 2.5):
            if math.prod(shape[d] for d in dims) <= correction:
                continue
            wanted = torch.var_mean(x.double(), dims, correction=correction)
            options = {"dims": dims, "correction": correction}
            check("var_mean", [x], [w.float() for w in wanted], scale=4, **options)
            check("std", [x], [wanted[0].sqrt().float()], scale=4, **options)


def test_variance_of_too_few_elements_is_nan_or_infinite() -> None:
    out = torch.zeros(3)
    run("var", [random((3, 1), torch.float32)], [out], dims=1)
    assert out.isnan().all()
    run("var", [random((3, 2), torch.float32)], [out], dims=1, correction=2)
    assert out.isinf().all()


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, math.inf, -math.inf])
def test_norms(p: float) -> None:
    x = random((5, 3, 70), torch.float32)
    x[1] = 0
    for dims in choices_of_dims(3):
        wanted = torch.linalg.vector_norm(x, p, dims)
        check("norm", [x], [wanted], dims=dims, p=p, scale=4)


@pytest.mark.parametrize("shape", [(1,), (5, 100), (2, 3, 129)], ids=str)
def test_integers_and_truth(shape: tuple[int, ...]) -> None:
    whole = random(shape, torch.int64)
    sparse = (whole > 6) & (whole < 9)
    for dims in choices_of_dims(len(shape)):
        check("sum", [whole], [whole.sum(dims)], dims=dims)
        check("sum", [sparse], [sparse.sum(dims)], dims=dims)
        check("amin", [whole.int()], [whole.int().amin(dims)], dims=dims)
        check("any", [sparse], [sparse.any(dims)], dims=dims)
        check("all", [whole], [whole.all(dims)], dims=dims)
        check("count_nonzero", [whole], [whole.count_nonzero(dims)], dims=dims)
    check("prod", [whole], [whole.prod()], dims=None)
    half = random(shape, torch.float16) + 1
    check("prod", [half], [half.float().prod(0)], dims=0, dtype=torch.float16)


def test_full_sum_uses_all_cores_and_reads_once() -> None:
    x = random((300, 1000), torch.float32)
    counters = check("sum", [x], [x.double().sum().float()], dims=None, scale=20)
    assert int(counters.ddr_read.sum()) == x.numel() * 4
    assert np.count_nonzero(np.asarray(counters.ddr_read)) == 32


def test_long_sums_are_as_exact_as_pairwise_ones() -> None:
    x = torch.rand(1_500_007)
    out = torch.zeros(())
    run("sum", [x], [out], dims=None)
    exact = x.double().sum().item()
    assert abs(out.item() - exact) < 4e-7 * exact


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_views_and_other_layouts(dims: tuple[int, ...]) -> None:
    base = random((6, 70, 130), torch.float16)
    turned = SpyreTensorLayout.default((6, 70, 130), "f16", dim_order=(2, 0, 1))
    for placed in (
        Placed(base.transpose(0, 2)),
        Placed(base[:, 3:50, 64:]),
        Placed(base[:, ::2, ::2]),
        Placed(base, turned),
    ):
        wanted = torch.sum(placed.tensor.float(), dim=dims).half()
        out = torch.zeros_like(wanted)
        run("sum", [placed], [out], dims=dims)
        torch.testing.assert_close(out, wanted, rtol=2e-3, atol=5e-2)


def test_what_there_is_no_program_for() -> None:
    whole = random((3, 4), torch.int64)
    with pytest.raises(Unsupported, match="integers"):
        run("mean", [whole], [torch.zeros(3)], dims=1)
    with pytest.raises(OpSpecError, match="rank 2"):
        run("sum", [whole], [whole[0]], dims=5)
