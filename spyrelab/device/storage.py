"""Storages outside tensors: making one, and moving one to and fro."""

from __future__ import annotations

import numpy as np
import torch

from spyrelab.device.allocations import ENTRIES, Entry
from spyrelab.device.errors import DeviceError
from spyrelab.device.memory import MEMORY
from spyrelab.device.relayout import host_bytes, put_host_bytes

__all__ = [
    "clone_storage",
    "copy_storage",
    "new_storage",
    "storage_to_cpu",
    "storage_to_device",
]


def new_storage(nbytes: int) -> torch.UntypedStorage:
    """A storage on the device; the first tensor that takes all of it decides its layout."""
    return MEMORY.raw(nbytes).untyped_storage()


def storage_to_device(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Copy a CPU storage to the device."""
    made = new_storage(storage.nbytes())
    if storage.nbytes():
        content = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
        put_host_bytes(_entry(made), content)
    return made


def storage_to_cpu(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Copy a storage of the device to the host, in the host's order of elements."""
    made: torch.UntypedStorage = torch.zeros(storage.nbytes(), dtype=torch.uint8).untyped_storage()
    if storage.nbytes():
        view = torch.empty(0, dtype=torch.uint8).set_(made).numpy()
        view[:] = host_bytes(_entry(storage))
    return made


def clone_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Copy a storage of the device, layout and all."""
    entry = _entry(storage)
    made = MEMORY.tensor(entry.form).untyped_storage()
    new, memory, count = _entry(made), MEMORY.device, entry.form.device_bytes
    content = memory.bytes[entry.address : entry.address + count]
    memory.bytes[new.address : new.address + count] = content
    memory.mark_written(new.address, count)
    return made


def copy_storage(target: torch.UntypedStorage, source: torch.UntypedStorage) -> None:
    """Copy the bytes of one storage into another of the same size."""
    if target.nbytes() != source.nbytes():
        raise RuntimeError(
            f"cannot copy a storage of {source.nbytes()} bytes into one of {target.nbytes()}"
        )
    if not source.nbytes():
        return
    if source.device.type == "spyre":
        content = host_bytes(_entry(source))
    else:
        content = torch.empty(0, dtype=torch.uint8).set_(source).numpy()
    if target.device.type == "spyre":
        put_host_bytes(_entry(target), np.asarray(content))
    else:
        torch.empty(0, dtype=torch.uint8).set_(target).numpy()[:] = content


def _entry(storage: torch.UntypedStorage) -> Entry:
    found = ENTRIES.get(storage.data_ptr())
    if found is None:
        raise DeviceError(f"a storage at {storage.data_ptr():#x} is none of device 'spyre'")
    return found
