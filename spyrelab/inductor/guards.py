"""A compiled function is for inputs in the device layouts that it was compiled with."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.guards import GuardBuilder
from torch.utils.weak import TensorWeakRef

from spyrelab.layout import SpyreTensorLayout

__all__ = ["chosen_layout", "install"]


def chosen_layout(tensor: torch.Tensor) -> SpyreTensorLayout | None:
    """The layout of a device tensor; None if it is what its allocation has by default.

    So the default layout of any size is the same to a guard, and a dynamic shape stays dynamic.
    """
    from spyrelab.device.allocations import entry_of
    from spyrelab.device.forms import form_of

    form = entry_of(tensor).form
    default = form_of(form.size, form.stride, form.dtype)
    return None if form is default or form.layout == default.layout else form.layout


def _has_layout(layout: SpyreTensorLayout | None) -> Any:
    def check(value: Any) -> bool:
        return (
            not isinstance(value, torch.Tensor)
            or value.device.type != "spyre"
            or chosen_layout(value) == layout
        )

    return check


def install() -> None:
    """Let every guard of a device tensor look at the layout too."""
    plain: Any = GuardBuilder.TENSOR_MATCH

    def tensor_match(self: Any, guard: Any, value: Any = None) -> None:
        plain(self, guard, value)
        tensor = value() if isinstance(value, TensorWeakRef) else value
        tensor = tensor if tensor is not None else self.get(guard)
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != "spyre":
            return
        if isinstance(tensor, torch._subclasses.FakeTensor):
            return
        layout = chosen_layout(tensor)
        text = f"device layout of {self.arg_ref(guard)} is {layout or 'the default'}"
        manager = self.get_guard_manager(guard)
        manager.add_lambda_guard(_has_layout(layout), [text], guard.user_stack)

    tensor_match.__name__ = plain.__name__
    GuardBuilder.TENSOR_MATCH = tensor_match  # type: ignore[method-assign]
