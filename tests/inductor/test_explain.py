"""Every stage can be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import spyrelab
from spyrelab.inductor import config
from spyrelab.inductor.errors import CompileError
from tests.inductor.compare import device

WORDS = {
    "fx": "torch.ops.aten._softmax",
    "requests": 'Step("softmax"',
    "passes": "  fusion\n    one launch of ",
    "opspec": 'OpSpec("softmax"',
    "plan": "never leave the cores",
    "ktir": "func.func @bundle",
    "program": "instructions",
    "timeline": "us on the card",
    "code": "spyre.Bundle(",
}


def function(x: Any, w: Any) -> Any:
    return torch.softmax((x @ w).relu() * 2, -1)


def test_all_stages(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with config.patch(planner="joint"):
        found = spyrelab.explain(function, device(16, 64), device(64, 64), html=page)
    for stage, word in WORDS.items():
        assert word in found.stages[stage], stage
    assert "<summary><b>ktir</b>" in page.read_text()
    assert page.read_text().count("<details") == len(WORDS)


@pytest.mark.parametrize("stage", WORDS)
def test_one_stage(stage: str) -> None:
    with config.patch(planner="per-op"):
        found = spyrelab.explain(function, device(4, 32), device(32, 32), stage=stage)
    assert list(found.stages) == [stage]
    assert WORDS[stage] in str(found)


def test_it_compiles_afresh_and_leaves_the_function_alone() -> None:
    args = device(4, 32), device(32, 32)
    compiled = torch.compile(function)
    compiled(*args)
    for _ in range(2):
        assert "softmax" in str(spyrelab.explain(function, *args, stage="requests"))
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(*args)


def test_backward_and_what_is_not_native() -> None:
    w = device(32, 32).requires_grad_()
    found = spyrelab.explain(lambda x: torch.linalg.inv(x @ w).sum(), device(32, 32))
    assert found.stages["fx"].count("def forward") == 2
    assert "not native: aten.linalg_inv_ex" in found.stages["requests"]


def test_mistakes() -> None:
    with pytest.raises(CompileError, match="choose one of fx, requests"):
        spyrelab.explain(function, device(4, 4), device(4, 4), stage="ast")
    with pytest.raises(CompileError, match="nothing was compiled"):
        spyrelab.explain(lambda x: x, device(4))


def test_explaining_inside_what_is_explained_ends() -> None:
    def function(x: Any) -> Any:
        spyrelab.explain(lambda y: y + 1, x)
        return x * 2

    assert "mul" in str(spyrelab.explain(function, device(4, 4), stage="plan"))


def test_graphs_of_the_host_alone_stay_eager() -> None:
    with pytest.raises(CompileError, match="nothing was compiled"):
        spyrelab.explain(lambda x: x + 1, torch.ones(3))


def test_an_unknown_planner_is_refused() -> None:
    with (
        config.patch(planner="best"),
        pytest.raises(torch._inductor.exc.InductorError, match="'best': choose one of joint"),
    ):
        torch.compile(torch.exp)(device(4, 4))
