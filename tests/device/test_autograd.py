"""Autograd, optimisers and the transforms that torch builds on them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional


def twins(make) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    here = make()
    there = make()
    there.load_state_dict(here.state_dict())
    return here, there.to("spyre")


MODULES = {
    "linear": (lambda: nn.Linear(10, 3), (4, 10)),
    "mlp": (lambda: nn.Sequential(nn.Linear(10, 70), nn.GELU(), nn.Linear(70, 3)), (4, 10)),
    "layer norm": (lambda: nn.LayerNorm(70), (4, 70)),
    "batch norm": (lambda: nn.BatchNorm2d(3), (4, 3, 5, 5)),
    "conv": (lambda: nn.Conv2d(3, 6, 3, padding=1), (2, 3, 8, 8)),
    "conv without bias": (lambda: nn.Conv1d(3, 6, 3, bias=False), (2, 3, 8)),
    "transposed conv": (lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), (2, 3, 4, 4)),
    "grouped conv": (lambda: nn.Conv2d(4, 4, 3, groups=2), (2, 4, 6, 6)),
    "pool": (lambda: nn.MaxPool2d(2), (2, 3, 8, 8)),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True),
        (2, 5, 16),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_agree_with_the_cpu(name: str) -> None:
    make, size = MODULES[name]
    here, there = twins(make)
    x = torch.randn(size, requires_grad=True)
    y = x.detach().to("spyre").requires_grad_()
    want, got = here(x), there(y)
    torch.testing.assert_close(got.cpu(), want, atol=2e-5, rtol=2e-5)
    weights = torch.randn_like(want)
    want.backward(weights)
    got.backward(weights.to("spyre"))
    torch.testing.assert_close(y.grad.cpu(), x.grad, atol=5e-5, rtol=5e-5)
    for a, b in zip(there.parameters(), here.parameters(), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, atol=5e-5, rtol=5e-5)


OPTIMIZERS = [
    torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad,
    torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Rprop, torch.optim.ASGD,
]  # fmt: skip


@pytest.mark.parametrize("kind", OPTIMIZERS, ids=lambda kind: kind.__name__)
def test_optimizers_agree_with_the_cpu(kind) -> None:
    here, there = twins(lambda: nn.Linear(6, 3))
    optimizers = [kind(m.parameters(), lr=0.01) for m in (here, there)]
    x = torch.randn(8, 6)
    for _ in range(3):
        for module, optimizer, data in zip(
            (here, there), optimizers, (x, x.to("spyre")), strict=False
        ):
            optimizer.zero_grad()
            module(data).square().mean().backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
    torch.testing.assert_close(there.weight.cpu(), here.weight, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("foreach", [True, False])
def test_both_implementations_of_an_optimizer(foreach: bool) -> None:
    w = torch.ones(3, device="spyre", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9, foreach=foreach)
    for _ in range(2):
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
    torch.testing.assert_close(w.cpu(), torch.full((3,), 1 - 0.1 - 0.19))


def test_gradients_through_views_and_copies() -> None:
    x = torch.randn(5, 70)
    grads = []
    for device in ("cpu", "spyre"):
        a = x.to(device).detach().requires_grad_()
        b = a.t()[3:, 1:].reshape(-1)[::2].to("cpu").to(device)
        b.square().sum().backward()
        grads.append(a.grad.cpu())
    assert grads[0].equal(grads[1])


def test_in_place_changes_are_noticed() -> None:
    x = torch.randn(3, device="spyre", requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_leaves_refuse_in_place_changes() -> None:
    x = torch.randn(3, device="spyre", requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.add_(1)
    with torch.no_grad():
        x.add_(1)


def test_transforms() -> None:
    x = torch.randn(4, 6, device="spyre")
    assert torch.vmap(torch.dot)(x, x).cpu().allclose((x.cpu() ** 2).sum(1))
    grad = torch.func.grad(lambda t: (t**3).sum())(x)
    torch.testing.assert_close(grad.cpu(), 3 * x.cpu() ** 2)
    _, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent.cpu(), x.cpu().cos())


def test_double_backward() -> None:
    x = torch.tensor([2.0, 3.0], device="spyre", requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [12, 18]


def test_inference_mode_and_no_grad() -> None:
    x = torch.randn(3, device="spyre", requires_grad=True)
    with torch.inference_mode():
        y = (x * 2).view(1, 3)
        assert y.is_inference() and not y.requires_grad
    with torch.no_grad():
        assert not (x * 2).requires_grad
    assert y.clone().cpu().equal(2 * x.detach().cpu()[None])


def test_hooks_and_custom_functions() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 + 0 * x

    seen = []
    x = torch.ones(3, device="spyre", requires_grad=True)
    x.register_hook(lambda g: seen.append(g.device.type))
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and seen == ["spyre"]


def test_gradcheck() -> None:
    x = torch.randn(3, 4, dtype=torch.float64, device="spyre", requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: functional.softmax(t, -1).sum(0) * t[0], (x,))


def test_two_threads_train_at_once() -> None:
    import threading

    results: dict[int, float] = {}

    def train(number: int) -> None:
        w = torch.full((5,), float(number), device="spyre", requires_grad=True)
        for _ in range(10):
            (w * w).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
        results[number] = float(w[0])

    threads = [threading.Thread(target=train, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[2] == pytest.approx(2 * results[1])
