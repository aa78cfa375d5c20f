"""Weights that a graph multiplies by are laid out for the product, once, where they lie.

A linear layer keeps its weight as [outputs, inputs], with sticks along the inputs; the product
wants sticks along the outputs, and would have the weight copied at every call. Where nothing else
of the graph reads the weight, and no gradient is wanted, its elements change places instead. What
the tensor says to others stays the same: layouts belong to allocations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from spyrelab.device.allocations import entry_of
from spyrelab.device.forms import form_with_layout
from spyrelab.device.memory import MEMORY
from spyrelab.layout import SpyreTensorLayout

__all__ = ["lay_out_weights"]

_LINEAR = (torch.nn.functional.linear, torch.ops.aten.linear.default, torch.ops.aten.linear)


def lay_out_weights(model: Any, inputs: Sequence[Any]) -> list[str]:
    """Lay out the weights of a graph's linear layers; the names of those that were changed."""
    changed = []
    for node, weight in _weights(model, inputs):
        wanted = SpyreTensorLayout.default(weight.shape, weight.dtype, (1, 0))
        entry = entry_of(weight)
        form = form_with_layout(tuple(weight.shape), weight.dtype, wanted)
        is_whole = tuple(weight.shape) == entry.form.size and weight.stride() == entry.form.stride
        if not is_whole or entry.layout == wanted or form.device_bytes > entry.form.device_bytes:
            continue
        move: Any = weight.detach().to
        packed = move("spyre", device_layout=wanted)
        source, count = entry_of(packed).address, form.device_bytes
        memory = MEMORY.device
        memory.bytes[entry.address : entry.address + count] = memory.bytes[source : source + count]
        memory.mark_written(entry.address, count)
        entry.form = form
        changed.append(node.name)
    return changed


def _weights(model: Any, inputs: Sequence[Any]) -> Iterator[tuple[torch.fx.Node, torch.Tensor]]:
    """Parameters that are the weights of linear layers and nothing else."""
    if not isinstance(model, torch.fx.GraphModule):
        return
    places = [node for node in model.graph.nodes if node.op == "placeholder"]
    for node, given in zip(places, inputs, strict=False):
        if not isinstance(given, torch.nn.Parameter) or isinstance(given, FakeTensor):
            continue
        if given.device.type != "spyre" or given.dim() != 2 or not given.is_floating_point():
            continue
        if given.requires_grad and torch.is_grad_enabled():
            continue
        if node.users and all(_is_weight_of(node, user) for user in node.users):
            yield node, given


def _is_weight_of(node: torch.fx.Node, user: torch.fx.Node) -> bool:
    is_linear = user.op == "call_function" and user.target in _LINEAR
    return is_linear and len(user.args) > 1 and user.args[1] is node and user.args[0] is not node
