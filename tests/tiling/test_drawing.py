"""Pictures of plans say in words what they show, and draw everything once."""

from __future__ import annotations

from spyrelab.tiling import plan
from spyrelab.tiling.blocks import Draft
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.drawing import draw_boxes, draw_plans, draw_traffic
from spyrelab.viz.picture import png


def product() -> Draft:
    draft = Draft()
    x, w = draft.input("x", 128, 256), draft.input("w", 256, 512)
    draft.op("exp", draft.op("mm", x, w, size=(128, 512)))
    return draft


def test_boxes_name_every_core_of_every_operand() -> None:
    axes = draw_boxes(with_split(product().ops[0], Split((4, 8, 1))), core=13)
    texts = [text.get_text() for text in axes.texts]
    assert {str(core) for core in range(32)} <= set(texts)
    assert {"8–15", "5, 13 … 29"} <= set(texts)
    assert "M into 4, N into 8" in axes.get_label()


def test_a_split_sum_is_shared_by_neighbours() -> None:
    axes = draw_boxes(with_split(product().ops[0], Split((2, 4, 4))), core=0)
    texts = [text.get_text() for text in axes.texts]
    assert {"0–3", "28–31"} <= set(texts)


def test_traffic_is_read_out() -> None:
    axes = draw_traffic({"one": {"a": 8.0, "b": 2.0}}, "elements", least=2)
    assert axes.get_label() == "Bars of elements. one: a 8, b 2."
    assert len(axes.patches) == 2


def test_plans_have_a_lane_each_and_an_arc_for_what_stays() -> None:
    made = plan(product().ops)
    axes = draw_plans({"joint": made, "again": made})
    assert [label.get_text() for label in axes.get_yticklabels()] == ["joint", "again"]
    assert len(axes.patches) == 2 * len(made.resident) == 2
    assert "tensors that stay on the cores: 1" in axes.get_label()
    assert png(draw_plans({"joint": made})) == png(draw_plans({"joint": made}))
