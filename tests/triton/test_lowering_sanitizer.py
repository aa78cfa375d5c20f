"""The sanitizer finds a kernel's mistakes and names its lines."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from spyrelab.emulator import SanitizerError
from tests.triton.test_lowering_errors import line_of
from tests.triton.translated import run_translation, translate_kernel


@triton.jit
def unmasked(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def unmasked_store(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value)


@triton.jit
def gathered(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + (at ^ 1))
    tl.store(out + at, value, mask=at < n)


@pytest.mark.parametrize(
    ("fn", "text"),
    [(unmasked, "value = "), (unmasked_store, "tl.store"), (gathered, "value = ")],
)
def test_missing_mask(fn: Any, text: str) -> None:
    args = {"x": torch.arange(100.0), "out": torch.zeros(100), "n": 100}
    block = 128 if fn is gathered else 64
    translation = translate_kernel(fn, args, BLOCK=block)
    with pytest.raises(SanitizerError, match=f"test_lowering_sanitizer.py.*{line_of(fn, text)}"):
        run_translation(fn, translation, (2,), args, sanitize=True, constants=("BLOCK",))


@triton.jit
def paged(cache, table, out, PAGE: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr):
    t, d = tl.arange(0, TILE), tl.arange(0, D)
    page = tl.load(table + t // PAGE)
    value = tl.load(cache + page[:, None] * (PAGE * D) + (t % PAGE)[:, None] * D + d[None, :])
    tl.store(out + t[:, None] * D + d[None, :], value)


@pytest.mark.parametrize("page", [10, -1])
def test_page_out_of_range(page: int) -> None:
    table = torch.tensor([3, page], dtype=torch.int32)
    args = {"cache": torch.randn(10, 16, 8), "table": table, "out": torch.zeros(32, 8)}
    constants = {"PAGE": 16, "TILE": 32, "D": 8}
    translation = translate_kernel(paged, args, **constants)
    where = f"test_lowering_sanitizer.py.*{line_of(paged, 'value = ')}"
    with pytest.raises(SanitizerError, match=where):
        run_translation(paged, translation, (1,), args, sanitize=True, constants=tuple(constants))
