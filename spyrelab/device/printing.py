"""Printing a tensor reads it once, instead of computing its format on the device."""

from __future__ import annotations

from typing import Any

from spyrelab.device.internals import tensor_printing

__all__ = ["patch"]


def patch() -> None:
    """Let torch format device tensors from a copy on the host."""
    plain = tensor_printing._tensor_str

    def tensor_str(self: Any, indent: int) -> Any:
        return plain(self.cpu() if self.device.type == "spyre" else self, indent)

    tensor_printing._tensor_str = tensor_str
