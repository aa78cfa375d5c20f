"""Dense kernels become boxes, whatever the shape."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from tests.triton.translated import launch

BOX = "box"
SIZES = [(1, 1), (3, 4), (63, 64), (64, 64), (65, 64), (127, 64), (65, 128)]


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside, other=1.0)
    tl.store(out + at, total, mask=inside)


@pytest.mark.parametrize(("n", "block"), SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_vector_add(n: int, block: int, dtype: torch.dtype) -> None:
    x, y = (random(n, dtype=torch.float32) * 10 for _ in range(2))
    x, y = x.to(dtype), y.to(dtype)
    args = {"x": x, "y": y, "out": torch.zeros_like(x), "n": n}
    got = launch(add, ((n + block - 1) // block,), args, [BOX] * 3, BLOCK=block)
    assert torch.equal(got["out"], x + y)


@triton.jit
def softmax(out, x, row_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * row_stride + column, mask=inside, other=-float("inf"))
    value = value - tl.max(value, axis=0)
    power = tl.exp(value)
    tl.store(out + row * row_stride + column, power / tl.sum(power, axis=0), mask=inside)


@pytest.mark.parametrize(("n", "block"), [(1, 1), (63, 64), (65, 128), (127, 128)])
def test_softmax(n: int, block: int) -> None:
    x = random(5, n)
    args = {"out": torch.zeros_like(x), "x": x, "row_stride": n, "n": n}
    got = launch(softmax, (5,), args, [BOX] * 2, BLOCK=block)
    torch.testing.assert_close(got["out"], x.softmax(1), rtol=1e-5, atol=1e-6)


@triton.jit
def matmul(
    a, b, c, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WRAP: tl.constexpr,
):  # fmt: skip
    columns = tl.cdiv(N, BN)
    m = tl.program_id(0) // columns * BM + tl.arange(0, BM)
    n = tl.program_id(0) % columns * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    rows, cols = (m % M, n % N) if WRAP else (m, n)
    a += rows[:, None] * am + k[None, :] * ak
    b += k[:, None] * bk + cols[None, :] * bn
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        if WRAP:
            x = tl.load(a, mask=k[None, :] < left, other=0.0)
            y = tl.load(b, mask=k[:, None] < left, other=0.0)
        else:
            x = tl.load(a, mask=(k[None, :] < left) & (m[:, None] < M), other=0.0)
            y = tl.load(b, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
        a += BK * ak
        b += BK * bk
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + m[:, None] * cm + n[None, :] * cn, total.to(c.dtype.element_ty), mask=inside)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 32), (65, 127, 63), (3, 5, 7), (1, 1, 1)])
def test_matmul(m: int, n: int, k: int, turned: tuple[bool, bool], wrap: bool) -> None:
    a = random(k, m, dtype=torch.float16).T if turned[0] else random(m, k, dtype=torch.float16)
    b = random(n, k, dtype=torch.float16).T if turned[1] else random(k, n, dtype=torch.float16)
    c = torch.zeros(m, n, dtype=torch.float16)
    sizes = {"M": m, "N": n, "K": k, "cm": n, "cn": 1}
    strides = {"am": a.stride(0), "ak": a.stride(1), "bk": b.stride(0), "bn": b.stride(1)}
    constants = {name: strides.pop(name) for name in list(strides) if strides[name] == 1}
    held = {"a": a.T if turned[0] else a, "b": b.T if turned[1] else b, "c": c}
    blocks = {"BM": 32, "BN": 64, "BK": 32, "WRAP": wrap}
    grid = (-(-m // 32) * -(-n // 64),)
    got = launch(matmul, grid, held | sizes | strides, [BOX] * 3, **constants, **blocks)
    torch.testing.assert_close(got["c"].float(), a.float() @ b.float(), rtol=2e-3, atol=2e-2)


@triton.jit
def layer_norm(x, weight, bias, out, stride, n, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0)
    mean = tl.sum(total) / n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < n, other=0.0)
        value = tl.where(at < n, value - mean, 0.0)
        total += value * value
    scale = 1 / tl.sqrt(tl.sum(total) / n + epsilon)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        value = (tl.load(x + at, mask=inside) - mean) * scale
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(out + at, value, mask=inside)


@pytest.mark.parametrize("n", [1, 64, 150])
def test_layer_norm(n: int) -> None:
    x, weight, bias = random(4, n), random(n), random(n + 1)[:n]
    args = {"x": x, "weight": weight, "bias": bias, "out": torch.zeros_like(x)}
    args |= {"stride": n, "n": n, "epsilon": 1e-5}
    got = launch(layer_norm, (4,), args, [BOX] * 6, BLOCK=64)
    expected = torch.nn.functional.layer_norm(x, (n,), weight, bias)
    torch.testing.assert_close(got["out"], expected, rtol=1e-3, atol=1e-4)


@triton.jit
def copy(x, out, M, N, xm, xn, om, on, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    value = tl.load(x + m[:, None] * xm + n[None, :] * xn, mask=inside)
    tl.store(out + m[:, None] * om + n[None, :] * on, value, mask=inside)


@pytest.mark.parametrize("strides", ["rows", "columns", "wide", "backwards"])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 65), (33, 127), (32, 64)])
def test_strided_copy(m: int, n: int, strides: str) -> None:
    match strides:
        case "rows":
            base = view = random(m, n)
        case "columns":
            base = random(n, m)
            view = base.T
        case "wide":
            base = random(m, 2 * n)
            view = base[:, ::2]
        case _:
            base = random(m, n)
            view = base.flip(1)
    args = {"x": base, "out": torch.zeros(m, n), "M": m, "N": n, "om": n}
    args |= {"xm": view.stride(0), "xn": view.stride(1), "on": 1}
    kernel = copy
    if strides == "backwards":
        args["xn"], kernel = -1, copy_backwards
    got = launch(kernel, (-(-m // 32), -(-n // 64)), args, [BOX] * 2, BM=32, BN=64)
    assert torch.equal(got["out"], view)


@triton.jit
def copy_backwards(x, out, M, N, xm, xn, om, on, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    value = tl.load(x + (N - 1) + m[:, None] * xm + n[None, :] * xn, mask=inside)
    tl.store(out + m[:, None] * om + n[None, :] * on, value, mask=inside)


@triton.jit
def attention(q, k, v, out, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    start = head * T * D
    query = tl.load(q + start + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    weight = tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, D], tl.float32)
    for first in range(0, tl.minimum(T, (tl.program_id(0) + 1) * BM), BN):
        n = first + tl.arange(0, BN)
        key = tl.load(k + start + n[None, :] * D + d[:, None], mask=n[None, :] < T, other=0.0)
        score = tl.dot(query, key) * scale
        score = tl.where((n[None, :] <= m[:, None]) & (n[None, :] < T), score, -1.0e30)
        higher = tl.maximum(top, tl.max(score, 1))
        power = tl.exp(score - higher[:, None])
        decay = tl.exp(top - higher)
        weight = weight * decay + tl.sum(power, 1)
        value = tl.load(v + start + n[:, None] * D + d[None, :], mask=n[:, None] < T, other=0.0)
        total = tl.dot(power.to(value.dtype), value, total * decay[:, None])
        top = higher
    total = total / weight[:, None]
    tl.store(
        out + start + m[:, None] * D + d[None, :], total.to(out.dtype.element_ty), m[:, None] < T
    )


@pytest.mark.parametrize("tokens", [1, 31, 65])
def test_causal_attention(tokens: int) -> None:
    q, k, v = (random(2, tokens, 32, dtype=torch.float16) + i for i in range(3))
    args = {"q": q, "k": k, "v": v, "out": torch.zeros_like(q), "T": tokens, "scale": 0.18}
    got = launch(attention, (-(-tokens // 32), 2), args, [BOX] * 4, D=32, BM=32, BN=16)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=True, scale=0.18
    )
    torch.testing.assert_close(got["out"].float(), expected, rtol=3e-3, atol=3e-3)


@triton.jit
def convolution(x, w, out, H, W, C: tl.constexpr, F: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    c, f = tl.arange(0, C), tl.arange(0, F)
    total = tl.zeros([BLOCK, F], tl.float32)
    for i in range(3):
        for j in range(3):
            y, z = row + i - 1, column + j - 1
            inside = (y >= 0) & (y < H) & (z >= 0)[:, None] & (z < W)[:, None]
            part = tl.load(x + (y * W + z)[:, None] * C + c[None, :], mask=inside, other=0.0)
            weight = tl.load(w + ((i * 3 + j) * C + c)[:, None] * F + f[None, :])
            total += tl.dot(part, weight)
    at = (row * W + column)[:, None] * F + f[None, :]
    tl.store(out + at, total, mask=(column < W)[:, None])


def test_convolution() -> None:
    x, w = random(5, 13, 16), random(3, 3, 16, 32)
    args = {"x": x, "w": w, "out": torch.zeros(5, 13, 32), "H": 5, "W": 13}
    got = launch(convolution, (5,), args, [BOX] * 3, C=16, F=32, BLOCK=16)
    expected = torch.nn.functional.conv2d(
        x.permute(2, 0, 1)[None], w.permute(3, 2, 0, 1), padding=1
    )
    torch.testing.assert_close(got["out"], expected[0].permute(1, 2, 0), rtol=1e-4, atol=1e-4)


@triton.jit
def grouped(q, out, n, token, head, BM: tl.constexpr, G: tl.constexpr, D: tl.constexpr):
    m, d = tl.arange(0, BM), tl.arange(0, D)
    t = tl.program_id(0) * (BM // G) + m // G
    at = t[:, None] * token + (m % G)[:, None] * head + d[None, :]
    inside = (t < n)[:, None]
    tl.store(out + at, tl.load(q + at, mask=inside, other=0.0) * 2, mask=inside)


@pytest.mark.parametrize("n", [1, 4, 5, 8])
def test_grouped_heads_are_two_axes_of_a_box(n: int) -> None:
    q = random(n, 4, 16)
    args = {"q": q, "out": torch.zeros_like(q), "n": n, "token": 64, "head": 16}
    got = launch(grouped, (2,), args, [BOX] * 2, BM=16, G=4, D=16)
    assert torch.equal(got["out"], q * 2)
