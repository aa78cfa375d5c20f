"""What can go wrong between a Triton kernel and the card."""

from __future__ import annotations

from spyrelab.device.errors import DeviceError
from spyrelab.errors import SpyreLabError

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "GridError",
    "TritonError",
    "TritonVersionError",
    "UnsupportedKernelError",
    "WrongDeviceError",
]


class TritonError(SpyreLabError):
    """A kernel, or a launch of one, that the card cannot do."""


class TritonVersionError(TritonError, ImportError):
    """Triton is missing, of an untested version, or lacks a name that the backend relies on."""


class UnsupportedKernelError(TritonError, NotImplementedError):
    """A kernel uses something that has no meaning on the card.

    Parameters
    ----------
    message
        What it is.
    place
        ``file:line:column`` in the kernel's source, or empty.
    advice
        What to use instead.
    """

    def __init__(self, message: str, place: str = "", advice: str = "") -> None:
        super().__init__(message, place, advice)
        self.message, self.place, self.advice = message, place, advice

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"; {self.advice}" if self.advice else "")


class ArgumentError(TritonError, ValueError):
    """An argument of a launch has a value that the kernel cannot take."""


class ArgumentTypeError(TritonError, TypeError):
    """An argument of a launch is not of the type that the kernel was compiled for."""


class WrongDeviceError(TritonError, DeviceError):
    """A tensor given to a kernel does not lie on the card."""


class GridError(TritonError, ValueError):
    """A grid without programs, or with more than there can be."""
