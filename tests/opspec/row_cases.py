"""What the tests of row operations share: shapes that meet every edge, and comparisons."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch

from tests.opspec.card import run

SHAPES = [(1,), (3,), (64,), (65,), (1, 1), (5, 127), (129, 63), (3, 2, 64), (2, 37, 130)]
"""Below, at and above a stick of 64, primes, single rows and columns."""

ALSO_DEEP = [*SHAPES, (), (2, 3, 5, 67)]
FLOATS = [torch.float16, torch.float32]


def random(shape: Sequence[int], dtype: torch.dtype, special: bool = False) -> torch.Tensor:
    """Normal numbers (integers: -9 to 9), some of them NaN and infinite if wanted."""
    torch.manual_seed(sum(shape) + len(shape))
    if not dtype.is_floating_point:
        return torch.randint(-9, 10, tuple(shape)).to(dtype)
    made = torch.randn(tuple(shape)).to(dtype)
    if special and made.numel() > 3:
        flat = made.view(-1)
        flat[1], flat[2], flat[-1] = float("nan"), float("inf"), float("-inf")
    return made


def choices_of_dims(rank: int) -> Iterator[tuple[int, ...]]:
    """Every set of axes."""
    for count in range(1, rank + 1):
        yield from itertools.combinations(range(rank), count)


def tolerance(dtype: torch.dtype) -> float:
    """Half results may round the other way; f32 sums may be added in another order."""
    return {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(dtype, 0.0)


def check(
    op: str,
    inputs: Sequence[torch.Tensor],
    wanted: Sequence[torch.Tensor],
    *,
    scale: float = 1.0,
    dtype: torch.dtype | None = None,
    **options: object,
) -> object:
    """Run an operation and compare its outputs with torch's, rounded to ``dtype``."""
    kinds = [w.dtype if dtype is None or not w.is_floating_point() else dtype for w in wanted]
    outputs = [torch.zeros(w.shape, dtype=k) for w, k in zip(wanted, kinds, strict=True)]
    counters = run(op, inputs, outputs, **options)
    for out, want in zip(outputs, wanted, strict=True):
        limit = tolerance(out.dtype) * scale
        torch.testing.assert_close(out, want.to(out.dtype), rtol=limit, atol=limit, equal_nan=True)
    return counters
