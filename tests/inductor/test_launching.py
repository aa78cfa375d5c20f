"""A plan that cannot be lowered when it is launched: its operations one by one, and one line."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch

from spyrelab.inductor import config, launching
from spyrelab.tiling import TilingError
from tests.inductor.compare import assert_same, device


def function(x: Any, w: Any, b: Any) -> Any:
    y = torch.softmax((x @ w + b[1:]) * 0.5, -1)
    return y.amax(-1), y - 2, torch.where(y > 0.1, y, 1.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_operations_are_launched_one_by_one(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(items: Any) -> Any:
        raise TilingError("a test wants no room in the scratchpad")

    args = [device(*size, dtype=dtype) for size in ((5, 33), (33, 70), (71,))]
    wanted = function(*args)
    monkeypatch.setattr(launching, "lower_bundle", refuse)
    with caplog.at_level(logging.WARNING, "spyrelab.inductor"), config.patch(planner="joint"):
        compiled = torch.compile(function)
        assert_same(compiled(*args), wanted)
        lines = [r.getMessage() for r in caplog.records if r.name == "spyrelab.inductor"]
        assert lines and all("one by one: a test wants no room" in line for line in lines)
        assert_same(compiled(*args), wanted)
    again = [r for r in caplog.records if r.name == "spyrelab.inductor"]
    assert len(again) == len(lines)
