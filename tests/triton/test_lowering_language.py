"""The rest of the language: every operation against torch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from tests.triton.translated import Typed, launch

N = 64


def floats(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype)


def whole(*shape: int, dtype: torch.dtype = torch.int32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-100, 100, shape, generator=generator).to(dtype)


# ---- reductions and scans ---------------------------------------------------------------


@triton.jit
def multiply_add(a, b):
    return a * b + a


@triton.jit
def reductions(x, out, KIND: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    value = tl.load(x + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    if KIND == "sum":
        found = tl.sum(value, AXIS)
    elif KIND == "max":
        found = tl.max(value, AXIS)
    elif KIND == "min":
        found = tl.min(value, AXIS)
    elif KIND == "argmax":
        found = tl.argmax(value, AXIS).to(value.dtype)
    elif KIND == "argmin":
        found = tl.argmin(value, AXIS).to(value.dtype)
    elif KIND == "xor":
        found = tl.xor_sum(value, AXIS)
    else:
        found = tl.reduce(value, AXIS, first_of_two)
    extent: tl.constexpr = K if AXIS == 0 else M
    tl.store(out + tl.arange(0, extent), found)


@triton.jit
def first_of_two(a, b):
    return a * 0 + tl.minimum(a, b) - tl.maximum(a - a, b - b)


REDUCTIONS: dict[str, Any] = {
    "sum": lambda x, a: x.sum(a),
    "max": lambda x, a: x.amax(a),
    "min": lambda x, a: x.amin(a),
    "argmax": lambda x, a: x.argmax(a),
    "argmin": lambda x, a: x.argmin(a),
    "custom": lambda x, a: x.amin(a),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions(kind: str, axis: int, dtype: torch.dtype) -> None:
    x = floats(8, 16).mul(20).to(dtype)
    out = torch.zeros(16 if axis == 0 else 8, dtype=dtype)
    got = launch(reductions, (1,), {"x": x, "out": out}, KIND=kind, AXIS=axis, M=8, K=16)["out"]
    expected = REDUCTIONS[kind](x, axis).to(dtype)
    # Halves are added in halves: an error of an ulp of the largest partial sum for each step.
    atol = 0.2 if dtype == torch.float16 else 1e-4
    torch.testing.assert_close(got, expected, rtol=2e-3, atol=atol)


def test_xor_sum() -> None:
    x = whole(8, 16)
    out = torch.zeros(8, dtype=torch.int32)
    got = launch(reductions, (1,), {"x": x, "out": out}, KIND="xor", AXIS=1, M=8, K=16)["out"]
    expected = x[:, 0]
    for column in range(1, 16):
        expected = expected ^ x[:, column]
    assert torch.equal(got, expected)


@triton.jit
def extremes(x, out, BLOCK: tl.constexpr, KEEP: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.max(value, 0))
    tl.store(out + 1, tl.min(value, 0))
    least = tl.load(x)
    if KEEP:
        tl.store(out + 2, tl.maximum(least, 1.0, propagate_nan=tl.PropagateNan.ALL))
        tl.store(out + 3, tl.clamp(least, 0.0, 1.0, propagate_nan=tl.PropagateNan.ALL))
    else:
        tl.store(out + 2, tl.maximum(least, 1.0))
        tl.store(out + 3, tl.clamp(least, 0.0, 1.0))


def test_nan_gives_way_to_numbers_unless_all_are_nan() -> None:
    x = torch.tensor([math.nan, 2.0, -3.0, math.nan])
    got = launch(extremes, (1,), {"x": x, "out": torch.zeros(4)}, BLOCK=4, KEEP=False)["out"]
    assert got[:3].tolist() == [2.0, -3.0, 1.0]
    x = torch.full((4,), math.nan)
    got = launch(extremes, (1,), {"x": x, "out": torch.zeros(4)}, BLOCK=4, KEEP=True)["out"]
    assert got.isnan().all()


@triton.jit
def scans(x, out, KIND: tl.constexpr, AXIS: tl.constexpr, BACK: tl.constexpr):
    at = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
    value = tl.load(x + at)
    if KIND == "sum":
        found = tl.cumsum(value, AXIS, reverse=BACK)
    elif KIND == "product":
        found = tl.cumprod(value, AXIS, reverse=BACK)
    else:
        found = tl.associative_scan(value, AXIS, tl.standard._elementwise_max, reverse=BACK)
    tl.store(out + at, found)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "product", "max"])
def test_scans(kind: str, axis: int, back: bool) -> None:
    x = floats(8, 16) * 0.5 + 1
    names = {"sum": torch.cumsum, "product": torch.cumprod}
    line = x.flip(axis) if back else x
    expected = names[kind](line, axis) if kind in names else line.cummax(axis).values
    expected = expected.flip(axis) if back else expected
    args = {"x": x, "out": torch.zeros_like(x)}
    got = launch(scans, (1,), args, KIND=kind, AXIS=axis, BACK=back)["out"]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@triton.jit
def step(decay, total, next_decay, next_total):
    return decay * next_decay, total * next_decay + next_total


@triton.jit
def recurrence(a, x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    _, total = tl.associative_scan((tl.load(a + at), tl.load(x + at)), 0, step)
    tl.store(out + at, total)


def test_scan_of_two_tensors() -> None:
    a, x = floats(32).sigmoid(), floats(32, seed=1)
    expected, state = [], 0.0
    for decay, value in zip(a.tolist(), x.tolist(), strict=True):
        state = state * decay + value
        expected.append(state)
    got = launch(recurrence, (1,), {"a": a, "x": x, "out": torch.zeros(32)}, BLOCK=32)["out"]
    torch.testing.assert_close(got, torch.tensor(expected), rtol=1e-4, atol=1e-5)


# ---- shapes -----------------------------------------------------------------------------


@triton.jit
def shapes(x, out, KIND: tl.constexpr):
    at = tl.arange(0, 64)
    value = tl.load(x + at)
    if KIND == "trans":
        value = tl.trans(value.reshape(4, 16)).reshape(64)
    elif KIND == "permute":
        value = tl.permute(value.reshape(4, 2, 8), (2, 0, 1)).reshape(64)
    elif KIND == "join":
        even, odd = tl.split(value.reshape(32, 2))
        value = tl.join(odd, even).reshape(64)
    elif KIND == "interleave":
        value = tl.interleave(tl.load(x + tl.arange(0, 32)), tl.load(x + 32 + tl.arange(0, 32)))
    elif KIND == "cat":
        value = tl.cat(tl.load(x + 32 + tl.arange(0, 32)), tl.load(x + tl.arange(0, 32)))
    elif KIND == "gather":
        value = tl.gather(value, 63 - at, 0)
    elif KIND == "flip":
        value = tl.flip(value, 0)
    elif KIND == "sort":
        value = tl.sort(value)
    elif KIND == "view":
        at = (tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]).reshape(64)
        value = tl.load(x + 63 - at)
    elif KIND == "regroup":
        at = tl.arange(0, 64).reshape(4, 16)
        tl.store(out + at, tl.load(x + at) + 1)
        return
    tl.store(out + tl.arange(0, 64), value)


SHAPES: dict[str, Any] = {
    "trans": lambda x: x.view(4, 16).T.reshape(64),
    "permute": lambda x: x.view(4, 2, 8).permute(2, 0, 1).reshape(64),
    "join": lambda x: x.view(32, 2).flip(1).reshape(64),
    "interleave": lambda x: x.view(2, 32).T.reshape(64),
    "cat": lambda x: torch.cat((x[32:], x[:32])),
    "gather": lambda x: x.flip(0),
    "flip": lambda x: x.flip(0),
    "sort": lambda x: x.sort().values,
    "view": lambda x: x.flip(0),
    "regroup": lambda x: x + 1,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("kind", SHAPES)
def test_shapes(kind: str, dtype: torch.dtype) -> None:
    x = floats(64).mul(100).to(dtype)
    got = launch(shapes, (1,), {"x": x, "out": torch.zeros_like(x)}, KIND=kind)["out"]
    assert torch.equal(got, SHAPES[kind](x))


@triton.jit
def sorting(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=True))


def test_sort_of_many_numbers() -> None:
    x = floats(1024)
    got = launch(sorting, (1,), {"x": x, "out": torch.zeros_like(x)}, BLOCK=1024)["out"]
    assert torch.equal(got, x.sort(descending=True).values)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at), BINS, mask=at < n)
    tl.store(out + tl.arange(0, BINS), counts)


@pytest.mark.parametrize("n", [0, 40, 64])
def test_histogram(n: int) -> None:
    x = whole(N).abs() % 16
    args = {"x": x, "out": torch.zeros(16, dtype=torch.int32), "n": n}
    got = launch(histogram, (1,), args, BLOCK=N, BINS=16)["out"]
    assert torch.equal(got, torch.bincount(x[:n], minlength=16).int())


# ---- elementwise ------------------------------------------------------------------------


@triton.jit
def choose(a, b):
    if a > b:
        return a
    else:
        return b * 2


@triton.jit
def elementwise(x, y, out, KIND: tl.constexpr):
    at = tl.arange(0, 64)
    a, b = tl.load(x + at), tl.load(y + at)
    if KIND == "div":
        c = a / b
    elif KIND == "fma":
        c = tl.fma(a, b, a)
    elif KIND == "exp":
        c = tl.exp(a) + tl.exp2(b)
    elif KIND == "log":
        c = tl.log(tl.abs(a)) + tl.log2(tl.abs(b))
    elif KIND == "sin":
        c = tl.sin(a) * tl.cos(b)
    elif KIND == "sqrt":
        c = tl.sqrt(tl.abs(a)) + tl.rsqrt(tl.abs(b)) + tl.sqrt_rn(tl.abs(a))
    elif KIND == "erf":
        c = tl.erf(a) + tl.floor(a) + tl.ceil(b)
    elif KIND == "sigmoid":
        c = tl.sigmoid(a) + tl.softmax(b)
    elif KIND == "map":
        c = tl.map_elementwise(choose, a, b)
    elif KIND == "pow":
        c = libdevice.pow(tl.abs(a), b) + libdevice.tanh(a)
    elif KIND == "where":
        c = tl.where((a > b) | (a < -1), a, tl.where(at > 30, b, 0.5))
    else:
        c = tl.div_rn(a, b) + tl.fdiv(a, b) - (a % b)
    tl.store(out + at, c)


ELEMENTWISE: dict[str, Any] = {
    "div": lambda a, b: a / b,
    "fma": lambda a, b: a * b + a,
    "exp": lambda a, b: a.exp() + b.exp2(),
    "log": lambda a, b: a.abs().log() + b.abs().log2(),
    "sin": lambda a, b: a.sin() * b.cos(),
    "sqrt": lambda a, b: 2 * a.abs().sqrt() + b.abs().rsqrt(),
    "erf": lambda a, b: a.erf() + a.floor() + b.ceil(),
    "sigmoid": lambda a, b: a.sigmoid() + b.softmax(0),
    "map": lambda a, b: torch.where(a > b, a, b * 2),
    "pow": lambda a, b: a.abs().pow(b) + a.tanh(),
    "where": lambda a, b: torch.where(
        (a > b) | (a < -1), a, torch.where(torch.arange(64) > 30, b, 0.5)
    ),
    "mod": lambda a, b: 2 * a / b - a.fmod(b),
}


@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_elementwise(kind: str) -> None:
    x, y = floats(N), floats(N, seed=1) + 0.01
    got = launch(elementwise, (1,), {"x": x, "y": y, "out": torch.zeros(N)}, KIND=kind)["out"]
    torch.testing.assert_close(got, ELEMENTWISE[kind](x, y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["div", "where", "map"])
def test_half_rounds_each_operation(kind: str) -> None:
    x, y = floats(N, dtype=torch.float16), floats(N, dtype=torch.float16, seed=1)
    args = {"x": x, "y": y, "out": torch.zeros_like(x)}
    got = launch(elementwise, (1,), args, KIND=kind)["out"]
    torch.testing.assert_close(got, ELEMENTWISE[kind](x, y).half(), rtol=1e-3, atol=1e-3)


@triton.jit
def integers(x, y, out, KIND: tl.constexpr):
    at = tl.arange(0, 64)
    a, b = tl.load(x + at), tl.load(y + at)
    if KIND == "div":
        c = a // b + a % b
    elif KIND == "bits":
        c = (a & b) | (a ^ 12) & ~b
    elif KIND == "shift":
        c = (a << 3) + (a >> 2)
    elif KIND == "high":
        c = tl.umulhi(a, b)
    elif KIND == "minmax":
        c = tl.minimum(a, b) * 3 - tl.maximum(a, 5)
    elif KIND == "compare":
        c = (a > b).to(a.dtype) + (a <= 3).to(a.dtype) * 2
    else:
        c = a * b * 1000003 + at
    tl.store(out + at, c)


def _quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.dtype in (torch.uint8, torch.uint32):
        return a // b + a % b
    whole_part = torch.div(a, b, rounding_mode="trunc")
    return whole_part + a - whole_part * b


INTEGERS: dict[str, Any] = {
    "div": _quotient,
    "bits": lambda a, b: (a & b) | (a ^ 12) & ~b,
    "shift": lambda a, b: (a << 3) + (a >> 2),
    "minmax": lambda a, b: torch.minimum(a, b) * 3 - a.clamp(min=5),
    "compare": lambda a, b: (a > b).to(a.dtype) + (a <= 3).to(a.dtype) * 2,
    "wrap": lambda a, b: a * b * 1000003 + torch.arange(64, dtype=a.dtype),
}


NARROW, WIDE = (torch.int8, torch.uint8, torch.int16), (torch.int32, torch.int64)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, dtype) for kind in INTEGERS for dtype in WIDE]
    # A large constant makes Triton compute in 32 bits.
    + [(kind, dtype) for kind in INTEGERS if kind != "wrap" for dtype in NARROW],
)
def test_integers(kind: str, dtype: torch.dtype) -> None:
    x, y = whole(N, dtype=dtype), whole(N, dtype=dtype, seed=1)
    y[y == 0] = 3
    got = launch(integers, (1,), {"x": x, "y": y, "out": torch.zeros_like(x)}, KIND=kind)["out"]
    assert torch.equal(got, INTEGERS[kind](x, y))


@pytest.mark.parametrize(("dtype", "bits"), [(torch.uint32, 32), (torch.int64, 64)])
def test_upper_half_of_products(dtype: torch.dtype, bits: int) -> None:
    generator = torch.Generator().manual_seed(3)
    wide = torch.randint(-(1 << 62), 1 << 62, (2, N), generator=generator)
    x, y = (row.to(torch.int32).view(torch.uint32) if bits == 32 else row for row in wide)
    got = launch(integers, (1,), {"x": x, "y": y, "out": torch.zeros_like(x)}, KIND="high")["out"]
    mask = (1 << bits) - 1
    signed = got.view(torch.int32) if bits == 32 else got
    for a, b, c in zip(x.tolist(), y.tolist(), signed.tolist(), strict=True):
        assert ((a & mask) * (b & mask)) >> bits == c & mask


@triton.jit
def unsigned(x, y, out):
    at = tl.arange(0, 64)
    a, b = tl.load(x + at), tl.load(y + at)
    c = a // b + (a >> 3) + (a > b).to(tl.uint32) + tl.maximum(a, b)
    tl.store(out + at, c)


def test_unsigned_numbers() -> None:
    generator = torch.Generator().manual_seed(3)
    wide = torch.randint(0, 1 << 32, (2, N), generator=generator)
    x, y = (row.to(torch.uint32) for row in wide)
    got = launch(unsigned, (1,), {"x": x, "y": y, "out": torch.zeros_like(x)})["out"]
    a, b = wide
    expected = (a // b + (a >> 3) + (a > b).long() + torch.maximum(a, b)) % (1 << 32)
    assert got.long().tolist() == expected.tolist()


@triton.jit
def casts(x, out, TO: tl.constexpr):
    at = tl.arange(0, 64)
    tl.store(out + at, tl.load(x + at).to(TO).to(tl.float32))


@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        (tl.float16, torch.float16),
        (tl.bfloat16, torch.bfloat16),
        (tl.float8e4nv, torch.float8_e4m3fn),
        (tl.float8e5, torch.float8_e5m2),
        (tl.int32, torch.int32),
        (tl.int8, torch.int8),
    ],
)
@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.bfloat16])
def test_casts(target: Any, dtype: torch.dtype, source: torch.dtype) -> None:
    x = (floats(N) * 30).to(source)
    got = launch(casts, (1,), {"x": x, "out": torch.zeros(N)}, TO=target)["out"]
    assert torch.equal(got, x.to(dtype).float())


@triton.jit
def bits(x, out, TO: tl.constexpr):
    at = tl.arange(0, 64)
    tl.store(out + at, tl.load(x + at).to(TO, bitcast=True))


def test_bitcast() -> None:
    x = floats(N)
    args = {"x": x, "out": torch.zeros(N, dtype=torch.int32)}
    assert torch.equal(launch(bits, (1,), args, TO=tl.int32)["out"], x.view(torch.int32))


@triton.jit
def toward_zero(x, out):
    at = tl.arange(0, 64)
    tl.store(out + at, tl.load(x + at).to(tl.bfloat16, fp_downcast_rounding="rtz"))


def test_casts_toward_zero() -> None:
    x = floats(N)
    args = {"x": x, "out": torch.zeros(N, dtype=torch.bfloat16)}
    cut = (x.view(torch.int32) >> 16 << 16).view(torch.float32)
    assert torch.equal(launch(toward_zero, (1,), args)["out"].float(), cut)


@triton.jit
def retyped(x, out):
    at = tl.arange(0, 32)
    words = tl.load(x.to(tl.pointer_type(tl.int16)) + at)
    tl.store(out + at, words)


def test_pointers_of_another_size() -> None:
    x = whole(16)
    args = {"x": x, "out": torch.zeros(32, dtype=torch.int16)}
    assert torch.equal(launch(retyped, (1,), args)["out"], x.view(torch.int16))


@triton.jit
def random_numbers(out, seed, KIND: tl.constexpr):
    at = tl.arange(0, 64)
    if KIND == "uniform":
        value = tl.rand(seed, at)
    elif KIND == "normal":
        value = tl.randn(seed, at)
    else:
        value = tl.randint(seed, at).to(tl.float32)
    tl.store(out + at, value)


def philox(seed: int, count: int) -> torch.Tensor:
    """Triton's ``rand`` in plain Python."""
    low = (1 << 32) - 1
    found = []
    for offset in range(count):
        c, k = [offset, 0, 0, 0], [seed & low, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & low, a >> 32 ^ c[3] ^ k[1], a & low]
            k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
        signed = c[0] - (1 << 32) if c[0] >> 31 else c[0]
        found.append((-signed - 1 if signed < 0 else signed) * 4.6566127342e-10)
    return torch.tensor(found)


