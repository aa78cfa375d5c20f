"""Saving and loading: ``torch.save`` writes host bytes, ``torch.load`` brings them back."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.errors import DeviceError

__all__ = ["register"]

_PRIORITY = 5
"""Before the CPU's, which takes everything."""


def register() -> None:
    """Let files name the location "spyre:0", and ``map_location`` too."""
    torch.serialization.register_package(_PRIORITY, _tag, _restore)


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
