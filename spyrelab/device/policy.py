"""What happens when an operation leaves the device: counted, warned about, or refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Literal, Self

from spyrelab.device import counts
from spyrelab.device.eager.recording import refuse
from spyrelab.device.errors import FallbackError

__all__ = ["Mode", "because", "fallback", "leave_device"]

Mode = Literal["count", "warn", "error"]
_MODES = ("count", "warn", "error")
_mode: Mode = "count"
_warned: set[str] = set()
_reason: ContextVar[str] = ContextVar("reason", default="no kernel")


class fallback:  # noqa: N801  # a function that can also be entered, as torch.no_grad
    """Choose what happens when an operation has no kernel on the device and runs on the CPU.

    The choice holds until the next one, or inside a ``with`` statement until its end.

    Parameters
    ----------
    mode : str
        ``"count"`` (the default): it shows in `op_counts`. ``"warn"``: also one warning per
        operation. ``"error"``: FallbackError instead, before anything is computed.
    """

    def __init__(self, mode: Mode) -> None:
        global _mode
        if mode not in _MODES:
            raise ValueError(f"fallback mode {mode!r} must be one of {', '.join(_MODES)}")
        self._before = _mode
        self.mode = mode
        _mode = mode
        _warned.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _mode
        _mode = self._before


@contextmanager
def because(reason: str) -> Iterator[None]:
    """Give the reason for operations that leave the device inside."""
    before = _reason.set(reason)
    try:
        yield
    finally:
        _reason.reset(before)


def leave_device(name: str) -> None:
    """Note that ``name`` is about to run on the CPU.

    Raises
    ------
    FallbackError
        In mode ``"error"``.
    """
    refuse(f"{name} has no kernel on the device for these operands")
    if _mode == "error":
        raise FallbackError(
            f"{name} has no kernel on device 'spyre' for these operands and falling back to the"
            ' CPU is forbidden; allow it with torch.spyre.fallback("count")'
        )
    counts.fallback(name, _reason.get())
    if _mode == "warn" and name not in _warned:
        _warned.add(name)
        warnings.warn(f"{name} ran on the CPU: device 'spyre' has no kernel for it", stacklevel=4)
