"""Saving and loading: ``torch.save`` writes host bytes, ``torch.load`` brings them back.

Queues between processes carry copies: the memory of a card belongs to one process.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_storage

from spyrelab.device.errors import DeviceError

__all__ = ["register"]

_PRIORITY = 5
"""Before the CPU's, which takes everything."""


def register() -> None:
    """Let files name the location "spyre:0", and ``map_location`` too; let queues carry it."""
    torch.serialization.register_package(_PRIORITY, _tag, _restore)
    ForkingPickler.register(torch.UntypedStorage, _reduce)


def _reduce(storage: Any) -> Any:
    if storage.device.type != "spyre":
        plain: Any = reduce_storage
        return plain(storage)
    # A failure here would only end the queue's own thread, and the reader would wait for ever.
    return _arrive, (storage.cpu(),)


def _arrive(storage: Any) -> Any:
    return storage.to(device="spyre")


def _tag(storage: Any) -> str | None:
    return "spyre:0" if storage.device.type == "spyre" else None


def _restore(storage: Any, location: str) -> Any:
    kind, _, number = str(location).partition(":")
    if kind != "spyre":
        return None
    if number not in ("", "0"):
        raise DeviceError(
            f"the file asks for device {location}, and this machine has one card: load it with"
            ' map_location="spyre"'
        )
    untyped = getattr(storage, "_untyped_storage", storage)
    return untyped if untyped.device.type == "spyre" else untyped.to(device="spyre")
