"""What can go wrong with Helion kernels on the card."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = ["HelionError", "HelionVersionError", "TuningError"]


class HelionError(SpyreLabError, RuntimeError):
    """A Helion kernel cannot be run or tuned on the card as asked."""


class HelionVersionError(HelionError):
    """The installed Helion is not one that this package was written for."""


class TuningError(HelionError):
    """A kernel cannot be tuned: no configuration works, or what was asked for makes no sense."""
