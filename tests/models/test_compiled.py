"""Compiled models compute what the CPU computes: in one graph, without leaving the card."""

from __future__ import annotations

from spyrelab.models import report


def test_compiled_forward_matches_the_cpu_in_one_graph(family: str) -> None:
    found = report(family, compile=True)
    assert found.is_right, found
    assert found.graph_breaks == 0 and found.fallbacks == (), found
    assert found.launches > 0
