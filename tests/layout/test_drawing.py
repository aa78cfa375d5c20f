"""Pictures: what they show, in numbers and in words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from spyrelab.layout import LayoutError, SpyreTensorLayout
from spyrelab.layout.drawing import draw_sticks, draw_turn, host_indices
from spyrelab.layout.graph_drawing import draw_before_and_after, draw_placement
from spyrelab.layout.layered import Item, arrange
from spyrelab.layout.placement import place
from spyrelab.viz.picture import description, png
from tests.layout.graphs import GRAPHS

Layout = SpyreTensorLayout


def test_host_indices() -> None:
    held = host_indices(Layout.default((3, 70)), (3, 70))
    assert held.shape == (6, 64)
    assert (held[:3] == np.arange(3)[:, None]).all()
    assert (held[3:, :6] == np.arange(3)[:, None]).all() and (held[3:, 6:] == -1).all()
    columns = host_indices(Layout.default((3, 70), dim_order=[1, 0]), (3, 70), 1)
    assert (columns[:, :3] == np.arange(70)[:, None]).all()
    assert host_indices(Layout.linear((3, 70)), (3, 70)).shape == (4, 64)
    assert host_indices(Layout.default(()), ())[0, 0] == 0


def test_few_sticks_say_what_they_hold() -> None:
    axes = draw_sticks(Layout.default((3, 70)), (3, 70))
    assert [text.get_text() for text in axes.texts] == ["row 0", "row 1", "row 2"] * 2
    words = description(axes.get_figure(root=True))
    assert "elements of 1 host row;" in words and "174 of 384 elements are padding" in words
    turned = draw_sticks(Layout.default((6, 9), dim_order=[1, 0]), (6, 9))
    assert {text.get_text() for text in turned.texts} == {"rows 0 to 5"}
    assert png(axes) == png(draw_sticks(Layout.default((3, 70)), (3, 70)))


def test_what_a_transpose_does() -> None:
    words = description(draw_turn((64, 128)).get_figure(root=True))
    first, second, third = words.split("A tensor of size ")[1:]
    assert first.startswith("[64, 128]") and "1 host row;" in first
    assert second.startswith("[128, 64]") and "64 host rows;" in second
    assert third.startswith("[128, 64]") and "1 host row;" in third


def test_too_many_sticks() -> None:
    with pytest.raises(LayoutError, match="too many for a picture"):
        draw_sticks(Layout.default((2048, 64)), (2048, 64))
    with pytest.raises(LayoutError):
        draw_sticks(Layout.default((3, 64)), (4, 64))


def test_before_and_after() -> None:
    placement = place(GRAPHS["residual_with_transposes"]())
    figure = draw_before_and_after(placement).get_figure(root=True)
    before, after = figure.axes
    shown = [[text.get_text() for text in axes.texts] for axes in (before, after)]
    assert shown[0].count("restickify") == 0 and shown[1].count("restickify") == 2
    assert "2 operands restickified: transpose for matmul; transpose_2 for add." in description(
        figure
    )


def test_nothing_to_convert() -> None:
    axes = draw_placement(place(GRAPHS["multilayer_perceptron"]()))
    assert "every operand fits as it lies" in description(axes.get_figure(root=True))


@pytest.mark.parametrize("name", ["attention_block", "branches_with_channels_first", "random_1"])
def test_boxes_do_not_overlap_and_lines_go_down(name: str) -> None:
    placement = place(GRAPHS[name]())
    items: dict[object, Item] = {}
    for node in placement.graph.nodes:
        parents = [(items[operand], True) for operand in dict.fromkeys(node.operands)]
        items[node] = Item(node, (node.name, ""), "", parents)
    layers = arrange(list(items.values()))
    for depth, layer in enumerate(layers):
        for left, right in pairwise(layer):
            assert right.x - left.x >= (left.width + right.width) / 2
        for item in layer:
            assert item.depth == depth
            assert all(parent.depth == depth - 1 for parent, _ in item.parents)
