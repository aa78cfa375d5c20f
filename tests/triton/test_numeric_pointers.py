"""Pointers made from numbers: tables of ``data_ptr()``, as in grouped products."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import spyrelab
from spyrelab.emulator import SanitizerError


@triton.jit
def grouped(lefts, rights, outs, sizes, groups, BLOCK: tl.constexpr):
    """Products of matrices of different sizes, found by their addresses."""
    tile = tl.program_id(0)
    last = 0
    for group in range(groups):
        m, n = tl.load(sizes + group * 3), tl.load(sizes + group * 3 + 1)
        k = tl.load(sizes + group * 3 + 2)
        columns = tl.cdiv(n, BLOCK)
        tiles = tl.cdiv(m, BLOCK) * columns
        while tile >= last and tile < last + tiles:
            left = tl.load(lefts + group).to(tl.pointer_type(tl.float16))
            right = tl.load(rights + group).to(tl.pointer_type(tl.float16))
            out = tl.load(outs + group).to(tl.pointer_type(tl.float16))
            at_m = (tile - last) // columns * BLOCK + tl.arange(0, BLOCK)
            at_n = (tile - last) % columns * BLOCK + tl.arange(0, BLOCK)
            total = tl.zeros((BLOCK, BLOCK), tl.float32)
            for start in range(0, k, BLOCK):
                at_k = start + tl.arange(0, BLOCK)
                x_mask = (at_m < m)[:, None] & (at_k < k)[None, :]
                y_mask = (at_k < k)[:, None] & (at_n < n)[None, :]
                x = tl.load(left + at_m[:, None] * k + at_k[None, :], mask=x_mask, other=0.0)
                y = tl.load(right + at_k[:, None] * n + at_n[None, :], mask=y_mask, other=0.0)
                total = tl.dot(x, y, total)
            held = (at_m < m)[:, None] & (at_n < n)[None, :]
            tl.store(out + at_m[:, None] * n + at_n[None, :], total.to(tl.float16), mask=held)
            tile += tl.num_programs(0)
        last += tiles


def table(tensors: list[torch.Tensor]) -> torch.Tensor:
    return torch.tensor([tensor.data_ptr() for tensor in tensors], device="spyre")


@pytest.mark.parametrize("watched", [False, True])
def test_grouped_products(watched: bool) -> None:
    shapes = [(64, 40, 32), (100, 64, 70), (16, 16, 16)]
    rng = torch.Generator().manual_seed(0)
    xs = [torch.randn(m, k, generator=rng).half() for m, _, k in shapes]
    ys = [torch.randn(k, n, generator=rng).half() for _, n, k in shapes]
    lefts, rights = ([t.to("spyre") for t in side] for side in (xs, ys))
    outs = [torch.zeros(m, n, dtype=torch.float16, device="spyre") for m, n, _ in shapes]
    sizes = torch.tensor(shapes, dtype=torch.int32, device="spyre")
    arguments = (table(lefts), table(rights), table(outs), sizes, len(shapes))
    if watched:
        with spyrelab.sanitize():
            grouped[(5,)](*arguments, BLOCK=32)
    else:
        grouped[(5,)](*arguments, BLOCK=32)
    for x, y, out in zip(xs, ys, outs, strict=True):
        # Both round a sum in f32 once; the order of the sums differs.
        torch.testing.assert_close(out.cpu(), (x.float() @ y.float()).half(), rtol=2e-3, atol=1e-2)


@triton.jit
def from_each(addresses, out, COUNT: tl.constexpr):
    places = tl.arange(0, COUNT)
    each = tl.load(addresses + places).to(tl.pointer_type(tl.float32))
    tl.store(out + places, tl.load(each + 1))
    tl.store(each, places.to(tl.float32))


def test_a_pointer_for_each_element() -> None:
    tensors = [torch.full((2, 8), float(i), device="spyre") for i in range(16)]
    out = torch.zeros(16, device="spyre")
    from_each[(1,)](table(tensors), out, COUNT=16)
    assert out.tolist() == list(range(16))
    tensors[3][0, 0] -= 1
    assert [float(t[0, 0]) for t in tensors] == [0, 1, 2, 2, *range(4, 16)]


@triton.jit
def from_number(address, out, n, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    source = address.to(tl.pointer_type(tl.float16))
    tl.store(out + places, tl.load(source + places, mask=places < n, other=5.0))


def test_an_address_may_be_a_number_and_a_dead_one_is_found() -> None:
    x = torch.randn(8, 16).half()
    placed, out = x.to("spyre"), torch.zeros(128, dtype=torch.float16, device="spyre")
    from_number[(1,)](placed[2:].data_ptr(), out, 90, BLOCK=128)
    assert torch.equal(out.cpu()[:90], x.flatten()[32:122])
    assert (out.cpu()[90:] == 5).all()
    found = pytest.raises(SanitizerError, match=r"test_numeric_pointers.py.*outside every live")
    with found, spyrelab.sanitize():
        from_number[(1,)](placed.data_ptr() + (1 << 28), out, 90, BLOCK=128)


@triton.jit
def addresses(x, out, bias, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    one = tl.cast(x, tl.int64)
    tl.store(out + at, tl.cast(x + at, tl.int64) - one + one % 16)
    tl.store(out + BLOCK, one)
    if bias:
        tl.store(out + BLOCK + 1, tl.cast(tl.load(bias), tl.int64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.int64])
def test_pointers_as_numbers(dtype: torch.dtype) -> None:
    x = torch.zeros(96, dtype=dtype, device="spyre")[64:]
    out = torch.zeros(34, dtype=torch.int64, device="spyre")
    addresses[(1,)](x, out, torch.full((1,), 7, dtype=dtype, device="spyre"), BLOCK=32)
    size = x.element_size()
    assert out.tolist() == [*range(0, 32 * size, size), x.data_ptr(), 7]


def test_a_pointer_to_nothing_is_none() -> None:
    out = torch.zeros(34, dtype=torch.int64, device="spyre")
    addresses[(1,)](torch.zeros(32, device="spyre"), out, None, BLOCK=32)
    assert out[33].item() == 0
