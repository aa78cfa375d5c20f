"""Odd graphs: compiled = eager, whatever torch can trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from tests.inductor.compare import assert_same, check, device


def aliases(x: Any) -> Any:
    return x, x.view(-1), x[1], x.t(), x + 1


def twice(x: Any) -> Any:
    y = x + 1
    return y, y, y.t()


def written_views(x: Any) -> Any:
    x[1:3].mul_(2)
    x[:, 0] = 5
    return x.sum(0)


def written_inside(x: Any) -> Any:
    y = x * 2
    y[1:3] += 1
    y[:, 2].zero_()
    y.t()[0].fill_(3)
    return y


def scattered(x: Any) -> Any:
    return torch.diagonal_scatter(x, x[0, :4]), torch.slice_scatter(x, x[:2] * 2, 0, 1, 3)


def masked(x: Any) -> Any:
    below = x.masked_fill(x < 0, float("-inf")).softmax(-1)
    return torch.where(x > 0, x, 0.0), below, x.tril(), x.argmax(-1), (x > 0).any(1)


def empty(x: Any) -> Any:
    return x[:0] * 2, torch.cat([x[:0], x]), x[:0].sum()


def zero_dimensional(x: Any) -> Any:
    return x.sum() * 2, x.mean() + x, x.abs().sum().sqrt()


def host_numbers(x: Any) -> Any:
    return x * torch.tensor(2.5) + torch.tensor(3), x[torch.tensor([0, 2])]


def ordered(x: Any) -> Any:
    return x.sort(1), x.cumsum(1), x.flip(0), x.roll(1, 1), x.repeat(2, 1), x.unfold(1, 2, 1)


def special_numbers(x: Any) -> Any:
    return x * 1e30, x + float("inf"), x * float("nan"), x / 0, x - 2**40


def made(x: Any) -> Any:
    eye = torch.eye(3, device="spyre")
    return torch.full_like(x, 3), eye, torch.linspace(0, 1, 5, device="spyre"), x.new_zeros(2, 2)


def nested(x: Any) -> Any:
    return {"a": x + 1, "b": [x * 2, None, 3]}


def conditional(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


def retyped(x: Any) -> Any:
    return x.view(torch.int32) + 1, x.to(torch.float16), x.double() * 2


def transformed(x: Any) -> Any:
    rows = torch.func.vmap(lambda row: row @ x.t())(x)
    return rows, torch.func.grad(lambda y: (y**2).sum())(x), torch.fft.fft(x)


FUNCTIONS: list[Callable[..., Any]] = [
    aliases,
    twice,
    written_views,
    written_inside,
    scattered,
    masked,
    empty,
    zero_dimensional,
    host_numbers,
    ordered,
    special_numbers,
    made,
    nested,
    conditional,
    retyped,
    transformed,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_odd_graphs(function: Any) -> None:
    x = device(4, 6)
    twin = x.clone()
    assert_same(torch.compile(function)(twin), function(x))
    assert_same(twin, x)


def test_inference_mode() -> None:
    with torch.inference_mode():
        check(lambda x: (x @ x.t()).softmax(-1), device(4, 4))


@pytest.mark.parametrize("inside", [False, True])
def test_autocast(inside: bool) -> None:
    def function(x: Any, w: Any) -> Any:
        with torch.autocast("spyre", dtype=torch.float16, enabled=inside):
            return (x @ w).relu() + 1

    with torch.autocast("spyre", dtype=torch.float16, enabled=not inside):
        check(function, device(4, 8), device(8, 8))


def test_checkpoints() -> None:
    from torch.utils.checkpoint import checkpoint

    w = device(8, 8)

    def function(x: Any) -> Any:
        return checkpoint(lambda x: torch.tanh(x @ w).exp(), x, use_reentrant=False)

    x = device(4, 8).requires_grad_()
    twin = x.detach().clone().requires_grad_()
    function(x).sum().backward()
    torch.compile(function)(twin).sum().backward()
    assert_same(twin.grad, x.grad)


def test_operations_of_others() -> None:
    @torch.library.custom_op("spyrelab_test::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @torch.library.custom_op("spyrelab_test::overwrite", mutates_args=("x",))
    def overwrite(x: torch.Tensor) -> None:
        x.fill_(3)

    double.register_fake(torch.empty_like)

    def function(x: Any) -> Any:
        y = x + 1
        overwrite(y)
        return double(y) + x

    check(function, device(4, 4))


def test_inputs_that_overlap() -> None:
    def function(x: Any, y: Any) -> Any:
        x.add_(1)
        return y * 2

    one = device(8)
    other = one.clone()
    wanted = function(one[:5], one[3:])
    assert_same(torch.compile(function)(other[:5], other[3:]), wanted)
    assert_same(other, one)


def test_strides_that_are_not_what_torch_foresaw() -> None:
    def function(x: Any) -> Any:
        y = x.t()[3:] * 2
        return y.t().reshape(-1), F.relu(y)

    check(function, device(8, 12))
