"""Helion's kernels inside functions that torch.compile compiles for the card."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch
from torch.nn import functional

import spyrelab
from spyrelab.helion import examples, provider

plain = helion.kernel(autotune_effort="none")


@plain
def squares(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size()):
        out[tile] = x[tile] * x[tile]
    return out


@plain
def moments(x: torch.Tensor, shape: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum and sum of squares of each row; the list is as `layer_norm` takes one."""
    rows, columns = x.size()
    assert shape == [columns]
    first = torch.empty([rows], dtype=x.dtype, device=x.device)
    second = torch.empty([rows], dtype=x.dtype, device=x.device)
    for tile in hl.tile(rows):
        first[tile] = x[tile, :].sum(-1)
        second[tile] = (x[tile, :] * x[tile, :]).sum(-1)
    return first, second


@plain
def add_to(x: torch.Tensor, y: torch.Tensor) -> None:
    for tile in hl.tile(x.size()):
        x[tile] = x[tile] + y[tile]


@plain
def silu_of(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(gate)
    for tile in hl.tile(gate.size()):
        out[tile] = gate[tile] * torch.sigmoid(gate[tile]) * up[tile]
    return out


@plain
def silu_backward(
    grad: torch.Tensor, gate: torch.Tensor, up: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    for_gate, for_up = torch.empty_like(gate), torch.empty_like(up)
    for tile in hl.tile(gate.size()):
        s = torch.sigmoid(gate[tile])
        for_gate[tile] = grad[tile] * up[tile] * (s + gate[tile] * s * (1 - s))
        for_up[tile] = grad[tile] * gate[tile] * s
    return for_gate, for_up


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def named(seen):
    """What was launched; Inductor adds to the names of kernels."""
    return [kernel.op.partition("_triton_")[0] for kernel in seen.kernels]


def check(function, wanted, *args, **settings):
    """Compiled for the card, against torch on the CPU; what it launched."""
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, **settings)
    moved = [x.to("spyre") for x in args]
    with spyrelab.record() as seen:
        found = compiled(*moved)
    torch.testing.assert_close(
        torch.utils._pytree.tree_map(lambda x: x.cpu(), found), wanted, atol=1e-5, rtol=1e-5
    )
    return named(seen), moved


def test_a_kernel_among_other_operations():
    x, w = random(33, 64), random(64, 40, seed=1)
    launched, _ = check(
        lambda x, w: examples.softmax(torch.relu(x @ w)) + 1,
        torch.relu(x @ w).softmax(-1) + 1, x, w
    )  # fmt: skip
    assert launched.count("_helion_softmax") == 1 and len(launched) > 1
    check(lambda x: squares(squares(x)) + squares(x), x**4 + x**2, x)
    check(lambda x: squares(x[:0]) * 2, x[:0], x)


def test_kernels_compile_where_inductor_knows_the_device():
    x = random(16, 96).to("spyre")
    torch.compile(lambda x: x + x)(x)
    kernel = plain(squares.fn)
    torch.testing.assert_close(kernel(x).cpu(), x.cpu() ** 2)


def test_several_results_and_a_list_as_argument():
    x = random(33, 64)

    def function(x):
        first, second = moments(x, [64])
        return first / 64, second / 64

    check(function, (x.mean(-1), (x * x).mean(-1)), x)


@pytest.mark.parametrize(
    "view",
    [lambda x: x.t(), lambda x: x[::2, ::3], lambda x: x.reshape(4, 11, 20).permute(2, 0, 1)],
    ids=["transposed", "strided", "permuted"],
)
def test_operands_that_are_views(view):
    """What a kernel makes of them may lie otherwise than Helion says while torch traces."""
    x = random(44, 20)
    check(lambda x: squares(view(x)), view(x) ** 2, x)
    check(lambda x: squares(view(x)) * 2 + view(x), view(x) ** 2 * 2 + view(x), x)


def test_kernels_that_write_into_their_operands():
    x, y = random(33, 64), random(33, 64, seed=1)

    def into_a_value(x, y):
        z = (x * 2).t()
        add_to(z, y.t())
        add_to(z, y.t())
        return z + 1

    check(into_a_value, (x * 2 + y * 2).t() + 1, x, y)

    def into_the_argument(x, y):
        add_to(x[1:], y[1:])
        return x * 1

    summed = torch.cat([x[:1], x[1:] + y[1:]])
    _, (given, _) = check(into_the_argument, summed, x, y)
    torch.testing.assert_close(given.cpu(), summed)


def test_sizes_that_vary():
    kernel = helion.kernel(autotune_effort="none", static_shapes=False)(squares.fn)
    compiled = torch.compile(lambda x: kernel(x) + 1, dynamic=True, fullgraph=True)
    for rows in (3, 65, 1):
        x = random(rows, 40)
        torch.testing.assert_close(compiled(x.to("spyre")).cpu(), x * x + 1)


def test_a_kernel_without_a_configuration_is_tuned_meanwhile(monkeypatch, tmp_path):
    monkeypatch.setenv("HELION_CACHE_DIR", str(tmp_path))
    kernel = helion.kernel(configs=[helion.Config(block_sizes=[n, 32]) for n in (1, 16)])(
        squares.fn
    )
    asked = []
    predict = provider.predict
    monkeypatch.setattr(provider, "predict", lambda call: asked.append(1) or predict(call))
    x = random(64, 32)
    launched, _ = check(lambda x: kernel(x) + 1, x * x + 1, x)
    assert len(asked) == 2 and launched.count("_helion_squares") == 1


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return silu_of(gate, up)

    @staticmethod
    def backward(ctx, grad):
        return silu_backward(grad, *ctx.saved_tensors)


def test_gradients_through_a_function_of_two_kernels():
    def gradients(function, device):
        args = [random(9, 65, seed=n).to(device).requires_grad_() for n in (0, 1)]
        function(*args).sum().backward()
        return [x.grad.cpu() for x in args]

    compiled = torch.compile(lambda gate, up: Silu.apply(gate, up) * 3)
    wanted = gradients(lambda gate, up: functional.silu(gate) * up * 3, "cpu")
    with spyrelab.record() as seen:
        found = gradients(compiled, "spyre")
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    launched = named(seen)
    assert "_helion_silu_of" in launched and "_helion_silu_backward" in launched


def test_explain_shows_the_kernel_inside_a_compiled_function():
    x = random(8, 64).to("spyre")
    text = str(spyrelab.explain(lambda x: squares(x) + 1, x, stage="code"))
    assert "_helion_squares" in text
