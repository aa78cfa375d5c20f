"""Why a program for an operation cannot be built."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = ["OpSpecError", "Unsuitable", "Unsupported"]


class OpSpecError(SpyreLabError, ValueError):
    """A mistake in how an operation was asked for."""


class Unsuitable(OpSpecError):  # noqa: N818 - an answer more than an error
    """An operand lies in memory in a way that a program cannot use.

    `spyrelab.opspec.compile` answers by copying that operand into a temporary in the default
    layout (or the result out of one), on the device.

    Attributes
    ----------
    position : int
        Which operand: inputs first, then outputs.
    reason : str
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"operand {position} cannot be used where it lies: {reason}")
        self.position = position
        self.reason = reason


class Unsupported(OpSpecError):  # noqa: N818 - an answer more than an error
    """There is no program for this operation, these types or these attributes.

    The device answers by computing on the host, and counts that.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"not available on the device: {reason}")
        self.reason = reason
