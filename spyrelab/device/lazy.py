"""Lazy modules that move to the device before they know their sizes.

`torch.nn.Module.to` replaces a parameter by a plain one where the device is none of torch's own,
and with it forgets that the parameter had no size yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

__all__ = ["patch"]


def patch() -> None:
    """Let lazy modules keep their parameters without a size."""
    LazyModuleMixin._apply = _apply  # type: ignore[attr-defined]


def _apply(module: Any, change: Callable[..., Any], recurse: bool = True) -> Any:
    waiting = [
        (where, name, value)
        for where in (module._parameters, module._buffers)
        for name, value in where.items()
        if isinstance(value, UninitializedParameter | UninitializedBuffer)
    ]
    plain: Any = torch.nn.Module._apply
    plain(module, change, recurse)
    for where, name, value in waiting:
        moved = where[name]
        if isinstance(moved, type(value)):
            continue
        kind: Any = type(value)
        where[name] = kind(value.requires_grad, moved.device, moved.dtype)
    return module
