"""Views: the CPU kernels only make another tensor over the same storage, so they serve us too."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.allocations import entry_of
from spyrelab.device.errors import DeviceError
from spyrelab.device.internals import CPU_KEYS, cpu_kernel
from spyrelab.device.library import implement

__all__ = ["register"]

_PLAIN = ("as_strided", "view", "_reshape_alias", "unfold", "view_as_real")


def register() -> None:
    """Enter the kernels of all views."""
    for name in _PLAIN:
        implement(name, _through_cpu(name))
    implement("view.dtype", _view_dtype)
    implement("view_as_complex", _view_as_complex)


def _through_cpu(name: str) -> Any:
    call, keys = cpu_kernel(name), CPU_KEYS

    def view(*args: Any) -> torch.Tensor:
        return call(keys, *args)

    return view


_RETYPE = _through_cpu("view.dtype")
_COMPLEX = _through_cpu("view_as_complex")


def _view_dtype(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype.itemsize != tensor.element_size():
        require_linear(tensor, dtype)
    return _RETYPE(tensor, dtype)


def require_linear(tensor: torch.Tensor, dtype: torch.dtype) -> None:
    """Raise DeviceError where elements of another size would run across sticks."""
    entry = entry_of(tensor)
    if entry.form.sticks:
        raise DeviceError(
            f"cannot view a tensor of {tensor.dtype} as {dtype}: it is tiled ({entry.layout}), so"
            " its elements do not follow each other in device memory; copy it into a linear"
            ' layout first: x.to("spyre", device_layout=SpyreTensorLayout.linear(x.shape,'
            " x.dtype))"
        )


def _view_as_complex(tensor: torch.Tensor) -> torch.Tensor:
    from spyrelab.device.relayout import make_linear

    make_linear(entry_of(tensor))
    return _COMPLEX(tensor)
