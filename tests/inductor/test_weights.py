"""Weights of linear layers are laid out once, where they lie, and say what they said."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from spyrelab.device.allocations import entry_of
from spyrelab.inductor import config
from spyrelab.layout import SpyreTensorLayout
from tests.inductor.compare import assert_same, device


def layout_of(weight: torch.Tensor) -> Any:
    return entry_of(weight).layout


def turned(weight: torch.Tensor) -> Any:
    return SpyreTensorLayout.default(weight.shape, weight.dtype, (1, 0))


@torch.no_grad()
def test_a_weight_is_laid_out_once_in_place() -> None:
    layer = nn.Linear(64, 128).half().to("spyre")
    x = device(3, 64, dtype=torch.float16)
    values, wanted = layer.weight.cpu(), layer(x)
    entry, address = entry_of(layer.weight), entry_of(layer.weight).address
    compiled = torch.compile(layer)
    assert_same(compiled(x), wanted)
    form = entry.form
    assert layout_of(layer.weight) == turned(layer.weight)
    assert entry_of(layer.weight) is entry and entry.address == address
    assert torch.equal(layer.weight.cpu(), values)
    with torch._dynamo.config.patch(error_on_recompile=True):
        assert_same(compiled(x), wanted)
    assert entry.form is form
    assert_same(layer(x), wanted)


@torch.no_grad()
def test_a_product_takes_the_weight_without_a_copy() -> None:
    layer = nn.Linear(64, 128, bias=False).half().to("spyre")
    import spyrelab

    with config.patch(planner="joint"):
        shown = spyrelab.explain(layer, device(32, 64, dtype=torch.float16), stage="passes")
    assert "goes through" not in str(shown) and "copy" not in str(shown)


@torch.no_grad()
def test_a_tied_embedding_stays_as_it_is() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(64, 64)
            self.head = nn.Linear(64, 64, bias=False)
            self.head.weight = self.table.weight

        def forward(self, index: Any) -> Any:
            return self.head(self.table(index))

    model = Tied().to("spyre")
    before = layout_of(model.head.weight)
    index = torch.arange(5).to("spyre")
    wanted = model(index)
    assert_same(torch.compile(model)(index), wanted)
    assert layout_of(model.head.weight) == before != turned(model.head.weight)


def test_training_leaves_weights_alone() -> None:
    layer = nn.Linear(64, 64).to("spyre")
    before, x = layout_of(layer.weight), device(3, 64)
    layer(x).sum().backward()
    wanted, layer.weight.grad = layer.weight.grad, None
    torch.compile(layer)(x).sum().backward()
    assert layout_of(layer.weight) == before
    assert_same(layer.weight.grad, wanted)


@torch.no_grad()
@pytest.mark.parametrize("size", [(3, 65), (1, 70), (70, 1), (65, 3), (33, 31)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_odd_sizes_change_only_where_there_is_room(size: Any, dtype: torch.dtype) -> None:
    layer = nn.Linear(size[1], size[0]).to(dtype).to("spyre")
    values, room = layer.weight.cpu(), entry_of(layer.weight).form.device_bytes
    neighbour = torch.arange(4096.0).to("spyre")
    x = device(2, size[1], dtype=dtype)
    wanted = layer(x)
    assert_same(torch.compile(layer)(x), wanted)
    assert entry_of(layer.weight).form.device_bytes <= room
    assert torch.equal(layer.weight.cpu(), values)
    assert torch.equal(neighbour.cpu(), torch.arange(4096.0))
