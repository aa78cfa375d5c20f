"""How many cards there are."""

from __future__ import annotations

import torch

__all__ = ["check_device"]


def check_device(device: torch.device | None) -> None:
    """Raise as torch does for a device number that does not exist."""
    if device is not None and device.index:
        raise torch.AcceleratorError(
            f"invalid device ordinal: spyre:{device.index}; this machine has one card, spyre:0"
            " (for several, run one process per card)"
        )
