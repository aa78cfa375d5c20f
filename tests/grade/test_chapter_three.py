"""Chapter 3 under the grader: what is given, and its own cheats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spyrelab.grade import Status, check
from spyrelab.grade.tree import load_module

ROOT = Path(__file__).parents[2]


def test_the_given_module_leaves_the_device() -> None:
    """What the task is about has to be there: as given, it falls back."""
    answer = load_module(ROOT / "exercises" / "given_ch03.py").MaskedMean.forward
    result = check("ch03.6", answer).result
    assert (result.score, result.status) == (1, Status.WRONG)
    assert "operations that ran on the CPU" in result.output


def test_asking_the_layout_is_no_answer() -> None:
    from spyrelab.layout import SpyreTensorLayout

    def ask(*arguments: Any) -> int:
        return SpyreTensorLayout.default((4, 4), "f16").numel

    result = check("ch03.1", ask).result
    assert "asks spyrelab.layout" in result.output
