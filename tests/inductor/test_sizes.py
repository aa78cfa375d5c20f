"""Dynamic shapes: one graph for all sizes, each planned once."""

from __future__ import annotations

import torch
from torch._inductor.utils import run_and_get_code

from tests.inductor.compare import assert_same, check, device


def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x @ w, -1)[1:] * x.shape[0]


def test_a_marked_dimension_is_compiled_once() -> None:
    compiled = torch.compile(function)
    w = device(32, 48)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for rows in (5, 9, 70, 9):
            x = device(rows, 32)
            torch._dynamo.mark_dynamic(x, 0)
            assert_same(compiled(x, w), function(x, w))


def test_the_code_is_symbolic() -> None:
    x = device(6, 32)
    torch._dynamo.mark_dynamic(x, 0)
    _, (code,) = run_and_get_code(torch.compile(function), x, device(32, 48))
    assert "lambda s" in code


def test_everything_dynamic() -> None:
    compiled = torch.compile(function, dynamic=True)
    for rows, inner in ((4, 8), (12, 40), (7, 33)):
        x, w = device(rows, inner), device(inner, 24)
        assert_same(compiled(x, w), function(x, w))


def test_sizes_that_change_by_themselves() -> None:
    compiled = torch.compile(lambda x: (x + x.shape[0]).sum(0), fullgraph=True)
    for rows in (3, 5, 6, 8):
        x = device(rows, 16)
        assert_same(compiled(x), (x + rows).sum(0))


def test_numbers_that_change() -> None:
    compiled = torch.compile(lambda x, a: x * a + 1)
    x = device(3, 5)
    for number in (0.5, 1.5, 2.5):
        assert_same(compiled(x, number), x * number + 1)


def test_sizes_that_values_tell() -> None:
    check(lambda x: x[x > 0] * 2, device(4, 8))
