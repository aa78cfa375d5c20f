"""Pictures of the device say in words what they show."""

from __future__ import annotations

import pytest
import torch

from spyrelab.device.drawing import draw_dispatch, draw_memory, draw_shares
from spyrelab.errors import UsageError
from spyrelab.viz.picture import description, png


def words(axes):
    assert len(png(axes)) > 1000
    return description(axes.get_figure())


def test_the_way_of_an_operation_ends_in_three():
    text = words(draw_dispatch("x @ y"))
    for part in ("x @ y", "Autocast", "Autograd", "PrivateUse1", "the boxed fallback"):
        assert part in text


def test_memory_counts_the_bytes_of_a_view():
    x = torch.zeros(3, 100, dtype=torch.float16, device="spyre")
    numbers = torch.zeros(10, dtype=torch.int64, device="spyre")
    text = words(draw_memory({"x": x, "view": x[1:, 60:], "numbers": numbers}))
    assert "x uses 600 bytes of 6 sticks" in text
    assert "view uses 160 bytes of 6 sticks" in text
    assert "numbers uses 80 bytes of 1 sticks" in text


def test_linear_memory_without_a_layout():
    x = torch.zeros(4, 4, dtype=torch.float64, device="spyre")
    text = words(draw_memory({"x": x, "column": x[:, 1]}))
    assert "x uses 128 bytes" in text and "column uses 32 bytes" in text


@pytest.mark.parametrize(
    ("tensors", "message"),
    [({}, "no tensor"), ({"x": (4096, 64)}, "too many")],
)
def test_memory_that_cannot_be_drawn(tensors, message):
    made = {name: torch.zeros(size, device="spyre") for name, size in tensors.items()}
    with pytest.raises(UsageError, match=message):
        draw_memory(made)


def test_shares_name_what_fell_back():
    counts = {f"aten::a{n}": {"native": 9 - n, "fallback": 0} for n in range(5)}
    counts["aten::nonzero"] = {"native": 0, "fallback": 2}
    axes = draw_shares(counts, "some title", most=3)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a0", "a1", "a2", "3 others"]
    text = words(axes)
    assert "35 runs on the card and 2 on the CPU, of 6 operations" in text
    assert "aten::nonzero" in text


def test_nothing_has_no_shares():
    with pytest.raises(UsageError, match="nothing has run"):
        draw_shares({})
