"""Transcendental functions: error against float64, all half inputs, and one result in both engines.

Errors are in units in the last place of the float32 result (of its subnormal range included).
"""

from __future__ import annotations

from fractions import Fraction
from types import FunctionType

import numpy as np
import pytest
from numba import njit
from scipy import special

from spyrelab.emulator import functions, functions_wide
from spyrelab.emulator.formats import decode, round_to
from spyrelab.emulator.native_functions import SINGLE, WIDE
from spyrelab.ktir.types import F16
from tests.emulator.numeric_cases import SPECIAL, assert_same_bits


def sigmoid64(x):
    decay = np.exp(-np.abs(x))
    return np.where(x < 0, decay, 1.0) / (1.0 + decay)


ORACLES = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": sigmoid64,
    "silu": lambda x: x * sigmoid64(x),
    "erf": special.erf,
    "erfc": special.erfc,
    "gelu": lambda x: x * special.ndtr(x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "expm1": np.expm1,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "cbrt": np.cbrt,
}
BINARY_ORACLES = {"powf": np.power, "atan2": np.arctan2, "fpowi": np.power}


def bound_of(name):
    return functions.ULP_BOUNDS.get(name, functions_wide.ULP_BOUND)


def reference_of(name):
    return getattr(functions, name, None) or getattr(functions_wide, name)


def samples(count=400_000, seed=3):
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    near = random.normal(0, 3, count).astype(np.float32)
    wide = random.uniform(-110, 110, count).astype(np.float32)
    one = (1 + random.normal(0, 1e-3, count)).astype(np.float32)
    halves = decode(np.arange(1 << 16), F16)
    return np.concatenate([patterns.view(np.float32), near, wide, one, halves, SPECIAL])


def check_error(got, exact, bound):
    """Within ``bound`` ulp of a float64 result; overflow may be met from either side."""
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(exact), 1e-300)))
        unit = np.exp2(np.maximum(exponent, -126) - 23)
        error = np.abs(got.astype(np.float64) - exact) / unit
    beyond = np.abs(exact) > 3.402823e38
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    assert (np.abs(got[beyond]) >= 3.402823e38).all()
    np.testing.assert_array_equal(np.sign(got[beyond]), np.sign(exact[beyond]))
    inside = np.isfinite(exact) & ~beyond
    assert error[inside].max() <= bound, error[inside].max()


@pytest.mark.parametrize("name", ORACLES)
def test_error_against_float64(name):
    x = samples()
    with np.errstate(all="ignore"):
        check_error(reference_of(name)(x), ORACLES[name](x.astype(np.float64)), bound_of(name))


@pytest.mark.parametrize("name", ["powf", "atan2"])
def test_error_of_two_arguments(name):
    x = samples()
    y = np.random.default_rng(4).permutation(x)
    with np.errstate(all="ignore"):
        exact = BINARY_ORACLES[name](x.astype(np.float64), y.astype(np.float64))
        check_error(reference_of(name)(x, y), exact, bound_of(name))


@pytest.mark.parametrize("name", ["powf", "atan2", "fpowi"])
def test_special_pairs(name):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    if name == "fpowi":
        x, y = (a.ravel() for a in np.meshgrid(SPECIAL, np.array([0, 1, -1, 2, 3, -2, -3, 2**62])))
    with np.errstate(all="ignore"):
        exact = BINARY_ORACLES[name](x.astype(np.float64), y.astype(np.float64))
        got = reference_of(name)(x, y)
        expected = exact.astype(np.float32)
    near = np.isclose(got, expected, rtol=1e-6, atol=0, equal_nan=True)
    assert near.all(), (x[~near], y[~near], got[~near], expected[~near])
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[signed], np.signbit(expected)[signed])


@pytest.mark.parametrize("name", ORACLES)
def test_signs_of_zero_follow_ieee(name):
    zeros = np.float32([0.0, -0.0])
    with np.errstate(all="ignore"):
        expected = ORACLES[name](zeros.astype(np.float64))
        got = reference_of(name)(zeros)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("name", ORACLES)
