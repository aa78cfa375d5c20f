"""The bytes that a model cannot avoid moving: inputs, outputs and weights, once each.

Of an embedding that nothing else uses only the looked-up rows count, of a mixture of experts only
the experts that tokens were sent to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from spyrelab.device.allocations import ENTRIES

__all__ = ["Touched", "device_bytes", "least_bytes", "watch"]


def device_bytes(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's allocation on the card, padding included."""
    return ENTRIES[tensor.untyped_storage().data_ptr()].form.device_bytes


class Touched:
    """Which rows of embeddings and which experts a run of a model asked for.

    Attributes
    ----------
    rows, experts : dict
        Module: the numbers of its rows (experts) that were used.
    """

    def __init__(self) -> None:
        self.rows: dict[torch.nn.Module, set[int]] = {}
        self.experts: dict[torch.nn.Module, set[int]] = {}

    def see_embedding(self, module: torch.nn.Module, given: tuple[Any, ...]) -> None:
        """Note the indices that an embedding is called with."""
        if given and _is_index(given[0]):
            self.rows.setdefault(module, set()).update(given[0].flatten().tolist())

    def see_experts(self, module: torch.nn.Module, given: tuple[Any, ...]) -> None:
        """Note the experts that tokens are sent to."""
        for value in given:
            if _is_index(value):
                self.experts.setdefault(module, set()).update(value.flatten().tolist())


def _is_index(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.int32, torch.int64)


@contextmanager
def watch(model: torch.nn.Module) -> Iterator[Touched]:
    """Note what is looked up inside the ``with`` statement; for eager runs."""
    seen = Touched()
    hooks = []
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            hooks.append(module.register_forward_pre_hook(seen.see_embedding))
        elif _stacked(module):
            hooks.append(module.register_forward_pre_hook(seen.see_experts))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _stacked(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The weights of a module that holds those of all experts in one tensor each."""
    if not type(module).__name__.endswith("Experts"):
        return []
    return [weight for weight in module._parameters.values() if weight is not None]


def least_bytes(
    model: torch.nn.Module, seen: Touched, inputs: list[torch.Tensor], outputs: list[torch.Tensor]
) -> int:
    """The lower bound of bytes through device memory for one run, in device layout."""
    shares = _shares(model, seen)
    weights = [*model.parameters(), *_used_buffers(model)]
    total = sum(math.ceil(device_bytes(w) * shares.get(id(w), 1.0)) for w in weights)
    return total + sum(device_bytes(tensor) for tensor in (*inputs, *outputs))


def _used_buffers(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Statistics and frequencies; counters and lists of positions are the host's business."""
    for tensor in model.buffers():
        if tensor.is_floating_point() and tensor.device.type == "spyre":
            yield tensor


def _shares(model: torch.nn.Module, seen: Touched) -> dict[int, float]:
    """What part of a weight was used, for those that are looked up and not read whole."""
    whole = {
        id(weight)
        for module in model.modules()
        if not isinstance(module, torch.nn.Embedding)
        for weight in module._parameters.values()
    }
    found: dict[int, float] = {}
    for module, rows in seen.rows.items():
        weight = module._parameters["weight"]
        if weight is not None and id(weight) not in whole:
            found[id(weight)] = len(rows) / weight.shape[0]
    for module, experts in seen.experts.items():
        for weight in _stacked(module):
            found[id(weight)] = len(experts) / weight.shape[0]
    return found
