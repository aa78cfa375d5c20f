"""Chapter 6 under the grader: its own cheats."""

from __future__ import annotations

from typing import Any

from spyrelab.grade import check


def asks_the_planner(plan: Any) -> Any:
    from spyrelab.tiling import Bundle, Plan

    return Plan(tuple(Bundle(bundle.specs) for bundle in plan.bundles)).port_bytes


def test_asking_the_library_is_no_answer() -> None:
    result = check("ch06.3", asks_the_planner).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "the answer asks spyrelab.tiling" in result.output
