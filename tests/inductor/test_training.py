"""Training: compiled steps = eager steps, bit for bit."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.inductor.compare import assert_same, device


class Block(nn.Module):
    """A small transformer."""

    def __init__(self, width: int = 32, heads: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.embedding = nn.Embedding(50, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        parts = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        x = x + F.dropout(self.down(F.gelu(self.up(self.second(x)))), self.dropout, self.training)
        return x @ self.embedding.weight.t()


def loss(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    logits = model(tokens)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_training_step_of_a_transformer(dropout: float) -> None:
    eager = Block(dropout=dropout).to("spyre")
    compiled = copy.deepcopy(eager)
    tokens = torch.randint(0, 50, (2, 7)).to("spyre")
    step = torch.compile(loss)
    optimisers = [torch.optim.AdamW(m.parameters(), lr=1e-2) for m in (eager, compiled)]
    for _ in range(2):
        torch.manual_seed(5)
        wanted = loss(eager, tokens)
        wanted.backward()
        torch.manual_seed(5)
        found = step(compiled, tokens)
        found.backward()
        assert_same(found, wanted)
        gradients = [[p.grad for p in m.parameters()] for m in (compiled, eager)]
        assert_same(*gradients)
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()
    assert_same(list(compiled.parameters()), list(eager.parameters()))


def test_buffers_of_a_module_are_updated() -> None:
    eager = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).to("spyre")
    compiled = copy.deepcopy(eager)
    compiled.compile()
    for _ in range(2):
        x = device(2, 3, 8, 8)
        wanted, found = eager(x), compiled(x)
        assert_same(found, wanted)
        wanted.sum().backward()
        found.sum().backward()
    assert_same(dict(compiled.named_buffers()), dict(eager.named_buffers()))
    assert_same([p.grad for p in compiled.parameters()], [p.grad for p in eager.parameters()])


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_the_step_of_an_optimiser(kind: Any) -> None:
    parameters = [nn.Parameter(device(4, 8)), nn.Parameter(device(8))]
    twins = [nn.Parameter(p.detach().clone()) for p in parameters]
    eager, other = kind(parameters, lr=0.1), kind(twins, lr=0.1)
    compiled = torch.compile(other.step)
    # Where torch traces AdamW, its bias corrections are tensors, not Python's doubles.
    traced = torch.compile(eager.step, backend="eager")
    for _ in range(3):
        for one, twin in zip(parameters, twins, strict=True):
            one.grad = torch.randn(one.shape).to("spyre")
            twin.grad = one.grad.clone()
        traced()
        compiled()
    assert_same(twins, parameters)


def test_gradients_of_dynamic_shapes() -> None:
    w = device(16, 8).requires_grad_()
    twin = w.detach().clone().requires_grad_()

    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (torch.tanh(x @ w) ** 2).mean()

    compiled = torch.compile(function, dynamic=True)
    for rows in (3, 5, 9):
        x = device(rows, 16)
        function(x, w).backward()
        compiled(x, twin).backward()
    assert_same(twin.grad, w.grad)
