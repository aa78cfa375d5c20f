"""`tl.map_elementwise` with loops: each element goes round as often as it needs."""

from __future__ import annotations

import math

import pytest
import torch
import triton
import triton.language as tl

from spyrelab.triton.errors import UnsupportedKernelError
from tests.triton.translated import launch, translate_kernel

N = 64


@triton.jit
def steps_to_one(a):
    count = 0
    while a > 1:
        a = a // 2 if a % 2 == 0 else 3 * a + 1
        count += 1
    return count


@triton.jit
def common_divisor(a, b):
    found = 0
    if a > 0:  # the others would never come to an end
        while a != b:
            if a > b:
                a = a - b
            else:
                b = b - a
        found = a
    for step in range(3):
        found += step
    return found


@triton.jit
def power_of_two(a):
    result = 1
    for _ in range(a):
        result = result * 2
    return result


@triton.jit
def count(x, y, out, KIND: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, N)
    a, b = tl.load(x + places), tl.load(y + places)
    if KIND == "steps":
        found = tl.map_elementwise(steps_to_one, a)
    elif KIND == "divisor":
        found = tl.map_elementwise(common_divisor, a, b)
    else:
        found = tl.map_elementwise(power_of_two, a)
    tl.store(out + places, found)


def steps(a: int) -> int:
    return 0 if a <= 1 else 1 + steps(a // 2 if a % 2 == 0 else 3 * a + 1)


def arguments() -> dict[str, torch.Tensor]:
    x = torch.arange(N, dtype=torch.int32)
    return {"x": x, "y": (x * 7) % 40 + 1, "out": torch.zeros(N, dtype=torch.int32)}


def test_elements_that_are_done_wait_for_the_others() -> None:
    args = arguments()
    got = launch(count, (1,), args, KIND="steps", N=N)["out"]
    assert got.tolist() == [steps(a) for a in args["x"].tolist()]


def test_elements_of_the_other_side_of_a_branch_stay_out() -> None:
    args = arguments()
    got = launch(count, (1,), args, KIND="divisor", N=N)["out"]
    pairs = zip(args["x"].tolist(), args["y"].tolist(), strict=True)
    assert got.tolist() == [(math.gcd(a, b) if a > 0 else 0) + 3 for a, b in pairs]


def test_counted_loops_have_one_count() -> None:
    with pytest.raises(UnsupportedKernelError, match=r"test_lane_loops.py:\d+.*while loop"):
        translate_kernel(count, arguments(), KIND="power", N=N)
