"""torch's storage classes, taught about the device.

No allocator of ours is known to torch's C++ side, so ``torch.UntypedStorage(n, device="spyre")``
would follow a null pointer. The few Python methods that would call it are wrapped here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from spyrelab.device.cards import check_device
from spyrelab.device.errors import DeviceError
from spyrelab.device.internals import StorageBase

__all__ = ["patch"]


def patch() -> None:
    """Wrap the methods that make, move and copy storages."""
    _patch_new()
    _patch_methods()


def _ours() -> Any:
    return import_module("spyrelab.device.storage")


def _is_spyre(device: Any) -> bool:
    return device is not None and torch.device(device).type == "spyre"


def _patch_new() -> None:
    plain = torch.UntypedStorage.__new__

    def new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if not _is_spyre(device):
            given = {} if device is None else {"device": device}
            return plain(cls, *args, **given, **kwargs)
        check_device(torch.device(device))
        if args and not isinstance(args[0], int):
            return _ours().storage_to_device(plain(cls, *args, **kwargs))
        return _ours().new_storage(int(args[0]) if args else 0)

    torch.UntypedStorage.__new__ = new  # type: ignore[method-assign]


def _patch_methods() -> None:
    plain_to, plain_cpu = StorageBase.to, StorageBase.cpu
    plain_clone, plain_copy = StorageBase.clone, torch.UntypedStorage.copy_

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        here, there = self.device.type == "spyre", _is_spyre(device)
        if there and not here:
            check_device(torch.device(device))
            return _ours().storage_to_device(self.cpu())
        if here and torch.device(device).type == "cpu":
            return _ours().storage_to_cpu(self)
        if here and there:
            return self
        return plain_to(self, device=device, non_blocking=non_blocking)

    def cpu(self: Any) -> Any:
        return _ours().storage_to_cpu(self) if self.device.type == "spyre" else plain_cpu(self)

    def clone(self: Any) -> Any:
        return _ours().clone_storage(self) if self.device.type == "spyre" else plain_clone(self)

    def copy_(self: Any, source: Any, non_blocking: bool | None = None) -> Any:
        if "spyre" not in (self.device.type, source.device.type):
            return plain_copy(self, source, non_blocking)
        _ours().copy_storage(self, source)
        return self

    def resize_(self: Any, size: int) -> Any:
        if self.device.type == "spyre" and size != self.nbytes():
            raise DeviceError(
                f"Trying to resize storage that is not resizable: a storage on {self.device} keeps"
                " its size; resize the tensor instead, x.resize_(...), which takes a new one"
            )
        return plain_resize(self, size)

    plain_resize = torch.UntypedStorage.resize_
    torch.UntypedStorage.resize_ = resize_  # type: ignore[method-assign]
    StorageBase.to, StorageBase.cpu, StorageBase.clone = to, cpu, clone
    torch.UntypedStorage.copy_ = copy_  # type: ignore[method-assign]
