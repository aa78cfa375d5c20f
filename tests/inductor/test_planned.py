"""Operations planned together: the same numbers, but for the order of sums that cores share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._inductor.utils import run_and_get_code
from torch.nn import functional as F  # noqa: N812

from spyrelab.inductor import config
from tests.inductor.compare import assert_close, assert_same, device
from tests.inductor.test_training import Block, loss


@pytest.fixture(params=["joint", "per-op"], autouse=True)
def planner(request: pytest.FixtureRequest) -> Iterator[str]:
    with config.patch(planner=request.param):
        yield request.param


def mlp(x: Any, up: Any, down: Any) -> Any:
    return F.gelu(x @ up) @ down + x


def normed(x: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(x, (x.shape[-1],), w, b) * 2 + F.rms_norm(x, (x.shape[-1],), w)


def scores(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v


def mixed(x: Any, w: Any, b: Any) -> Any:
    y = torch.cat([x, x * 2], 1)[:, ::2]
    y[1].add_(1)
    return y.sum(0), torch.cumsum(y, 1), y @ x.t(), (x * w).amax(-1, keepdim=True), x.sort(1)[0] + b


CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "mlp": (mlp, ((32, 64), (64, 128), (128, 64))),
    "norms": (normed, ((32, 64), (64,), (64,))),
    "scores": (scores, ((2, 3, 16, 64), (2, 3, 40, 64), (2, 3, 40, 64))),
    "mixed": (mixed, ((4, 8), (8,), (8,))),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_planned_operations(name: str, dtype: torch.dtype) -> None:
    function, sizes = CASES[name]
    args = [device(*size, dtype=dtype) for size in sizes]
    assert_close(torch.compile(function)(*args), function(*args))


def test_intermediates_stay_on_the_cores(planner: str) -> None:
    args = device(32, 64), device(64), device(64)

    def function(x: Any, w: Any, b: Any) -> Any:
        return torch.softmax((x * w + b).exp().sqrt(), -1)

    result, (code,) = run_and_get_code(torch.compile(function), *args)
    assert_close(result, function(*args))
    assert code.count("Plan((") == 1
    assert "lx_address=" in code
    assert "Step(" not in code.partition("Recorded(")[2]


def test_a_plan_in_code_evaluates() -> None:
    args = device(32, 64), device(64, 128), device(128, 64)
    compiled = torch.compile(mlp)
    wanted, (code,) = run_and_get_code(compiled, *args)
    names: dict[str, Any] = {}
    exec(compile(code, "generated", "exec"), names)
    (found,) = names["call"](list(args))
    assert_same(found, wanted)


def test_a_training_step() -> None:
    eager = Block().to("spyre")
    compiled = copy.deepcopy(eager)
    tokens = torch.randint(0, 50, (2, 7)).to("spyre")
    loss(eager, tokens).backward()
    torch.compile(loss)(compiled, tokens).backward()
    gradients = [[p.grad for p in m.parameters()] for m in (compiled, eager)]
    assert_close(*gradients)


def test_sizes_are_planned_when_they_come() -> None:
    compiled = torch.compile(mlp)
    up, down = device(64, 128), device(128, 64)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for rows in (5, 32, 33, 5):
            x = device(rows, 64)
            torch._dynamo.mark_dynamic(x, 0)
            assert_close(compiled(x, up, down), mlp(x, up, down))
