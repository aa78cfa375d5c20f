"""Where kernels are entered into torch's dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device.internals import BOXED

__all__ = ["EVERY", "implement", "implement_for_now", "implemented", "replace"]

# torch forgets the kernels of a Library that is collected.
_Library: Any = torch.library.Library
_ATEN = _Library("aten", "IMPL")
EVERY = _Library(BOXED, "IMPL")
"""Enters fallbacks for every operation."""

implemented: set[tuple[str, str]] = set()
"""(operation without ``aten::``, dispatch key) of every kernel entered here."""

_replaceable: dict[str, Callable[..., Any]] = {}


def implement(name: str, kernel: Callable[..., Any], key: str = "PrivateUse1") -> None:
    """Make ``kernel`` the implementation of ``aten::name``: once, and for good."""
    _ATEN.impl(name, kernel, key)
    implemented.add((name, key))


def implement_for_now(name: str, kernel: Callable[..., Any]) -> None:
    """The same, for a kernel that `replace` may change later.

    torch frees a kernel that is overridden even while another thread runs it. So what torch gets
    stays, and looks up whom to call.
    """
    _replaceable[name] = kernel

    def run(*args: Any, **kwargs: Any) -> Any:
        return _replaceable[name](*args, **kwargs)

    implement(name, run)


def replace(name: str, kernel: Callable[..., Any]) -> None:
    """Change a kernel entered by `implement_for_now`; safe while other threads call it."""
    if name not in _replaceable:
        raise KeyError(f"aten::{name} was not entered by implement_for_now")
    _replaceable[name] = kernel
