"""The map: every buffer kept is a rectangle at its address, and names cover nothing."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.patches import Rectangle

from spyrelab.tiling.lx import Buffer, Problem, solve
from spyrelab.tiling.lx.drawing import draw_map
from spyrelab.tiling.lx.models import model_problems
from spyrelab.viz.picture import description, png

NAMED = {problem.name: problem for _, problem in model_problems()}


@pytest.mark.parametrize("name", ["BERT-large MLP, 512 rows", "Llama-3.1-8B attention, 4096 keys"])
def test_names_do_not_overlap(name: str) -> None:
    axes = draw_map(solve(NAMED[name]))
    png(axes)
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) > 10
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))


def test_rectangles_lie_where_the_solution_says() -> None:
    solution = solve(NAMED["BERT-large MLP, 512 rows"], "exact")
    patches = [p for p in draw_map(solution).patches if isinstance(p, Rectangle)]
    found = {(p.get_y() * 1024, p.get_height() * 1024) for p in patches}
    assert {(solution.address(b), b.size) for b in solution.kept} <= found


def test_words_and_the_same_picture_twice() -> None:
    solution = solve(Problem((Buffer("a", 1024, 0, 1), Buffer("b", 4096, 0, 1)), 2048), "exact")
    first, second = draw_map(solution), draw_map(solution)
    assert png(first) == png(second)
    assert "1 of 2 buffers are kept by exact" in description(first.get_figure(root=True))


def test_nothing_to_draw() -> None:
    assert png(draw_map(solve(Problem((), 1024))))
