"""Parameters that stay the same objects when their module moves to the device or back.

`torch.nn.Module.to` changes a parameter in place only between devices of torch's own; elsewhere it
puts a new one into each module. Weights that two modules share (an embedding and the head of a
language model) would then be trained apart, and an optimizer made before would train the old ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parameter import Parameter

__all__ = ["patch"]

_plain: Any = torch.nn.Module._apply
_swap: Any = torch.utils.swap_tensors


def patch() -> None:
    """Let modules keep their parameters."""
    torch.nn.Module._apply = _apply  # type: ignore[method-assign]


def _apply(module: Any, change: Callable[..., Any], recurse: bool = True) -> Any:
    return _plain(module, change if isinstance(change, _InPlace) else _InPlace(change), recurse)


class _InPlace:
    """A change of tensors; a parameter that it brings to another device is changed itself."""

    def __init__(self, change: Callable[..., Any]) -> None:
        self.change = change

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        changed: torch.Tensor = self.change(tensor)
        if type(tensor) is not Parameter or type(changed) not in (torch.Tensor, Parameter):
            return changed
        places = {tensor.device.type, changed.device.type}
        if "spyre" not in places or len(places) == 1 or not tensor.is_leaf:
            return changed
        return self._exchanged(tensor, changed)

    def _exchanged(self, own: Parameter, changed: torch.Tensor) -> torch.Tensor:
        grad = own.grad
        moved = None if grad is None else self.change(grad)
        made = Parameter(changed.detach(), own.requires_grad)
        made.__dict__.update(own.__dict__)
        own.grad = None
        try:
            _swap(own, made)
        except RuntimeError:  # a live graph or a weak reference holds on to the old tensor
            own.grad = grad
            return changed
        own.grad = moved
        return own.detach()
