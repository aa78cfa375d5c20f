"""Layer, RMS, group and batch norm, forward and backward, against torch."""

from __future__ import annotations

import pytest
import torch

from tests.opspec.row_cases import FLOATS, check, random

A = torch.ops.aten
ALL = [True, True, True]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "dims"),
    [((5, 100), 1), ((1, 64), 1), ((8, 8), 1), ((2, 3, 70), 2), ((70, 3, 66), 1)],
)
def test_layer_norm(shape: tuple[int, ...], dims: int, dtype: torch.dtype) -> None:
    x, grad = random(shape, dtype), random((*shape, 1), dtype)[..., 0].contiguous()
    tail = shape[len(shape) - dims :]
    weight, bias = random(tail, dtype), random((*tail, 1), dtype)[..., 0].contiguous()
    wide = [t.float() for t in (x, weight, bias)]
    out, mean, rstd = A.native_layer_norm(wide[0], tail, wide[1], wide[2], 1e-5)
    options = {"normalized_dims": dims, "dtype": dtype, "scale": 4, "sanitize": "padding"}
    affine = {"weight": True, "bias": True}
    check("layer_norm", [x, weight, bias], [out, mean, rstd], **affine, **options)
    dx, dw, db = A.native_layer_norm_backward(
        grad.float(), wide[0], tail, mean, rstd, *wide[1:], ALL
    )
    saved = [mean.contiguous(), rstd.contiguous()]
    check("layer_norm_backward", [grad, x, *saved, weight], [dx], weight=True, **options)
    check("layer_norm_parameters_backward", [grad, x, *saved], [dw, db], **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 100), (3, 7, 66), (1, 1)], ids=str)
def test_rms_norm(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, grad = random(shape, dtype), random((*shape, 1), dtype)[..., 0].contiguous()
    weight = random(shape[-1:], dtype)
    wide, scale = x.float().clone().requires_grad_(), weight.float().clone().requires_grad_()
    wanted = torch.nn.functional.rms_norm(wide, shape[-1:], scale, 1e-6)
    wanted.backward(grad.float())
    rstd = (wide.detach().square().mean(-1) + 1e-6).rsqrt()
    options = {"dtype": dtype, "scale": 4}
    check("rms_norm", [x, weight], [wanted.detach(), rstd], weight=True, eps=1e-6, **options)
    check("rms_norm_backward", [grad, x, rstd, weight], [wide.grad], weight=True, **options)
    check("rms_norm_parameters_backward", [grad, x, rstd], [scale.grad], **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "groups"), [((2, 6, 5), 3), ((3, 4, 5, 66), 1), ((2, 192, 3), 3), ((2, 128), 2)]
)
def test_group_norm(shape: tuple[int, ...], groups: int, dtype: torch.dtype) -> None:
    x, grad = random(shape, dtype), random((*shape, 1), dtype)[..., 0].contiguous()
    weight, bias = random(shape[1:2], dtype), random((shape[1], 1), dtype)[:, 0].contiguous()
    count = x[0, 0].numel()
    sizes = (shape[0], shape[1], count, groups)
    out, mean, rstd = A.native_group_norm(x.float(), weight.float(), bias.float(), *sizes, 1e-5)
    options = {"groups": groups, "weight": True, "dtype": dtype, "scale": 4}
    check("group_norm", [x, weight, bias], [out, mean, rstd], bias=True, **options)
    wanted, _, _ = A.native_group_norm_backward(
        grad.float(), x.float(), mean, rstd, weight.float(), *sizes, ALL
    )
    check("group_norm_backward", [grad, x, mean, rstd, weight], [wanted], **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 70), (3, 65, 2, 5)], ids=str)
def test_batch_norm(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, grad = random(shape, dtype), random((*shape, 1), dtype)[..., 0].contiguous()
    channels = shape[1]
    weight, bias = random((channels,), dtype), random((channels, 1), dtype)[:, 0].contiguous()
    old = [torch.randn(channels), torch.rand(channels) + 0.5]
    new = [t.clone() for t in old]
    wide = [t.float() for t in (x, weight, bias)]
    out, mean, rstd = A.native_batch_norm(*wide, *new, True, 0.1, 1e-5)
    options = {"weight": True, "scale": 5, "dtype": dtype}
    both = {"bias": True, "running": True}
    given = [x, weight, bias, *old]
    check("batch_norm", given, [out, mean, rstd, *new], training=True, **both, **options)
    evaluated, _, _ = A.native_batch_norm(*wide, *old, False, 0.1, 1e-5)
    check("batch_norm", given, [evaluated], training=False, **both, **options)
    for training, saved in ((True, [mean, rstd]), (False, [old[0], (old[1] + 1e-5).rsqrt()])):
        wanted = A.native_batch_norm_backward(
            grad.float(), wide[0], wide[1], *old, mean, rstd, training, 1e-5, ALL
        )
        given = [grad, x, *saved, weight]
        check("batch_norm_backward", given, wanted, training=training, **options)


def test_weights_are_read_once_by_each_core() -> None:
    x, weight = random((256, 1024), torch.float16), random((1024,), torch.float16)
    wanted = torch.nn.functional.rms_norm(x.float(), (1024,), weight.float(), 1e-6)
    counters = check("rms_norm", [x, weight], [wanted], weight=True, dtype=x.dtype)
    assert int(counters.ddr_read.sum()) <= x.numel() * 2 + 32 * weight.numel() * 2
