"""Graphs of all kinds: compiled = eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._inductor.utils import run_and_get_code
from torch.nn import functional as F  # noqa: N812

from spyrelab.device.errors import FallbackError
from tests.inductor.compare import assert_same, check, device


def counts() -> dict[str, dict[str, int]]:
    return torch.spyre.op_counts()  # type: ignore[attr-defined]


def softmax_of_product(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x @ w + b, -1)


def test_a_run_of_operations_is_one_bundle() -> None:
    args = device(4, 64), device(64, 32), device(32)
    result, (code,) = run_and_get_code(torch.compile(softmax_of_product), *args)
    assert_same(result, softmax_of_product(*args))
    assert code.count("spyre.Bundle(") == 1
    assert 'Step("softmax"' in code


def test_the_second_call_launches_and_compiles_nothing() -> None:
    args = device(4, 64), device(64, 32), device(32)
    compiled = torch.compile(softmax_of_product)
    compiled(*args)
    torch.spyre.reset_op_counts()  # type: ignore[attr-defined]
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(*args)
    assert all(found["fallback"] == 0 for found in counts().values())
    assert counts()["aten::_softmax"]["native"] == 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types(dtype: torch.dtype) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.layer_norm(x @ w, (32,))) + F.silu(x[:, :32])

    check(function, device(8, 64, dtype=dtype), device(64, 32, dtype=dtype))


def test_views_of_inputs_and_results() -> None:
    def function(x: torch.Tensor) -> Any:
        y = x.transpose(0, 1) * 2
        return y[1:, ::2], x[:, 3], y.reshape(-1), torch.split(x + 1, 3, dim=1), y.unsqueeze(0)

    check(function, device(8, 12))


def test_inputs_that_are_views() -> None:
    base = device(16, 24)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) @ x.t()

    for view in (base[2:9], base.t(), base[:, 5:], base[3:, 7:].t(), base[::2]):
        torch._dynamo.reset()
        check(function, view)


def test_the_same_strides_at_another_offset() -> None:
    base = device(16, 64)
    compiled = torch.compile(lambda x: x * 2 + 1)
    for start in (0, 3, 8, 3):
        assert_same(compiled(base[start : start + 4]), base[start : start + 4] * 2 + 1)


def test_inputs_that_are_written() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        y[1:3].add_(x[0])
        return x + y.sum()

    one, other = (device(4, 8), device(4, 8)), None
    other = tuple(t.clone() for t in one)
    wanted = function(*one)
    assert_same(torch.compile(function)(*other), wanted)
    assert_same(other, one)


def test_constants() -> None:
    table = torch.arange(8.0).to("spyre")

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + table + torch.tensor([1.0, 2.0], device="spyre").sum() + 3

    check(function, device(4, 8))


def test_graphs_of_factories_alone() -> None:
    def function() -> Any:
        made = torch.arange(12, device="spyre", dtype=torch.float32).reshape(3, 4)
        return made * 2, torch.ones(3, 4, device="spyre"), torch.zeros(5, device="spyre")

    check(function)


def test_nodes_on_the_cpu_need_no_compiler() -> None:
    def function(x: torch.Tensor) -> Any:
        on_host = torch.arange(4.0) * 2 + 1
        return x + on_host.to("spyre"), on_host.cumsum(0), x.cpu().sum()

    check(function, device(3, 4))


def test_several_results() -> None:
    def function(x: torch.Tensor) -> Any:
        values, places = x.max(1)
        top, where = torch.topk(x, 3)
        mean, variance = torch.var_mean(x, 1)
        return (
            values,
            places,
            top,
            where,
            mean,
            variance,
            torch.native_layer_norm(x, (16,), None, None, 1e-5),
        )

    check(function, device(4, 16))


def test_random_numbers() -> None:
    def function(x: torch.Tensor) -> Any:
        return F.dropout(x, 0.5) + torch.rand_like(x), torch.randn(3, device="spyre")

    x = device(8, 8)
    torch.manual_seed(3)
    wanted = function(x)
    torch.manual_seed(3)
    assert_same(torch.compile(function)(x), wanted)


def test_breaks() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        if y.sum().item() > 0:
            y = y - 1
        torch._dynamo.graph_break()
        return y * 3

    check(function, device(4, 4))


def test_fallbacks_are_counted_and_can_be_forbidden() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.inv(x @ x.t()) * 2

    x = device(4, 4)
    compiled = torch.compile(function)
    assert_same(compiled(x), function(x))
    torch.spyre.reset_op_counts()  # type: ignore[attr-defined]
    compiled(x)
    assert counts()["aten::linalg_inv_ex.inverse"]["fallback"] == 1
    with torch.spyre.fallback("error"), pytest.raises(FallbackError):  # type: ignore[attr-defined]
        compiled(x)


def test_the_reason_of_a_fallback_stands_in_the_code() -> None:
    _, (code,) = run_and_get_code(torch.compile(lambda x: torch.linalg.inv(x) * 2), device(4, 4))
    assert "# not native: aten::linalg_inv_ex" in code


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_modes(mode: str) -> None:
    check(softmax_of_product, device(4, 64), device(64, 32), device(32), mode=mode, fullgraph=True)


def test_indices() -> None:
    def function(x: torch.Tensor, at: torch.Tensor) -> Any:
        y = x.clone()
        y[at] = 0.0
        return x[at], F.embedding(at, x), y, torch.gather(x, 1, at[:, None])

    check(function, device(8, 16), torch.tensor([1, 5, 2]).to("spyre"))


def test_layouts_are_guarded() -> None:
    from spyrelab.layout import SpyreTensorLayout

    host = torch.randn(64, 128, dtype=torch.float16)
    plain = host.to("spyre")
    layout = SpyreTensorLayout.default((64, 128), "f16", dim_order=(1, 0))
    other = host.to("spyre", device_layout=layout)  # type: ignore[call-overload]
    compiled = torch.compile(lambda x: x.relu() + x)
    torch._dynamo.utils.counters.clear()
    assert_same(compiled(plain), plain.relu() + plain)
    assert_same(compiled(other), other.relu() + other)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(plain), compiled(other)


def test_lookups_are_programs_and_check_their_indices() -> None:
    def function(at: torch.Tensor, w: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.nll_loss(F.log_softmax(F.embedding(at, w), -1), target, ignore_index=-100)

    w = device(10, 16)
    at, target = (torch.tensor(t).to("spyre") for t in ([1, 9, 0], [3, -100, 15]))
    result, (code,) = run_and_get_code(torch.compile(function), at, w, target)
    assert_same(result, function(at, w, target))
    assert "not native" not in code
    with pytest.raises(IndexError, match="index 10 is out of range"):
        torch.compile(function)(at + 1, w, target)
