"""Every pointwise operation against torch on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spyrelab.opspec import Unsupported, compile, special
from spyrelab.opspec.expressions import TABLE
from tests.opspec.host import Host
from tests.opspec.pointwise_cases import CASES, Case

SPECIAL = torch.tensor(
    [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 6, 20.5, -20.5, 100, -100, float("nan"),
     float("inf"), -float("inf"), 1e-38, 1e30, -1e30, 88.5, 1e-5, 2.5, 3.5, -2.5, 0.25, -0.75, 1.5]
)  # fmt: skip
TORCH = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
NAMES = {torch.bool: "i1", **{value: key for key, value in TORCH.items()}}
SOMEWHERE_ELSE = {
    "copy", "fill", "where", "masked_fill", "prelu_backward", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift",
}  # fmt: skip


def operands(case: Case) -> tuple[torch.Tensor, ...]:
    """Special values in all pairs, then random ones."""
    generator = torch.Generator().manual_seed(len(case.name))
    count = len(SPECIAL)
    edges = [SPECIAL.repeat_interleave(count), SPECIAL.repeat(count), SPECIAL.roll(7).repeat(count)]
    inputs = [
        torch.cat([edge, torch.randn(500, generator=generator) * 3])
        for edge in edges[: case.tensors]
    ]
    return case.domain(*inputs) if case.domain else tuple(inputs)


def error_in_ulps(got: np.ndarray, wanted: np.ndarray, bits: int = 23) -> np.ndarray:
    """Distance in units in the last place of ``wanted``; equal or both NaN is 0."""
    with np.errstate(all="ignore"):
        unit = np.maximum(np.abs(wanted.astype(np.float64)), 2.0**-126)
        unit = 2.0 ** (np.floor(np.log2(np.where(np.isfinite(unit), unit, 1))) - bits)
        distance = np.abs(got.astype(np.float64) - wanted) / unit
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    return np.where(same, 0, np.where(np.isnan(distance), np.inf, distance))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_float32_agrees_with_torch(host: Host, case: Case) -> None:
    inputs = operands(case)
    wanted = case.expected(*inputs)
    placed = [host.put(tensor.numpy(), "f32") for tensor in inputs]
    out = host.empty(wanted.shape, NAMES[wanted.dtype])
    host.run(case.name, [*placed, *case.numbers], [out], **case.attributes)
    got = host.get(out)
    if wanted.dtype == torch.bool:
        np.testing.assert_array_equal(got.astype(bool), wanted.numpy())
        return
    wanted_values = wanted.numpy()
    error = error_in_ulps(got, wanted_values)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - wanted_values) <= case.near
    worst = int(np.argmax(np.where(near, 0, error)))
    assert near[worst] or error[worst] <= case.ulps, (
        f"{case} of {[float(tensor[worst]) for tensor in inputs]}: {got[worst]}, torch has"
        f" {wanted_values[worst]} ({error[worst]:.3g} ulp, {case.ulps} allowed)"
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_halves_are_float32_rounded_once(host: Host, case: Case, dtype: str) -> None:
    inputs = [tensor.to(TORCH[dtype]) for tensor in operands(case)]
    result = case.expected(*(tensor.float() for tensor in inputs))
    wanted = result if result.dtype == torch.bool else result.to(TORCH[dtype])
    if case.name == "nan_to_num" and not case.numbers:
        wanted = case.expected(*inputs)
    if TABLE[case.name].rounds_numbers and case.numbers:
        wanted = case.expected(*inputs)
    placed = [host.put(tensor.float().numpy(), dtype) for tensor in inputs]
    out = host.empty(wanted.shape, NAMES[wanted.dtype])
    host.run(case.name, [*placed, *case.numbers], [out], **case.attributes)
    got = host.get(out)
    if wanted.dtype == torch.bool:
        np.testing.assert_array_equal(got.astype(bool), wanted.numpy())
        return
    values = wanted.float().numpy()
    bits = 10 if dtype == "f16" else 7
    error = error_in_ulps(got, values, bits)
    allowed = 1 if case.ulps else 0
    with np.errstate(invalid="ignore"):
        tiny = np.abs(got - values) <= max(case.near, 2.0**-24 if allowed and bits == 10 else 0)
    worst = int(np.argmax(np.where(tiny, 0, error)))
    assert tiny[worst] or error[worst] <= allowed, (
        f"{case} of {[float(tensor[worst]) for tensor in inputs]}: {got[worst]} is not"
        f" {values[worst]}"
    )


def test_every_operation_has_a_case() -> None:
    common = {name for name, row in TABLE.items() if row.emit.__module__ != special.__name__}
    assert common - {case.name for case in CASES} == SOMEWHERE_ELSE


WHOLE = np.array([-(2**40), -7, -3, -2, -1, 0, 1, 2, 3, 5, 8, 2**40])


@pytest.mark.parametrize(
    "name",
    ["add", "sub", "mul", "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne", "fmax", "fmin",
     "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
     "clamp_min", "clamp_max"],
)  # fmt: skip
def test_whole_numbers(host: Host, name: str) -> None:
    x, y = np.repeat(WHOLE, len(WHOLE)), np.tile(WHOLE, len(WHOLE))
    wanted = getattr(torch, name)(torch.from_numpy(x), torch.from_numpy(y))
    dtype = "i1" if wanted.dtype == torch.bool else "i64"
    out = host.empty(x.shape, dtype)
    host.run(name, [host.put(x, "i64"), host.put(y, "i64")], [out])
    np.testing.assert_array_equal(host.get(out), wanted.numpy())


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide", "div_trunc", "div_floor"])
def test_whole_division(host: Host, name: str) -> None:
    divisors = WHOLE[WHOLE != 0]
    x, y = np.repeat(WHOLE, len(divisors)), np.tile(divisors, len(WHOLE))
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    mode = name.removeprefix("div_")
    wanted = torch.div(a, b, rounding_mode=mode) if mode != name else getattr(torch, name)(a, b)
    out = host.empty(x.shape, "i64")
    host.run(name, [host.put(x, "i64"), host.put(y, "i64")], [out])
    np.testing.assert_array_equal(host.get(out), wanted.numpy())


@pytest.mark.parametrize("name", ["abs", "neg", "sign", "bitwise_not", "square", "relu"])
def test_whole_numbers_alone(host: Host, name: str) -> None:
    small = WHOLE[1:-1]
    wanted = getattr(torch, name)(torch.from_numpy(small)).numpy()
    out = host.empty(small.shape, "i64")
    host.run(name, [host.put(small, "i64")], [out])
    np.testing.assert_array_equal(host.get(out), wanted)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"])
def test_bitwise_on_truth_values_is_logic(host: Host, name: str) -> None:
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    given = [x] if name == "bitwise_not" else [x, y]
    wanted = getattr(torch, name)(*map(torch.from_numpy, given)).numpy()
    out = host.empty((4,), "i1")
    host.run(name, [host.put(array, "i1") for array in given], [out])
    np.testing.assert_array_equal(host.get(out), wanted)


def test_shifts(host: Host) -> None:
    x, by = np.array([1, -5, 1 << 20]), np.array([3, 1, 2])
    for name, wanted in (("bitwise_left_shift", x << by), ("bitwise_right_shift", x >> by)):
        out = host.empty((3,), "i64")
        host.run(name, [host.put(x, "i64"), host.put(by, "i64")], [out])
        np.testing.assert_array_equal(host.get(out), wanted)


def test_choices(host: Host) -> None:
    mask = np.arange(130) % 3 == 0
    x, y = np.arange(130.0), -np.arange(130.0)
    out = host.empty((130,), "f16")
    placed = [host.put(mask, "i1"), host.put(x, "f16"), host.put(y, "f32")]
    host.run("where", placed, [out])
    np.testing.assert_array_equal(host.get(out), np.where(mask, x, y))
    host.run("where", [placed[0], 2.0, placed[2]], [out])
    np.testing.assert_array_equal(host.get(out), np.where(mask, 2.0, y))
    host.run("masked_fill", [placed[1], placed[0], 7.0], [out])
    np.testing.assert_array_equal(host.get(out), np.where(mask, 7.0, x))


def test_two_results(host: Host) -> None:
    g, x, w = (torch.randn(3, 70) for _ in range(3))
    placed = [host.put(tensor.numpy(), "f32") for tensor in (g, x, w)]
    outs = [host.empty((3, 70), "f32") for _ in range(2)]
    host.run("prelu_backward", placed, outs)
    wanted = torch.where(x > 0, g, w * g), torch.where(x > 0, torch.zeros(()), x * g)
    for out, tensor in zip(outs, wanted, strict=True):
        np.testing.assert_array_equal(host.get(out), tensor.numpy())


def test_another_number_needs_no_other_program(host: Host) -> None:
    x, out = host.put(np.arange(3.0), "f16"), host.empty((3,), "f16")
    first = host.run("mul", [x, 2.0], [out])
    assert host.run("mul", [x, 3.0], [out]) is first
    np.testing.assert_array_equal(host.get(out), [0, 3, 6])


@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "i1", "i32", "i64"])
@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "i1", "i32", "i64"])
def test_copies_convert(host: Host, source: str, target: str) -> None:
    values = np.array([0.0, 1.0, -3.0, 2.5, 1000.0, -70.0])
    if source == "i1":
        values = values != 0
    kept = values if source[0] in "bf" else np.trunc(values)
    wanted = kept != 0 if target == "i1" else np.trunc(kept) if target[0] == "i" else kept
    out = host.empty((6,), target)
    host.run("copy", [host.put(values, source)], [out])
    np.testing.assert_array_equal(host.get(out), wanted)


def test_nan_is_true(host: Host) -> None:
    out = host.empty((2,), "i1")
    host.run("copy", [host.put(np.array([np.nan, 0.0]), "f16")], [out])
    np.testing.assert_array_equal(host.get(out), [1, 0])


def test_numbers_round_to_halves_before_they_are_compared(host: Host) -> None:
    x = torch.tensor([0.1, 0.2], dtype=torch.float16)
    out = host.empty((2,), "i1")
    host.run("lt", [host.put(x.float().numpy(), "f16"), 0.1], [out])
    np.testing.assert_array_equal(host.get(out).astype(bool), (x < 0.1).numpy())


def test_too_many_operands_are_refused(host: Host) -> None:
    x = host.put(np.zeros(3), "f16").operand
    with pytest.raises(Unsupported, match="3 operands"):
        compile("exp", [x, x, x], [x])


EVERY_TYPE = ["f16", "bf16", "df16", "f32", "f8E4M3FN", "f8E5M2", "i1", "i8", "i16", "i32", "i64"]


@pytest.mark.parametrize("source", EVERY_TYPE)
def test_every_type_meets_every_other(host: Host, source: str) -> None:
    values = np.arange(3 * 200).reshape(3, 200) % (2 if source == "i1" else 8)
    x = host.put(values, source)
    for target in EVERY_TYPE:
        out = host.empty((3, 200), target)
        host.run("copy", [x], [out], sanitize=True)
        np.testing.assert_array_equal(host.get(out), values != 0 if target == "i1" else values)
        host.run("add", [x, x], [out], sanitize=True)
        np.testing.assert_array_equal(host.get(out), values != 0 if target == "i1" else values * 2)


def test_bytes_without_sign(host: Host) -> None:
    values = np.arange(256)
    x = host.put(values, "u8")
    for target, wanted in (("f16", values), ("i64", values), ("i1", values != 0)):
        out = host.empty((256,), target)
        host.run("copy", [x], [out], sanitize=True)
        np.testing.assert_array_equal(host.get(out), wanted)
    out = host.empty((256,), "u8")
    host.run("copy", [host.put(values, "f32")], [out], sanitize=True)
    np.testing.assert_array_equal(host.get(out), values)
    host.run("add", [x, x], [out], sanitize=True)
    np.testing.assert_array_equal(host.get(out), values * 2 % 256)
    host.run("div", [x, 255.0], [scaled := host.empty((256,), "f32")], sanitize=True)
    np.testing.assert_array_equal(host.get(scaled), values.astype(np.float32) / np.float32(255))
    with pytest.raises(Unsupported, match="without sign"):
        compile("sum", [x.operand], [out.operand])
