"""Triton kernels of the user inside code that torch.compile compiles."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton

N = 256


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    held = places < n
    total = tl.load(x + places, mask=held) + tl.load(y + places, mask=held)
    tl.store(out + places, total, mask=held)


tuned_add = triton.autotune([triton.Config({"BLOCK": size}) for size in (32, 128)], key=["n"])(add)


def total(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


def tuned_total(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    tuned_add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out


@triton_op("spyrelab_tests::total", mutates_args={})
def operator_total(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wrap_triton(add)[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 64)
    return out


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return total(x, y)

    @staticmethod
    def backward(ctx, grad):
        return total(grad, grad), grad


def halves(*shape: int) -> torch.Tensor:
    # Quarters up to 4: every sum below is exact.
    rng = torch.Generator().manual_seed(0)
    return torch.randint(-16, 17, shape, generator=rng).mul(0.25).half()


@pytest.mark.parametrize("made", [total, tuned_total, operator_total])
def test_a_kernel_is_part_of_the_graph(made):
    x = halves(4, N // 4)
    compiled = torch.compile(lambda a, b: made(a * 2, b).relu() + 1, fullgraph=True)
    got = compiled(x.to("spyre"), x.to("spyre")).cpu()
    assert torch.equal(got, (3 * x).relu() + 1)
    assert torch.equal(operator_total(x.to("spyre"), x.to("spyre")).cpu(), 2 * x)


@triton.jit
def scale(x, n, factor, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + places, tl.load(x + places, mask=places < n) * factor, mask=places < n)


def test_in_place_and_of_any_size():
    def scaled(x, factor):
        made = x + 1
        scale[(triton.cdiv(made.numel(), 64),)](made, made.numel(), factor, BLOCK=64)
        return made

    compiled = torch.compile(scaled, fullgraph=True, dynamic=True)
    for n in (64, 100):
        x = halves(n)
        assert torch.equal(compiled(x.to("spyre"), 3).cpu(), (x + 1) * 3)


def test_gradients():
    x = torch.ones(4, 64, device="spyre", requires_grad=True)
    compiled = torch.compile(lambda a: (Sum.apply(a, a + 1) * 2).sum(), fullgraph=True)
    compiled(x).backward()
    assert torch.equal(x.grad.cpu(), torch.full((4, 64), 6.0))


def test_a_kernel_that_the_card_lacks_a_type_for_says_so():
    @triton.jit
    def wide(x, BLOCK: tl.constexpr):
        places = tl.arange(0, BLOCK)
        tl.store(x + places, tl.load(x + places).to(tl.float64) * 3.3)

    def run(x):
        made = x + 1
        wide[(1,)](made, BLOCK=64)
        return made

    with pytest.raises(Exception, match=r"no 64-bit floats: use tl\.float32"):
        torch.compile(run, fullgraph=True)(torch.ones(64, device="spyre"))
