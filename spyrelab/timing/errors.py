"""What the timing model refuses, and why."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = ["MeasurementError", "TimingError", "UnknownValueError"]


class TimingError(SpyreLabError, ValueError):
    """A program or a request that cannot be timed."""


class UnknownValueError(TimingError):
    """A trip count, branch or address that depends on a value that was not given."""


class MeasurementError(TimingError):
    """A measurement file that cannot be read; the message gives the row."""
