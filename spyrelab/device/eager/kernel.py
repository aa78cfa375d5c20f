"""Kernels as torch's dispatcher calls them: native where there is a program, else the fallback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device import counts, fallback
from spyrelab.device.library import implement
from spyrelab.device.policy import because
from spyrelab.opspec import Unsupported

__all__ = ["Kernel", "enter", "is_ours", "overload"]

Kernel = Callable[..., Any]


def overload(name: str) -> Any:
    """The overload called ``name``, such as "add.out" or "exp"."""
    packet, _, which = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), which or "default")


def enter(name: str, kernel: Kernel) -> None:
    """Make ``kernel`` the implementation of ``aten::name``, if torch has such an operation.

    The kernel raises Unsupported, before it writes anything, where it has no program; the
    operation then runs on the CPU and is counted as that.
    """
    try:
        op = overload(name)
    except AttributeError:
        return
    full = f"aten::{name}"

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            result = kernel(*args, **kwargs)
        except Unsupported as error:
            reason = error.reason
        else:
            counts.native(full)
            return result
        with because(reason):
            return fallback.call(op, *args, **kwargs)

    run.__name__ = name.replace(".", "_")
    implement(name, run)


def is_ours(tensor: torch.Tensor) -> bool:
    """Whether a tensor lies on the card."""
    return tensor.device.type == "spyre"
