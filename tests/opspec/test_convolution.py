"""Convolutions, transposed ones and gradients, against torch in float32."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from spyrelab.opspec.compile import compile
from spyrelab.opspec.errors import Unsupported
from tests.opspec.card import Placed, run

TOLERANCE = {torch.float16: 3e-3, torch.bfloat16: 3e-2, torch.float32: 5e-5}
"""Sums are taken in another order than torch's: a few roundings of the result's type."""
CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSED = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def random(*size, dtype=torch.float16, scale=1.0):
    return (torch.randn(size) * scale).to(dtype)


def close(found, wanted):
    tolerance = TOLERANCE[found.dtype]
    torch.testing.assert_close(
        found.float(), wanted.to(found.dtype).float(), rtol=tolerance, atol=tolerance
    )


def convolve(x, weight, bias=None, *, sanitize=False, transposed=False, **options):
    rank = x.dim() - 2
    function = (TRANSPOSED if transposed else CONVOLUTIONS)[rank]
    extra = None if bias is None else bias.float()
    wanted = function(x.float(), weight.float(), extra, **options)
    out = torch.empty_like(wanted).to(x.dtype)
    attributes = dict(options)
    for key in ("stride", "padding", "dilation", "output_padding"):
        if isinstance(attributes.get(key), int):
            attributes[key] = (attributes[key],)
    run(
        "convolution",
        [x, weight] if bias is None else [x, weight, bias],
        [out],
        sanitize=sanitize,
        transposed=transposed,
        **attributes,
    )
    close(out, wanted)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_types(dtype, bias):
    x, weight = random(2, 5, 9, 11, dtype=dtype), random(7, 5, 3, 3, dtype=dtype, scale=0.2)
    convolve(x, weight, random(7, dtype=dtype) if bias else None, padding=1)


@pytest.mark.parametrize("stride", [1, 2, (2, 3)])
@pytest.mark.parametrize("padding", [0, 1, (2, 0)])
@pytest.mark.parametrize("dilation", [1, (1, 2)])
def test_windows(stride, padding, dilation):
    x, weight = random(2, 3, 13, 17), random(4, 3, 3, 2, scale=0.3)
    convolve(x, weight, random(4), stride=stride, padding=padding, dilation=dilation)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_groups(groups):
    x, weight = random(2, 6, 8, 9), random(12, 6 // groups, 3, 3, scale=0.3)
    convolve(x, weight, random(12), padding=1, groups=groups)


def test_one_dimension():
    convolve(random(2, 5, 131), random(7, 5, 4, scale=0.3), random(7), padding=2, stride=3)


def test_three_dimensions():
    convolve(random(1, 3, 5, 6, 7), random(4, 3, 2, 3, 3, scale=0.2), padding=1, stride=2)


def test_patches_that_do_not_overlap():
    convolve(random(2, 3, 32, 32), random(65, 3, 8, 8, scale=0.1), random(65), stride=8)


@pytest.mark.parametrize("width", [1, 63, 64, 65, 130])
def test_widths_and_padding_is_no_data(width):
    x, weight = random(1, 2, 3, width), random(3, 2, 3, 3, scale=0.3)
    convolve(x, weight, random(3), padding=1, sanitize="padding")


def test_an_input_that_begins_inside_a_stick():
    convolve(random(1, 3, 5, 150)[..., 7:110], random(4, 3, 2, 3, scale=0.3), random(4), padding=1)


def test_channels_last():
    x = random(2, 66, 5, 7).to(memory_format=torch.channels_last)
    convolve(x, random(4, 66, 3, 3, scale=0.1), random(4), padding=1)


@pytest.mark.parametrize("channels", [65, 128])
def test_many_channels(channels):
    convolve(random(1, channels, 6, 6), random(channels, channels, 3, 3, scale=0.05), padding=1)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed(stride, padding, groups):
    x, weight = random(2, 4, 5, 7), random(4, 6 // groups, 3, 3, scale=0.3)
    options = {"stride": stride, "padding": padding, "groups": groups, "output_padding": stride - 1}
    convolve(x, weight, random(6), transposed=True, **options)


def test_transposed_in_one_dimension():
    convolve(random(2, 4, 70), random(4, 3, 4, scale=0.3), transposed=True, stride=2, dilation=2)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("size", [(6, 8), (9, 70)])
def test_gradients(stride, groups, size):
    x = random(2, 4, *size, dtype=torch.float32).requires_grad_()
    weight = random(6, 4 // groups, 3, 3, dtype=torch.float32).requires_grad_()
    options = {"stride": stride, "padding": 1, "groups": groups}
    y = functional.conv2d(x, weight, **options)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    attributes = {"stride": (stride, stride), "padding": (1, 1), "groups": groups}
    dx, dw = torch.empty(x.shape), torch.empty(weight.shape)
    run("convolution_input", [gradient, weight.detach()], [dx], **attributes)
    run("convolution_weight", [gradient, x.detach()], [dw], **attributes)
    torch.testing.assert_close(dx, x.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(dw, weight.grad, rtol=1e-4, atol=1e-4)


def operands(*tensors):
    return [Placed(t).operand for t in tensors]


def test_padding_wider_than_the_kernel_has_no_transposed_program():
    x, weight, out = operands(random(1, 2, 5, 5), random(2, 2, 1, 1), random(1, 2, 3, 3))
    with pytest.raises(Unsupported, match="cuts"):
        compile("convolution", [x, weight], [out], transposed=True, padding=(1, 1))


def test_integers_have_no_program():
    x = torch.ones(1, 2, 5, 5, dtype=torch.int64)
    given = operands(x, torch.ones(2, 2, 1, 1, dtype=torch.int64), x)
    with pytest.raises(Unsupported, match="i64"):
        compile("convolution", given[:2], given[2:])
