"""The cache of keys and values: its tensors as arguments, and what tells layers apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from spyrelab.models.capture import Call

__all__ = ["CacheState", "kind_of"]


class CacheState:
    """The tensors in a cache of transformers, of one layer or of all."""

    def __init__(self, cache: Any, layer: int | None = None) -> None:
        numbers = range(len(cache.layers)) if layer is None else [layer]
        self._parts = [(number, cache.layers[number]) for number in numbers]

    def _places(self) -> list[tuple[int, Any, str]]:
        return [
            (number, part, name)
            for number, part in self._parts
            for name, value in vars(part).items()
            if isinstance(value, torch.Tensor)
        ]

    def tensors(self) -> list[torch.Tensor]:
        """All of them."""
        return [getattr(part, name) for _, part, name in self._places()]

    def arguments(self) -> list[tuple[str, torch.Tensor]]:
        """The same with names: ``cache.0.keys``."""
        return [(f"cache.{n}.{name}", getattr(part, name)) for n, part, name in self._places()]

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let the cache be afterwards what it is now."""
        before = [(part, dict(vars(part))) for _, part in self._parts]
        try:
            yield
        finally:
            for part, values in before:
                vars(part).clear()
                vars(part).update(values)

    @contextmanager
    def holding(self, tensors: Sequence[Any]) -> Iterator[None]:
        """Put other tensors into the cache, for a while."""
        with self.kept():
            for (_, part, name), tensor in zip(self._places(), tensors, strict=True):
                setattr(part, name, tensor)
            yield


def kind_of(call: Call, cache: Any, number: int) -> tuple[Any, ...]:
    """Equal for layers that compute the same on tensors of the same sizes."""
    layer = call.layer
    sizes = [(name, tuple(p.shape), p.dtype) for name, p in layer.named_parameters()]
    given = [(name, tuple(t.shape), t.dtype) for name, t in call.arguments()]
    held = [tuple(tensor.shape) for tensor in CacheState(cache, number).tensors()]
    plain = (*_settings(layer), *call.settings())
    return tuple(sizes), tuple(given), tuple(held), plain


def _settings(layer: torch.nn.Module) -> list[tuple[str, str, str]]:
    """Plain attributes of a layer and its parts, such as the width of its window."""
    return [
        (path, name, repr(value))
        for path, module in layer.named_modules()
        for name, value in sorted(vars(module).items())
        if name != "layer_idx" and isinstance(value, bool | int | float | str)
    ]