def test_half_results_are_the_nearest_ones_but_for_near_ties(name):
    """Over all half inputs the rounded result is the half nearest to float64's, or its neighbour
    where float64's lies within the stated error of the point halfway between them."""
    x = decode(np.arange(1 << 16), F16)
    with np.errstate(all="ignore"):
        exact = ORACLES[name](x.astype(np.float64))
        got = round_to(reference_of(name)(x), F16)
        margin = np.abs(exact) * bound_of(name) * 2.0**-23 + 2.0**-149
        low, high = (round_to((exact + side * margin).astype(np.float32), F16) for side in (-1, 1))
    number = ~np.isnan(exact) & np.isfinite(exact)
    assert ((low <= got) & (got <= high))[number].all()
    assert (low == high)[number].mean() > 0.998


def test_rounding_to_an_integer():
    x = np.float32([0.5, -0.5, 1.5, 2.5, 0.49999997, -0.2, 8388609.0, np.inf, -0.0])
    expected = np.float32([1.0, -1.0, 2.0, 3.0, 0.0, -0.0, 8388609.0, np.inf, -0.0])
    with np.errstate(invalid="ignore"):
        assert_same_bits(functions.round_half_away(x), expected)


def test_softplus():
    x = samples()
    beta, threshold = np.float32(1.5), np.float32(20.0)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64) * 1.5
        exact = np.where(wide > 20, x, np.logaddexp(0, wide) / 1.5)
        check_error(functions_wide.softplus(x, beta, threshold), exact, bound_of("softplus"))


def exact_fma(a, b, c):
    """The float32 nearest to a b + c, by rational arithmetic."""
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    guess = np.float32(float(total))
    around = [np.nextafter(guess, np.float32(s)) for s in (-np.inf, np.inf)]
    candidates = [value for value in (guess, *around) if np.isfinite(value)]
    distance = min(abs(Fraction(float(value)) - total) for value in candidates)
    nearest = [v for v in candidates if abs(Fraction(float(v)) - total) == distance]
    return min(nearest, key=lambda v: int(v.view(np.uint32)) & 1)


def test_fma_rounds_once():
    random = np.random.default_rng(5)
    a, b = (random.normal(0, 1, 3000).astype(np.float32) for _ in range(2))
    c = np.float32(-(a.astype(np.float64) * b)) * random.choice(np.float32([1, 1e-3, 1e-7]), 3000)
    tie = (
        np.float32([1 + 2**-12, 1 + 2**-23]),
        np.float32([1 + 2**-12, 1.0]),
        np.float32([2**-60, 2**-24]),
    )
    a, b, c = (np.concatenate([left, right]) for left, right in zip((a, b, c), tie, strict=True))
    expected = np.array([exact_fma(*each) for each in zip(a, b, c, strict=True)])
    assert_same_bits(functions_wide.fma(a, b, c), expected)


def test_half_fma_rounds_once():
    random = np.random.default_rng(6)
    a, b, c = (round_to(random.normal(0, 1, 4000).astype(np.float32), F16) for _ in range(3))
    c[::2] = round_to(c[::2] * np.float32(1e-4), F16)
    exact = a.astype(np.longdouble) * b + c  # 22 + 11 bits and their distance fit in 64
    expected = exact.astype(np.float16).astype(np.float32)
    assert_same_bits(round_to(functions_wide.fma_odd(a, b, c), F16), expected)
    # 1 + 2^-11 + 2^-25: float32 would drop the last bit and leave a tie.
    tie = np.float32([1.0]), np.float32([1 + 2**-11]), np.float32([2**-25])
    assert round_to(functions_wide.fma_odd(*tie), F16)[0] == 1 + 2**-10


def public_names(module, arity):
    for name, value in vars(module).items():
        own = isinstance(value, FunctionType) and value.__module__ == module.__name__
        if own and not name.startswith("_") and value.__code__.co_argcount == arity:
            yield name


ONE_ARGUMENT = [
    *[(name, SINGLE) for name in public_names(functions, 1)],
    *[(name, WIDE) for name in public_names(functions_wide, 1)],
]


@pytest.mark.parametrize(("name", "compiled"), ONE_ARGUMENT, ids=lambda v: str(v)[:12])
def test_both_engines_give_the_same_bits(name, compiled):
    operation = compiled[name]

    @njit(error_model="numpy")
    def loop(x, out):
        for i in range(x.size):
            out[i] = operation(x[i])

    x = samples(200_000, seed=8)
    out = np.empty_like(x)
    loop(x, out)
    with np.errstate(all="ignore"):
        assert_same_bits(out, reference_of(name)(x))
