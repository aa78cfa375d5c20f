"""Device tensors as programs see them: element type, place of every element, and an address."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.allocations import entry_of
from spyrelab.opspec.operand import Operand

__all__ = ["operand_of"]


def operand_of(tensor: torch.Tensor) -> tuple[Operand | None, int]:
    """What a program needs to know about a tensor, and the byte address to give it at launch.

    Returns
    -------
    operand : Operand or None
        None where no program can read the tensor: it has no elements, a type that the device
        does not know, or a view that is not affine in device memory. Copy it then.
    address : int
        Device byte address of its first element.
    """
    entry = entry_of(tensor)
    offset: Any = tensor.storage_offset()
    place = entry.form.place(tensor.dtype, tensor.shape, tensor.stride(), offset)
    return place.operand, entry.address + place.start
