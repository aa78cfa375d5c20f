"""Changing the layout of an allocation in place, under all of its views at once."""

from __future__ import annotations

import numpy as np
import torch

from spyrelab.device.allocations import Entry
from spyrelab.device.dtypes import BITS
from spyrelab.device.forms import Form, form_of, is_dense, linear_form, span
from spyrelab.device.memory import MEMORY
from spyrelab.layout import contiguous_strides, convert, element_offsets

__all__ = ["claim", "host_bytes", "make_linear", "put_host_bytes"]


def make_linear(entry: Entry) -> None:
    """Lay a tiled allocation out in the host's order."""
    form = entry.form
    if not form.tiled:
        return
    content = host_bytes(entry)
    MEMORY.move(entry, linear_form(form.size, form.stride, form.dtype))
    put_host_bytes(entry, content)


def claim(entry: Entry, dtype: torch.dtype, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
    """Give raw bytes the default layout of the first tensor that is set to all of them.

    This is how loaded and unpickled tensors become tiled: torch makes their storage first.
    """
    if not entry.form.raw or not is_dense(size, stride):
        return
    if span(size, stride) * dtype.itemsize != entry.form.host_bytes or 0 in size:
        return
    form = form_of(size, stride, dtype)
    content = host_bytes(entry)
    MEMORY.move(entry, form)
    put_host_bytes(entry, content)


def host_bytes(entry: Entry) -> np.ndarray:
    """A copy of an allocation as the bytes that the host's own strides describe."""
    form, memory = entry.form, MEMORY.device
    if not form.tiled:
        return memory.bytes[entry.address : entry.address + form.host_bytes].copy()
    content = _device_elements(entry)[_offsets(form)]
    if form.layout is not None and form.layout.dtype == "df16":
        content = convert(content, "df16", "f16")
    return content.view(np.uint8)


def put_host_bytes(entry: Entry, content: np.ndarray) -> None:
    """Fill an allocation with the bytes that the host's own strides describe."""
    form, memory = entry.form, MEMORY.device
    count = form.device_bytes
    if not form.tiled:
        memory.bytes[entry.address : entry.address + form.host_bytes] = content
    else:
        elements = np.ascontiguousarray(content).view(BITS[form.dtype.itemsize])
        if form.layout is not None and form.layout.dtype == "df16":
            elements = convert(elements, "f16", "df16")
        memory.bytes[entry.address : entry.address + count] = 0
        _device_elements(entry)[_offsets(form)] = elements
    memory.mark_written(entry.address, count)


def _device_elements(entry: Entry) -> np.ndarray:
    width = entry.form.dtype.itemsize
    count = entry.form.device_bytes // width
    return np.ndarray((count,), BITS[width], MEMORY.device.bytes, entry.address)


def _offsets(form: Form) -> np.ndarray:
    """The device element of every host element, in host order."""
    assert form.layout is not None
    extent = form.host_bytes // form.dtype.itemsize
    return element_offsets(form.layout, (extent,), contiguous_strides((extent,)))
