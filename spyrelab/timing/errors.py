"""What the timing model refuses, and why."""

from __future__ import annotations

import operator
from typing import Any

from spyrelab.errors import SpyreLabError

__all__ = ["MeasurementError", "TimingError", "UnknownValueError", "share", "whole"]


class TimingError(SpyreLabError, ValueError):
    """A program or a request that cannot be timed."""


class UnknownValueError(TimingError):
    """A trip count, branch or address that depends on a value that was not given."""


class MeasurementError(TimingError):
    """A measurement file that cannot be read; the message gives the row."""


def whole(name: str, value: Any, most: int | None = None) -> int:
    """A number of things, at least one.

    Raises
    ------
    TimingError
        Anything else.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TimingError(f"{name} = {value!r} is no whole number") from None
    if number < 1 or (most is not None and number > most):
        end = "" if most is None else f" and at most {most}"
        raise TimingError(f"{name} = {value!r} has to be at least 1{end}")
    return number


def share(value: Any) -> float:
    """The back end's share of the scratchpad.

    Raises
    ------
    TimingError
        Anything but a number between 0 and 1.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 1:
        raise TimingError(f"lx_backend_fraction = {value!r} is not a share between 0 and 1")
    return number
