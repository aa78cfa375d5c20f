"""The one base class of every error that SpyreLab raises on purpose."""

from __future__ import annotations

__all__ = ["SpyreLabError", "UsageError"]


class SpyreLabError(Exception):
    """A mistake that the reader can act on: the message says what is wrong, where, and what to do.

    The command line prints it as one line and exits with code 2; anything else that escapes is
    a fault of SpyreLab itself.
    """


class UsageError(SpyreLabError, ValueError):
    """A command or a setting was given a value that it does not take."""
