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
