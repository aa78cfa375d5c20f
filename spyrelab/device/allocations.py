"""Which allocation a tensor lies in: the registry that layouts are kept in.

A Python attribute on a tensor does not survive ``detach``, ``view`` or ``save_for_backward``. An
allocation does: every alias of it has the same base address.
"""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.errors import DeviceError
from spyrelab.device.forms import Form
from spyrelab.layout import SpyreTensorLayout

__all__ = ["ENTRIES", "Entry", "entry_of"]


class Entry:
    """One allocation.

    Attributes
    ----------
    form : Form
        Its size, strides, type and layout.
    address : int
        Byte address in device memory.
    """

    __slots__ = ("address", "form")

    def __init__(self, form: Form, address: int) -> None:
        self.form, self.address = form, address

    @property
    def layout(self) -> SpyreTensorLayout | None:
        """The device layout; None for linear memory of a type that layouts do not know."""
        return self.form.layout

    @property
    def host_size(self) -> tuple[int, ...]:
        """Size of the tensor that the allocation was made for."""
        return self.form.size

    @property
    def host_stride(self) -> tuple[int, ...]:
        """Its strides."""
        return self.form.stride

    @property
    def dtype(self) -> torch.dtype:
        """Its type."""
        return self.form.dtype


ENTRIES: dict[int, Entry] = {}
"""Base address, as ``untyped_storage().data_ptr()`` gives it: the live allocation there."""


def entry_of(tensor: torch.Tensor) -> Entry:
    """The allocation that a tensor lies in.

    Raises
    ------
    DeviceError
        The memory is not ours.
    """
    # A tensor without elements has no data pointer; 0 is no key.
    offset: Any = tensor.storage_offset()
    found = ENTRIES.get(tensor.data_ptr() - offset * tensor.element_size())
    if found is None:
        found = ENTRIES.get(tensor.untyped_storage().data_ptr())
    if found is None:
        raise DeviceError(
            f"a tensor of size {list(tensor.shape)} on {tensor.device} lies in no allocation of"
            " device 'spyre'"
        )
    return found
