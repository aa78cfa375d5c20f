"""What hints are about: any bundle of the graph, contexts in contexts, and nothing at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import spyrelab
from spyrelab.inductor import config
from spyrelab.inductor.errors import CompileError
from tests.inductor.compare import assert_close, device

InductorError = torch._inductor.exc.InductorError


def test_one_bundle_of_several_is_enough() -> None:
    def function(x: Any, w: Any) -> Any:
        with spyrelab.hint(work_div={"M": 2}):
            return torch.fft.fft(x @ w).real.relu()

    x, w = device(32, 64), device(64, 64)
    with config.patch(planner="joint"):
        assert_close(torch.compile(function)(x, w), function(x, w))


@pytest.mark.parametrize("dynamic", [False, True])
def test_lines_of_which_nothing_is_planned_are_refused(dynamic: bool) -> None:
    def views(x: Any) -> Any:
        with spyrelab.hint(work_div={"d0": 2}):
            y = x.t()
        return y + 1

    def others(x: Any) -> Any:
        with spyrelab.hint(num_tiles={"d0": 2}):
            return torch.fft.fft(x).real

    def wrong(x: Any) -> Any:
        with spyrelab.hint(num_tiles={"Q": 2}):
            return x.exp()

    for function, there in ((views, "none"), (others, "none"), (wrong, "d0, d1")):
        with (
            config.patch(planner="joint"),
            pytest.raises(InductorError, match=f"no operation .* there are {there}"),
        ):
            torch.compile(function, dynamic=dynamic)(device(8, 64))


def test_contexts_in_contexts_add_up() -> None:
    def function(x: Any, w: Any) -> Any:
        with spyrelab.hint(work_div={"M": 2}):
            with spyrelab.hint(work_div={"d0": 4}):
                x = x.relu()
            with spyrelab.hint(work_div={"M": 4}):
                x = x @ w
            with spyrelab.hint(num_tiles={"M": 2}):
                return x @ w

    x, w = device(32, 64), device(64, 64)
    with config.patch(planner="joint"):
        plan = str(spyrelab.explain(function, x, w, stage="opspec"))
    assert '"relu", {"d0": (32, 4)' in plan
    first, second = plan.split('OpSpec("mm", ')[1:]
    assert first.startswith('{"M": (32, 4)') and second.startswith('{"M": (32, 2)')


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_number_that_is_an_argument(dynamic: bool) -> None:
    def function(x: Any, w: Any, parts: int) -> Any:
        with spyrelab.hint(work_div={"M": parts}):
            return x @ w

    x, w = device(32, 64), device(64, 64)
    compiled = torch.compile(function, dynamic=dynamic, fullgraph=True)
    with config.patch(planner="joint"):
        for parts in (2, 4):
            assert_close(compiled(x, w, parts), x @ w)
        with pytest.raises(InductorError, match="M = 32 cannot be shared by 64 cores: 32 is legal"):
            compiled(x, w, 64)


@pytest.mark.parametrize(
    "wishes", [{"M": 0}, {"M": -2}, {"M": 2.0}, {"M": "2"}, {"M": True}, {3: 2}, ["M"], 8]
)
@pytest.mark.parametrize("kind", ["work_div", "num_tiles"])
def test_strange_wishes_are_refused(kind: str, wishes: Any) -> None:
    def function(x: Any) -> Any:
        with spyrelab.hint(**{kind: wishes}):
            return x @ x

    for each in (function, torch.compile(function)):
        with pytest.raises(CompileError, match=kind):
            each(torch.ones(2, 2))
