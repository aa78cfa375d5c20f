"""Pooling and its gradients, against torch in float32."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from spyrelab.opspec.compile import compile
from spyrelab.opspec.errors import Unsupported
from tests.opspec.card import Placed, run

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def random(*size, dtype=torch.float16):
    return torch.randn(size).to(dtype)


def attributes(options):
    return {
        k: (v,) if type(v) is int and k != "divisor_override" else v for k, v in options.items()
    }


def close(found, wanted):
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 1e-2, torch.float32: 1e-5}[found.dtype]
    torch.testing.assert_close(
        found.float(), wanted.float(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (3, 2), "stride": (1, 3), "padding": (1, 0)},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("size", [(2, 3, 12, 13), (1, 65, 7, 130), (1, 1, 4, 4)])
@pytest.mark.parametrize("window", [*WINDOWS, {"kernel_size": 2, "stride": 1, "dilation": 2}])
def test_maximum(window, size, dtype):
    x = random(*size, dtype=dtype)
    values, positions = functional.max_pool2d(x.float(), return_indices=True, **window)
    found, at = torch.empty_like(values).to(dtype), torch.empty_like(positions)
    run("max_pool2d_with_indices", [x], [found, at], **attributes(window))
    close(found, values)
    assert torch.equal(at, positions)


def test_maximum_of_special_numbers_and_ties():
    x = torch.randint(0, 3, (2, 3, 9, 9)).float()
    x[0, 0, 3, 4], x[1] = torch.nan, -torch.inf
    window = {"kernel_size": 3, "stride": 2, "padding": 1}
    values, positions = functional.max_pool2d(x, return_indices=True, **window)
    found, at = torch.empty_like(values), torch.empty_like(positions)
    run("max_pool2d_with_indices", [x], [found, at], **attributes(window))
    close(found, values)
    assert torch.equal(at, positions)


def test_maximum_without_positions_reads_no_padding():
    x = random(2, 3, 70)
    wanted = functional.max_pool1d(x.float(), 3, 2, 1)
    found = torch.empty_like(wanted).half()
    run("max_pool1d", [x], [found], kernel_size=(3,), stride=(2,), padding=(1,), sanitize="padding")
    close(found, wanted)


@pytest.mark.parametrize("size", [(2, 3, 12, 13), (1, 65, 7, 130)])
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("divisor", [None, 5])
@pytest.mark.parametrize("window", WINDOWS)
def test_mean(window, divisor, include, size):
    x = random(*size)
    options = {**window, "count_include_pad": include, "divisor_override": divisor}
    wanted = functional.avg_pool2d(x.float(), **options)
    found = torch.empty_like(wanted).half()
    given = attributes(window) | {"count_include_pad": include, "divisor_override": divisor}
    run("avg_pool2d", [x], [found], **given)
    close(found, wanted)


@pytest.mark.parametrize("places", [(1, 1), (2, 3), (6, 12)])
def test_adaptive_mean(places):
    x = random(2, 5, 6, 12)
    wanted = functional.adaptive_avg_pool2d(x.float(), places)
    found = torch.empty_like(wanted).half()
    run("adaptive_avg_pool2d", [x], [found])
    close(found, wanted)


@pytest.mark.parametrize("window", WINDOWS[:3])
def test_gradient_of_the_maximum(window):
    x = random(2, 3, 12, 13, dtype=torch.float32).requires_grad_()
    values, positions = functional.max_pool2d(x, return_indices=True, **window)
    gradient = torch.randn_like(values)
    values.backward(gradient)
    found = torch.empty(x.shape)
    run("max_pool2d_with_indices_backward", [gradient, positions], [found])
    close(found, x.grad)


@pytest.mark.parametrize("window", WINDOWS[:3])
def test_gradient_of_the_mean(window):
    x = random(2, 3, 12, 13, dtype=torch.float32).requires_grad_()
    values = functional.avg_pool2d(x, **window)
    gradient = torch.randn_like(values)
    values.backward(gradient)
    found = torch.empty(x.shape)
    run("avg_pool2d_backward", [gradient], [found], **attributes(window))
    close(found, x.grad)


def test_means_over_windows_of_different_sizes_have_no_program():
    x, out = Placed(random(1, 2, 5, 5)).operand, Placed(random(1, 2, 2, 2)).operand
    with pytest.raises(Unsupported, match="different sizes"):
        compile("adaptive_avg_pool2d", [x], [out])


@pytest.mark.parametrize("size", [(3, 4), (2, 65), (1, 130)])
@pytest.mark.parametrize(("low", "high"), [((0, 0), (0, 0)), ((1, 2), (3, 0)), ((0, 70), (0, 1))])
def test_padding_with_a_number(size, low, high):
    x = random(*size)
    wanted = functional.pad(x, (low[1], high[1], low[0], high[0]), value=-2.5)
    found = torch.empty_like(wanted)
    run("pad", [x], [found], low=low, value=-2.5)
    close(found, wanted)


def test_zero():
    whole = torch.ones(3, 200).half()
    run("zero", [], [Placed(whole[:, 64:170])])
    assert whole.sum() == 3 * (200 - 106)
