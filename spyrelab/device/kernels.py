"""Every kernel of the device, entered into torch when the device is first used.

torch loads the device whenever it is itself imported, and most programs never use it: so what
takes a second to load (numba, the emulator) waits for the first allocation.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

import torch

from spyrelab.device.library import implement_for_now

__all__ = ["load", "register_first_use"]

_MODULES = ("views", "factories", "copies", "fallback", "convolution", "recurrent", "eager")
_lock = threading.RLock()
_loaded = False


def load() -> None:
    """Enter all kernels; later calls do nothing."""
    global _loaded
    with _lock:
        if not _loaded:
            for name in _MODULES:
                import_module(f"spyrelab.device.{name}").register()
            _loaded = True
            # Last: until now other threads wait at the lock with their first tensor.
            import_module("spyrelab.device.factories").open_for_all()


def register_first_use() -> None:
    """Enter the two factories through which every first tensor comes: they load the rest."""

    def empty(*args: Any, **kwargs: Any) -> torch.Tensor:
        load()
        return torch.ops.aten.empty.memory_format(*args, **kwargs)

    def empty_strided(*args: Any, **kwargs: Any) -> torch.Tensor:
        load()
        return torch.ops.aten.empty_strided.default(*args, **kwargs)

    implement_for_now("empty.memory_format", empty)
    implement_for_now("empty_strided", empty_strided)
