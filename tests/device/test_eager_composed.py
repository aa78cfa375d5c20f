"""Operations composed of others on the card: as on the CPU, without leaving the device."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

Compute = Callable[..., torch.Tensor]

CASES: dict[str, tuple[Compute, tuple[tuple[int, ...], ...]]] = {
    "reflect": (lambda x: functional.pad(x, (2, 1, 0, 3), "reflect"), ((2, 3, 5, 70),)),
    "replicate": (lambda x: functional.pad(x, (2, -1, 1, 3), "replicate"), ((2, 3, 5, 70),)),
    "nearest": (lambda x: functional.interpolate(x, (7, 90)), ((2, 3, 5, 70),)),
    "bilinear": (lambda x: functional.interpolate(x, (7, 90), mode="bilinear"), ((2, 3, 5, 70),)),
    "bicubic": (lambda x: functional.interpolate(x, (3, 8), mode="bicubic"), ((1, 3, 5, 6),)),
    "antialias": (
        lambda x: functional.interpolate(x, (2, 3), mode="bilinear", antialias=True),
        ((1, 3, 5, 6),),
    ),
    "adaptive_mean": (lambda x: functional.adaptive_avg_pool2d(x, (3, 5)), ((2, 3, 7, 8),)),
    "adaptive_maximum": (lambda x: functional.adaptive_max_pool2d(x, (3, 5)), ((2, 3, 7, 8),)),
    "unfold": (lambda x: functional.unfold(x, (3, 2), dilation=2, padding=1), ((2, 3, 7, 8),)),
    "fold": (lambda x: functional.fold(x, (5, 6), (2, 3), stride=(1, 2)), ((2, 12, 8),)),
    "cross": (lambda x, y: torch.linalg.cross(x, y, dim=1), ((70, 3, 2), (70, 3, 2))),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.5), ((9, 70),)),
    "trace": (torch.trace, ((65, 70),)),
    "cdist": (lambda x, y: torch.cdist(x, y, p=1.5), ((5, 7), (9, 7))),
    "pdist": (functional.pdist, ((6, 7),)),
    "glu": (functional.glu, ((5, 130),)),
    "addr": (torch.addr, ((5, 70), (5,), (70,))),
    "addbmm": (torch.addbmm, ((5, 70), (3, 5, 9), (3, 9, 70))),
    "nanmedian": (lambda x: torch.nanmedian(x.sqrt(), 1).values, ((5, 70),)),
    "chebyshev": (lambda x: torch.special.chebyshev_polynomial_t(x, 5), ((5, 70),)),
    "channel_shuffle": (lambda x: functional.channel_shuffle(x, 3), ((2, 6, 4, 4),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str) -> None:
    compute, sizes = CASES[name]
    torch.manual_seed(3)
    hosts = [torch.randn(size).requires_grad_() for size in sizes]
    cards = [host.detach().to("spyre").requires_grad_() for host in hosts]
    expected = compute(*hosts)
    with torch.spyre.fallback("error"):
        found = compute(*cards)
    torch.testing.assert_close(found.cpu(), expected, rtol=2e-5, atol=2e-5, equal_nan=True)
    assert found.dtype == expected.dtype
    if expected.grad_fn is None or name in ("chebyshev", "nanmedian"):
        return
    seed = torch.rand(expected.shape)
    expected.backward(seed)
    found.backward(seed.to("spyre"))
    for card, host in zip(cards, hosts, strict=True):
        assert card.grad is not None
        torch.testing.assert_close(card.grad.cpu(), host.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_of_classes_ignores_what_it_should(reduction: str) -> None:
    x, weight = torch.randn(6, 5, requires_grad=True), torch.rand(5)
    target = torch.tensor([0, 4, 2, 2, -100, 1])
    card = x.detach().to("spyre").requires_grad_()
    expected = functional.cross_entropy(x, target, weight, reduction=reduction)
    with torch.spyre.fallback("error"):
        found = functional.cross_entropy(
            card, target.to("spyre"), weight.to("spyre"), reduction=reduction
        )
        found.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(found.cpu(), expected)
    assert card.grad is not None
    torch.testing.assert_close(card.grad.cpu(), x.grad)


def test_a_class_that_does_not_exist_is_an_error() -> None:
    x = torch.randn(2, 5, device="spyre")
    with pytest.raises(IndexError, match="out of bounds"):
        functional.nll_loss(x, torch.tensor([1, 7], device="spyre"))


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_writes_that_reduce(reduce: str, include_self: bool) -> None:
    x, source = torch.randn(4, 6), torch.randn(7, 5)
    index = torch.randint(0, 4, (7, 5))
    expected = x.scatter_reduce(0, index, source, reduce, include_self=include_self)
    with torch.spyre.fallback("error"):
        found = x.to("spyre").scatter_reduce(
            0, index.to("spyre"), source.to("spyre"), reduce, include_self=include_self
        )
    torch.testing.assert_close(found.cpu(), expected)


def test_take_and_put_by_flat_position() -> None:
    x, index = torch.randn(4, 70), torch.tensor([[0, -1], [279, 3]])
    card = x.to("spyre")
    with torch.spyre.fallback("error"):
        assert card.take(index.to("spyre")).cpu().equal(x.take(index))
    twice = torch.tensor([5, 5, 9])
    with torch.spyre.fallback("error"):
        card.put_(twice.to("spyre"), torch.ones(3, device="spyre"), accumulate=True)
    x.put_(twice, torch.ones(3), accumulate=True)
    torch.testing.assert_close(card.cpu(), x)
    with pytest.raises(IndexError):
        card.take(torch.tensor([280], device="spyre"))
