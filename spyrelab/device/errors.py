"""What can go wrong on the device, beyond what torch itself raises."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = ["DeviceError", "FallbackError", "TorchVersionError"]


class DeviceError(SpyreLabError, RuntimeError):
    """The device cannot do what was asked of it."""


class FallbackError(DeviceError, NotImplementedError):
    """An operation has no kernel on the device, and leaving the device was forbidden."""


class TorchVersionError(SpyreLabError, ImportError):
    """This torch lacks a name that the device is built on."""
