"""Every libdevice function: what it computes, and that a kernel can call it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special as sp
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as declared

from spyrelab import emulator
from spyrelab.ktir import F32, I32, I64, Builder
from spyrelab.triton import libdevice
from spyrelab.triton.errors import UnsupportedKernelError
from spyrelab.triton.libdevice_table import LIBDEVICE, PREFIX, UNSIGNED, recipe_of
from tests.triton import kernels

KINDS = {"f4": F32, "i4": I32, "u4": I32, "i8": I64, "u8": I64}
RNG = np.random.default_rng(7)
NUMBERS = np.linspace(-12, 12, 2001).astype("f4")
OTHERS = np.roll(NUMBERS, 777) + np.float32(0.01)
POSITIVE = np.linspace(0.01, 30, 2001).astype("f4")
UNIT = np.linspace(-0.9999, 0.9999, 2001).astype("f4")
SHARE = np.geomspace(1e-30, 0.9999, 2001).astype("f4")
INTS, MORE = RNG.integers(-(2**31), 2**31, (2, 300)).astype("i4")
LONGS, WIDER = RNG.integers(-(2**63), 2**63, (2, 300))
EDGES = np.array([3e38, 1e-38, np.inf, -np.inf, np.nan, 0.0, -0.0, -1e-45], "f4")


def call(symbol, *arrays):
    """A function on arrays, by the emulator."""
    builder = Builder("f", (1,))
    names = "abcd"[: len(arrays)]
    pointers = builder.pointers(*names, "out")
    (count,) = arrays[0].shape
    values = [
        builder.load(builder.view(p, (count,), dtype=KINDS[a.dtype.str[1:]])[0], (count,))
        for p, a in zip(pointers, arrays, strict=False)
    ]
    result = recipe_of(symbol)(builder, values)
    builder.store(result, builder.view(pointers[-1], (count,), dtype=result.dtype)[0])
    stored = {"f32": "f4", "i32": "i4", "i64": "i8"}[str(result.dtype)]
    signed = {n: a.view(a.dtype.str.replace("u", "i")) for n, a in zip(names, arrays, strict=True)}
    given = {**signed, "out": np.zeros(count, stored)}
    return emulator.run(builder.build(), given).outputs["out"]


FLOATS = {
    # name: (reference in float64, inputs, relative tolerance, absolute tolerance)
    "erfinv": (sp.erfinv, (UNIT,), 4e-7, 0),
    "erfcinv": (sp.erfcinv, (SHARE,), 6e-7, 1e-6),
    "erfcx": (sp.erfcx, (POSITIVE,), 5e-5, 0),
    "normcdf": (sp.ndtr, (NUMBERS,), 2e-5, 1e-7),
    "normcdfinv": (sp.ndtri, (SHARE,), 6e-7, 2e-6),
    # Numerical Recipes gives 1e-8; near zeros in f32 only the absolute error is small.
    "j0": (sp.j0, (NUMBERS * 3,), 0, 2e-6),
    "j1": (sp.j1, (NUMBERS * 3,), 0, 4e-6),
    "y0": (sp.y0, (POSITIVE,), 0, 5e-6),
    "y1": (sp.y1, (POSITIVE,), 1e-6, 1e-5),
    "cyl_bessel_i0": (sp.i0, (NUMBERS * 7,), 2e-6, 0),
    "cyl_bessel_i1": (sp.i1, (NUMBERS * 7,), 2e-6, 0),
    "lgamma": (sp.gammaln, (NUMBERS + np.float32(0.003),), 1e-6, 1e-5),
    "tgamma": (sp.gamma, (NUMBERS * np.float32(0.9) + np.float32(0.0003),), 4e-6, 0),
    "sinpi": (lambda x: np.sin(np.pi * np.remainder(x, 2)), (NUMBERS,), 0, 2e-7),
    "cospi": (lambda x: np.cos(np.pi * np.remainder(x, 2)), (NUMBERS,), 0, 2e-7),
    "exp10": (lambda x: 10.0**x, (NUMBERS,), 1e-6, 0),
    "rcbrt": (lambda x: 1 / np.cbrt(x), (POSITIVE,), 3e-7, 0),
    "logb": (lambda x: np.floor(np.log2(x)), (POSITIVE,), 0, 0),
    "hypot": (np.hypot, (NUMBERS, OTHERS), 3e-7, 0),
    "rhypot": (lambda x, y: 1 / np.hypot(x, y), (NUMBERS, OTHERS), 4e-7, 0),
    "norm3d": (lambda x, y, z: np.sqrt(x * x + y * y + z * z), (NUMBERS, OTHERS, UNIT), 4e-7, 0),
    "remainder": (np.vectorize(math.remainder), (NUMBERS, OTHERS), 0, 0),
    "fmod": (np.fmod, (NUMBERS, OTHERS), 0, 0),
    "fdim": (lambda x, y: np.maximum(x - y, 0), (NUMBERS, OTHERS), 1e-7, 0),
    "saturatef": (lambda x: np.clip(x, 0, 1), (NUMBERS,), 0, 0),
    "rint": (np.rint, (NUMBERS * 4,), 0, 0),
    "rcp_rn": (lambda x: 1 / x, (POSITIVE,), 1e-7, 0),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    reference, inputs, relative, absolute = FLOATS[name]
    wanted = reference(*[values.astype("f8") for values in inputs])
    found = call(PREFIX + name, *inputs)
    # A bound of zero still allows the rounding of the result itself.
    rtol = max(relative, 6e-8)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=absolute)


def test_edges_of_the_range():
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(call(PREFIX + "hypot", EDGES, EDGES), np.hypot(EDGES, EDGES))
        ends = call(PREFIX + "nextafter", NUMBERS, OTHERS)
        assert np.array_equal(ends, np.nextafter(NUMBERS, OTHERS))
        steps = np.array([3, -140, 0, 1, 5, -3, 2, 150], "i4")
        assert np.array_equal(call(PREFIX + "ldexp", EDGES, steps), np.ldexp(EDGES, steps), True)
    assert call(PREFIX + "isnan", EDGES).tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert call(PREFIX + "isinf", EDGES).tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert call(PREFIX + "finitef", EDGES).tolist() == [1, 1, 0, 0, 0, 1, 1, 1]
    assert call(PREFIX + "signbit", EDGES).tolist() == [0, 0, 0, 1, 0, 0, 1, 1]
    # Of the smallest and of zero: the exponent, and what CUDA gives for no exponent at all.
    assert call(PREFIX + "ilogb", EDGES)[[1, 5, 7]].tolist() == [-127, -(1 << 31), -149]
    assert call(PREFIX + "saturatef", EDGES).tolist()[:5] == [1, np.float32(1e-38), 1, 0, 0]


def unsigned(values, bits):
    return [int(value) % (1 << bits) for value in values]


def permuted(x, y, selector):
    both = (y % (1 << 32)) << 32 | x % (1 << 32)
    result = 0
    for at in range(4):
        nibble = selector >> 4 * at & 15
        byte = both >> 8 * (nibble & 7) & 255
        byte = (255 if byte & 128 else 0) if nibble & 8 else byte
        result |= byte << 8 * at
    return result


SELECTORS = RNG.integers(0, 1 << 16, 300).astype("i4")
WHOLE = {
    # (symbol, inputs): the result of each element, in Python's own numbers, and its bits
    "clz": (lambda x: 32 - (x % (1 << 32)).bit_length(), (INTS,), 32),
    "popc": (lambda x: (x % (1 << 64)).bit_count(), (LONGS,), 32),
    "ffs": (lambda x: (x & -x).bit_length(), (INTS,), 32),
    "brev": (lambda x: int(f"{x % (1 << 64):064b}"[::-1], 2), (LONGS,), 64),
    "byte_perm": (permuted, (INTS, MORE, SELECTORS), 32),
    "mulhi": (lambda x, y: x * y >> 64, (LONGS, WIDER), 64),
    "u_mulhi": (lambda x, y: (x % (1 << 64)) * (y % (1 << 64)) >> 64, (LONGS, WIDER), 64),
    "hadd": (lambda x, y: x + y >> 1, (INTS, MORE), 32),
    "u_rhadd": (lambda x, y: x % (1 << 32) + y % (1 << 32) + 1 >> 1, (INTS, MORE), 32),
    "rhadd": (lambda x, y: x + y + 1 >> 1, (INTS, MORE), 32),
    "sad": (lambda x, y, z: abs(x - y) + z, (INTS, MORE, SELECTORS), 32),
    "abs": (abs, (INTS,), 32),
    "float2int_rn": (lambda x: round(x), (NUMBERS,), 32),
    "float2int_rd": (lambda x: math.floor(x), (NUMBERS,), 32),
    "float2int_ru": (lambda x: math.ceil(x), (NUMBERS,), 32),
    "float2ll_rz": (lambda x: math.trunc(x), (NUMBERS,), 64),
    "llrint": (lambda x: round(x), (NUMBERS,), 64),
    "float_as_int": (lambda x: int(np.float32(x).view("i4")), (NUMBERS,), 32),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name):
    reference, inputs, bits = WHOLE[name]
    found = call(PREFIX + name, *inputs)
    wanted = [reference(*row) for row in zip(*[v.tolist() for v in inputs], strict=True)]
    assert unsigned(found, bits) == unsigned(wanted, bits)


def test_short_products():
    found = call(PREFIX + "mulhi", INTS, MORE)
    assert found.tolist() == [
        a * b >> 32 for a, b in zip(INTS.tolist(), MORE.tolist(), strict=True)
    ]
    low = (INTS >> 8).tolist(), (MORE >> 8).tolist()
    found = call(PREFIX + "mul24", INTS >> 8, MORE >> 8)
    assert unsigned(found, 32) == [a * b % (1 << 32) for a, b in zip(*low, strict=True)]


@triton.jit
def apply(out, a, b, c, F: tl.constexpr, ARITY: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(a + at), tl.load(b + at), tl.load(c + at)
    if ARITY == 1:
        found = F(x)
    elif ARITY == 2:
        found = F(x, y)
    elif ARITY == 3:
        found = F(x, y, z)
    else:
        found = F(x, y, z, z)
    tl.store(out + at, found)


TORCH = {
    "fp32": torch.float32,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
}


@pytest.mark.parametrize("symbol", LIBDEVICE)
def test_a_kernel_calls_each(symbol):
    function = LIBDEVICE[symbol]
    name = symbol.removeprefix(UNSIGNED).removeprefix(PREFIX)
    takes = TORCH["fp32" if "fp32" in function.takes else function.takes[0]]
    values = torch.arange(1, 17).to(takes)
    values = values / 20 if takes == torch.float32 else values
    second = values if not function.second else torch.arange(16, dtype=torch.int32) - 8
    gives = takes if function.gives == "same" else TORCH[function.gives]
    out = torch.zeros(16, dtype=gives, device="spyre")
    inputs = [values, second, values]
    apply[(1,)](
        out, *[v.to("spyre") for v in inputs],
        F=getattr(libdevice, name), ARITY=function.arity, BLOCK=16,
    )  # fmt: skip
    arrays = [v.numpy() for v in inputs] + [values.numpy()]
    wanted = call(symbol, *arrays[: function.arity])
    assert np.array_equal(out.cpu().numpy(), wanted.view(out.cpu().numpy().dtype), True)


def test_every_declared_function_is_there_or_says_why():
    names = {n for n, f in vars(declared).items() if callable(f) and not n.startswith("_")}
    assert len(names) > 190
    assert names == {n for n in names if callable(getattr(libdevice, n))}
    lacking = {n for n in names if PREFIX + n not in LIBDEVICE}
    odd = {n for n in lacking if "double" not in n and not n.endswith(("_rz", "_rd", "_ru"))}
    assert odd == {"rcp64h", "isfinited", "jn", "yn"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_types(dtype):
    x, y = torch.randn(2, 50).to(dtype)
    out = torch.zeros(50, dtype=dtype, device="spyre")
    kernels.special[(1,)](x.to("spyre"), y.to("spyre"), out, 50, BLOCK=64)
    a, b = x.float(), y.float()
    one = torch.hypot(a, b).to(dtype).float() + (a * a).to(dtype).float()
    torch.testing.assert_close(out.cpu(), one.to(dtype), rtol=1e-6 if dtype.itemsize == 4 else 1e-2,
                               atol=1e-6)  # fmt: skip


def test_symbols_of_cudas_library():
    values = NUMBERS[1200:1216]
    for symbol, name in (
        ("__nv_expf", "exp"),
        ("__nv_fabsf", "abs"),
        ("__nv_fmaf_rn", "fma_rn"),
        ("__nv_fast_expf", "fast_expf"),
        ("__nv_fadd_rn", "add_rn"),
        ("__nv_float2int_rn", "float2int_rn"),
        ("__nv_powf", "pow"),
        ("__nv_saturatef", "saturatef"),
    ):
        arity = LIBDEVICE[PREFIX + name].arity
        inputs = (values,) * arity
        assert np.array_equal(call(symbol, *inputs), call(PREFIX + name, *inputs)), symbol
    with pytest.raises(UnsupportedKernelError, match=r"__nv_dadd_rn.*tl.math"):
        recipe_of("__nv_dadd_rn")