@pytest.mark.parametrize("seed", [0, 7, 123456])
def test_uniform_random_numbers(seed: int) -> None:
    args = {"out": torch.zeros(N), "seed": Typed(seed, "i32")}
    got = launch(random_numbers, (1,), args, KIND="uniform")["out"]
    torch.testing.assert_close(got, philox(seed, N), rtol=1e-6, atol=1e-6)


def test_normal_random_numbers() -> None:
    args = {"out": torch.zeros(N), "seed": 3}
    got = launch(random_numbers, (1,), args, KIND="normal")["out"]
    assert got.isfinite().all()
    assert 0.5 < got.std() < 1.5


# ---- products ---------------------------------------------------------------------------


@triton.jit
def products(a, b, out, M: tl.constexpr, K: tl.constexpr, P: tl.constexpr, TYPE: tl.constexpr):
    m, k, p = tl.arange(0, M), tl.arange(0, K), tl.arange(0, P)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * P + p[None, :])
    tl.store(out + m[:, None] * P + p[None, :], tl.dot(x, y, out_dtype=TYPE))


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        (torch.float32, torch.float32, tl.float32),
        (torch.float16, torch.float32, tl.float32),
        (torch.float16, torch.float16, tl.float16),
        (torch.bfloat16, torch.float32, tl.float32),
        (torch.float8_e5m2, torch.float32, tl.float32),
        (torch.int8, torch.int32, tl.int32),
    ],
)
def test_products(source: torch.dtype, target: torch.dtype, kind: Any) -> None:
    a, b = (floats(16, 32).mul(3).to(source), floats(32, 16, seed=1).mul(3).to(source))
    args = {"a": a, "b": b, "out": torch.zeros(16, 16, dtype=target)}
    got = launch(products, (1,), args, M=16, K=32, P=16, TYPE=kind)["out"]
    expected = (a.float() @ b.float()).to(target)
    torch.testing.assert_close(got, expected, rtol=2e-3, atol=1e-3)


@triton.jit
def batched(a, b, out, B: tl.constexpr, M: tl.constexpr, FLIP: tl.constexpr):
    at = tl.arange(0, B)[:, None, None] * M * M
    at += tl.arange(0, M)[None, :, None] * M + tl.arange(0, M)[None, None, :]
    x, y = tl.load(a + at), tl.load(b + at)
    if FLIP == "right":
        y = tl.permute(y, (0, 2, 1))
    if FLIP == "left":
        x = tl.permute(x, (0, 2, 1))
    tl.store(out + at, tl.dot(x, y))


@pytest.mark.parametrize("flip", ["", "left", "right"])
def test_batched_products(flip: str) -> None:
    a, b = floats(4, 16, 16), floats(4, 16, 16, seed=1)
    got = launch(batched, (1,), {"a": a, "b": b, "out": torch.zeros_like(a)}, B=4, M=16, FLIP=flip)
    left, right = a.mT if flip == "left" else a, b.mT if flip == "right" else b
    torch.testing.assert_close(got["out"], left @ right, rtol=1e-4, atol=1e-4)
