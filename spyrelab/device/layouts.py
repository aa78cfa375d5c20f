"""``x.to("spyre", device_layout=...)`` and ``x.device_tensor_layout()``."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.errors import DeviceError
from spyrelab.device.internals import parse_to, uninitialised

__all__ = ["device_tensor_layout", "patch"]


def device_tensor_layout(tensor: torch.Tensor) -> Any:
    """How the allocation that a tensor lies in is laid out in device memory.

    Views share the allocation, so they share the answer.

    Returns
    -------
    SpyreTensorLayout

    Raises
    ------
    DeviceError
        The tensor is not on the device.
    LayoutError
        It has a type that device layouts do not know, such as float64; it is linear then.
    """
    if tensor.device.type != "spyre":
        raise DeviceError(f"a tensor on {tensor.device} has no device layout; only spyre has")
    from spyrelab.device.allocations import entry_of
    from spyrelab.layout import SpyreTensorLayout

    entry = entry_of(tensor)
    if entry.layout is not None:
        return entry.layout
    return SpyreTensorLayout.linear(tensor.shape, str(tensor.dtype), tensor.stride())


def with_layout(tensor: torch.Tensor, layout: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """A copy of a tensor on the device in a chosen layout; differentiable like ``to``."""
    from spyrelab.device.kernels import load

    load()
    from spyrelab.device.factories import allocate
    from spyrelab.layout import SpyreTensorLayout

    device, dtype, _, _ = parse_to(*args, **kwargs)
    device = device if device is not None else tensor.device
    if device.type != "spyre":
        raise DeviceError(
            f"device_layout describes memory of device 'spyre', not of {device}: write"
            ' x.to("spyre", device_layout=...)'
        )
    if not isinstance(layout, SpyreTensorLayout):
        raise DeviceError(
            f"device_layout {layout!r} has to be a SpyreTensorLayout, such as"
            " SpyreTensorLayout.default(x.shape); leave it out for the default layout"
        )
    target = allocate(tensor.shape, None, dtype or tensor.dtype, layout)
    return target.copy_(tensor)


def patch() -> None:
    """Add both to torch.Tensor."""
    plain: Any = torch.Tensor.to

    def to(self: torch.Tensor, *args: Any, device_layout: Any = None, **kwargs: Any) -> Any:
        if device_layout is None:
            return plain(self, *args, **kwargs)
        return with_layout(self, device_layout, *args, **kwargs)

    to.__doc__ = plain.__doc__
    uninitialised._allowed_methods.append(to)
    torch.Tensor.to = to  # type: ignore[method-assign, assignment]
    torch.Tensor.device_tensor_layout = device_tensor_layout  # type: ignore[attr-defined]
