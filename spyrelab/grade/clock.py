"""The time limit of a test, which does not count what the emulator needs to get ready."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_listeners: list[Callable[[bool], None]] = []


class TimeLimitError(BaseException):
    """An answer ran too long; no ``except Exception`` of the answer catches it."""


def time_out(seconds: float) -> str:
    """The message for an answer that was stopped."""
    return f"stopped after {seconds:g} s; is there a loop that does not end?"


def on_pause(listener: Callable[[bool], None]) -> None:
    """Call ``listener`` with True when the clock stops, and with False when it goes on."""
    _listeners.append(listener)


@contextmanager
def off_the_clock() -> Iterator[None]:
    """Stop the clock for a while."""
    alarms = hasattr(signal, "setitimer") and _in_main_thread()
    left = signal.setitimer(signal.ITIMER_REAL, 0)[0] if alarms else 0.0
    for listener in _listeners:
        listener(True)
    try:
        yield
    finally:
        for listener in _listeners:
            listener(False)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitError` after ``seconds``.

    Only where the system has alarms, in the main thread, and between two Python instructions:
    ``spyrelab grade`` also watches from another process.
    """
    if not hasattr(signal, "setitimer") or not _in_main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
