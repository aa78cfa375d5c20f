"""Random index arithmetic, loaded and stored, against the same arithmetic in torch."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.triton.translated import launch

ROWS, COLUMNS, MIDDLE = 8, 16, 10000


@triton.jit
def moved(value, HOW: tl.constexpr, BY: tl.constexpr):
    if HOW == "quotient":
        return value // BY
    elif HOW == "rest":
        return value % BY
    elif HOW == "shifted":
        return (value << 1) - BY
    else:
        return value


@triton.jit
def universal(
    x, out, s0, s1, base, f0, f1, l0, h0, h1, cap,
    HOW0: tl.constexpr, BY0: tl.constexpr, HOW1: tl.constexpr, BY1: tl.constexpr,
    MASK: tl.constexpr, OTHER: tl.constexpr, TURN: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    first, second = s0 + i, s1 + j * 2
    row, column = moved(first, HOW0, BY0), moved(second, HOW1, BY1)
    offset = base + row[:, None] * f0 + column[None, :] * f1
    inside = tl.full([ROWS, COLUMNS], True, tl.int1)
    if MASK % 2 == 1:
        inside = inside & (first >= l0)[:, None]
    if MASK // 2 % 2 == 1:
        inside = inside & (row < h0)[:, None]
    if MASK // 4 % 2 == 1:
        inside = inside & (j * 3 < h1)[None, :]
    if MASK // 8 % 2 == 1:
        inside = inside & (cap > 2)
    if MASK // 16 % 2 == 1:
        inside = inside & (i[:, None] + j[None, :] < h1)
    if TURN:
        offset, inside = tl.trans(offset), tl.trans(inside)
    value = tl.load(x + offset, mask=inside, other=OTHER)
    if TURN:
        value, inside = tl.trans(value), tl.trans(inside)
    place = i[:, None] * COLUMNS + j[None, :]
    tl.store(out + place, value)
    tl.store(out + ROWS * COLUMNS + place, value * 2, mask=inside)


HOW = st.sampled_from(["plain", "quotient", "rest", "shifted"])
CASES = st.fixed_dictionaries(
    {
        **{name: st.integers(-20, 40) for name in ("s0", "s1")},
        **{name: st.integers(-9, 40) for name in ("f0", "f1", "l0", "h0", "h1")},
        "cap": st.integers(1, 4),
        **dict.fromkeys(("HOW0", "HOW1"), HOW),
        **{name: st.sampled_from([1, 2, 3, 4, 8]) for name in ("BY0", "BY1")},
        "MASK": st.integers(0, 31),
        "OTHER": st.sampled_from([0.0, -1.0]),
        "TURN": st.booleans(),
    }
)


def apply(value: torch.Tensor, how: str, by: int) -> torch.Tensor:
    match how:
        case "quotient":
            return torch.div(value, by, rounding_mode="trunc")
        case "rest":
            return value.fmod(by)
        case "shifted":
            return value * 2 - by
    return value


def expected(x: torch.Tensor, case: dict[str, Any]) -> torch.Tensor:
    i, j = torch.arange(ROWS), torch.arange(COLUMNS)
    first, second = case["s0"] + i, case["s1"] + 2 * j
    row = apply(first, case["HOW0"], case["BY0"])
    column = apply(second, case["HOW1"], case["BY1"])
    bits = [
        (first >= case["l0"])[:, None],
        (row < case["h0"])[:, None],
        (3 * j < case["h1"])[None],
        torch.tensor(case["cap"] > 2),
        i[:, None] + j < case["h1"],
    ]
    inside = torch.ones(ROWS, COLUMNS, dtype=torch.bool)
    for number, bit in enumerate(bits):
        if case["MASK"] >> number & 1:
            inside = inside & bit
    offset = MIDDLE + row[:, None] * case["f0"] + column[None] * case["f1"]
    value = torch.where(inside, x[offset.clamp(0, len(x) - 1)], case["OTHER"])
    return torch.stack((value, torch.where(inside, value * 2, 0.0)))


@given(CASES)
@settings(max_examples=25, deadline=None)
def test_random_indices(case: dict[str, Any]) -> None:
    x = torch.arange(float(2 * MIDDLE))
    constants = {name: value for name, value in case.items() if name.isupper()}
    constants |= {name: case[name] for name in ("BY0", "BY1", "HOW0", "HOW1")}
    args = {name: value for name, value in case.items() if name not in constants}
    args |= {"x": x, "out": torch.zeros(2, ROWS, COLUMNS), "base": MIDDLE}
    got = launch(universal, (1,), args, ROWS=ROWS, COLUMNS=COLUMNS, **constants)["out"]
    assert torch.equal(got, expected(x, case)), case
