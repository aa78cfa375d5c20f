"""Automatic mixed precision."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_products_are_in_lower_precision_and_losses_in_full(dtype: torch.dtype) -> None:
    x, w = torch.randn(4, 8, device="spyre"), torch.randn(8, 8, device="spyre")
    with torch.autocast("spyre", dtype=dtype):
        y = x @ w
        assert y.dtype is dtype
        assert functional.linear(x, w).dtype is dtype
        assert torch.bmm(x[None], w[None]).dtype is dtype
        assert functional.softmax(y, -1).dtype is torch.float32
        assert functional.layer_norm(y, (8,)).dtype is torch.float32
        assert y.exp().dtype is torch.float32
        assert functional.mse_loss(y, y).dtype is torch.float32
        assert (y + 1).dtype is dtype
        assert torch.cat([x, y]).dtype is torch.float32
        assert (x.double() @ w.double()).dtype is torch.float64
        with torch.autocast("spyre", enabled=False):
            assert (x @ w).dtype is torch.float32
    assert (x @ w).dtype is torch.float32


def test_the_default_type() -> None:
    assert torch.get_autocast_dtype("spyre") in (torch.float16, torch.bfloat16)
    assert not torch.is_autocast_enabled("spyre")
    with torch.autocast("spyre"):
        assert torch.is_autocast_enabled("spyre")


def test_training_under_autocast() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    model.to("spyre")
    with torch.autocast("spyre", dtype=torch.bfloat16):
        loss = functional.cross_entropy(
            model(torch.randn(4, 8, device="spyre")), torch.tensor([0, 1, 0, 1]).spyre()
        )
    loss.backward()
    assert loss.dtype is torch.float32
    assert all(p.grad is not None and p.grad.dtype is torch.float32 for p in model.parameters())


def test_what_autocast_refuses() -> None:
    p = torch.rand(4, device="spyre")
    with torch.autocast("spyre"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        functional.binary_cross_entropy(p, p)


def test_gradient_scaling() -> None:
    w = torch.ones(4, device="spyre", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("spyre", init_scale=8.0)
    scaler.scale((w * 2).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0, 0, 0, 0]
