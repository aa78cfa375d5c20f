"""What can go wrong when a graph is compiled for the device."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = ["CompileError"]


class CompileError(SpyreLabError, RuntimeError):
    """A graph cannot be compiled for the device as asked."""
