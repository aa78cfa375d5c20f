"""Entering the device 'spyre' into torch, once per process."""

from __future__ import annotations

import torch

from spyrelab.device import (
    accelerator,
    autocast,
    internals,
    kernels,
    layouts,
    lazy,
    module,
    modules,
    pinned,
    printing,
    profiler,
    serialization,
    storage_patches,
)

__all__ = ["SPYRE_DEVICE"]


class _Hooks(internals.HooksBase):  # type: ignore[misc]
    def is_available(self) -> bool:
        return True

    def is_built(self) -> bool:
        return True

    def has_primary_context(self, index: int) -> bool:
        return True


def _register() -> None:
    internals.set_up_backend("spyre", backend_module=module.build(), hook=_Hooks())
    kernels.register_first_use()
    storage_patches.patch()
    serialization.register()
    autocast.register()
    pinned.register()
    for part in (accelerator, layouts, lazy, modules, printing, profiler):
        part.patch()


_register()

SPYRE_DEVICE = torch.device("spyre", 0)
"""The one card."""
