"""What users ask for reaches the plan, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import spyrelab
from spyrelab.inductor import config
from tests.inductor.compare import assert_close, device


def hinted(x: Any, w: Any) -> Any:
    with spyrelab.hint(work_div={"M": 2}):
        y = x @ w
    return y.relu()


def test_a_hint_reaches_the_operation_inside() -> None:
    x, w = device(32, 64), device(64, 64)
    with config.patch(planner="joint"):
        found = spyrelab.explain(hinted, x, w)
        assert_close(torch.compile(hinted, fullgraph=True)(x, w), (x @ w).relu())
    assert 'OpSpec("mm", {"M": (32, 2)' in found.stages["opspec"]
    assert "hint=" in found.stages["requests"].splitlines()[1]
    assert "hint=" not in found.stages["requests"].splitlines()[2]


def test_a_hint_about_nothing_is_refused() -> None:
    def function(x: Any) -> Any:
        with spyrelab.hint(work_div={"K": 2}):
            return x.exp()

    with (
        config.patch(planner="joint"),
        pytest.raises(torch._inductor.exc.InductorError, match=r"no operation .* dimension K"),
    ):
        torch.compile(function)(device(8, 8))


def test_eager_ignores_hints() -> None:
    hinted(device(4, 64), device(64, 64))


def named(x: Any, w: Any) -> Any:
    x = spyrelab.name_dims(x, "rows", "hidden")
    with spyrelab.hint(work_div={"rows": 2}):
        return torch.relu(x) @ w


def test_names_of_dimensions_become_symbols() -> None:
    x, w = device(32, 64), device(64, 64)
    with config.patch(planner="joint"):
        found = spyrelab.explain(named, x, w)
        assert_close(torch.compile(named, fullgraph=True)(x, w), torch.relu(x) @ w)
    assert 'OpSpec("relu", {"d0": (32, 2)' in found.stages["opspec"]
    assert 'OpSpec("mm", {"M": (32, 2)' in found.stages["opspec"]
    assert_close(named(x, w), torch.relu(x) @ w)


def test_names_follow_products_and_transposed_weights() -> None:
    def function(x: Any, w: Any, v: Any) -> Any:
        x = spyrelab.name_dims(x, "batch", "rows", "hidden")
        w = spyrelab.name_dims(w, "wide", "hidden")
        y = torch.nn.functional.linear(x, w).relu()
        with spyrelab.hint(work_div={"wide": 4, "rows": 2}):
            return torch.softmax(y, 1) @ v

    x, w, v = device(3, 32, 64), device(128, 64), device(3, 128, 64)
    with config.patch(planner="joint"):
        found = spyrelab.explain(function, x, w, v).stages["requests"]
        assert_close(torch.compile(function, fullgraph=True)(x, w, v), function(x, w, v))
    softmax = next(line for line in found.splitlines() if '"softmax"' in line)
    assert "{'d2': 4, 'd1': 2}" in softmax
    product = next(line for line in found.splitlines() if '"bmm"' in line)
    assert "{'K': 4, 'M': 2}" in product


def test_a_name_that_nothing_can_be_divided_by_is_refused() -> None:
    def function(x: Any, w: Any) -> Any:
        x = spyrelab.name_dims(x, "rows", "hidden")
        y = x @ w
        with spyrelab.hint(work_div={"hidden": 2}):
            return y.exp()

    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="dimension hidden"):
        torch.compile(function)(device(8, 64), device(64, 64))


def test_names_are_one_for_each_dimension() -> None:
    with pytest.raises(spyrelab.errors.SpyreLabError, match="takes 2 different names"):
        spyrelab.name_dims(device(4, 64), "rows")
    with pytest.raises(spyrelab.errors.SpyreLabError, match="takes 2 different names"):
        spyrelab.name_dims(device(4, 64), "rows", "rows")
