"""Streams and events on the emulated clock.

The card runs one program after another, so all streams share one queue: work on any of them is
in order, and waiting costs nothing. Events measure emulated device time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import torch

from spyrelab.device import clock

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "default_stream",
    "set_stream",
    "stream",
    "synchronize",
]


class Stream:
    """A queue of work on the card.

    Parameters
    ----------
    device, priority
        As for torch.cuda.Stream; the priority changes nothing.
    """

    _made = 0

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = torch.device("spyre", 0)
        self.priority = priority
        Stream._made += 1
        self.stream_id = Stream._made
        self._before: list[Stream] = []

    def synchronize(self) -> None:
        """Wait for the work of this stream: it is done."""

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event: it does."""

    def wait_stream(self, stream: Stream) -> None:
        """Let later work wait for another stream: it does."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one by default."""
        made = event if event is not None else Event(enable_timing=True)
        made.record(self)
        return made

    def __enter__(self) -> Self:
        self._before.append(current_stream())
        set_stream(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        set_stream(self._before.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.spyre.Stream(device={self.device}, stream_id={self.stream_id})"


class Event:
    """A moment in the card's work.

    Parameters
    ----------
    enable_timing : bool
        Whether `elapsed_time` may be asked for.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        if interprocess:
            raise RuntimeError("device 'spyre' has no events between processes")
        self.enable_timing = enable_timing
        self._mark: clock.Mark | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Take the present moment."""
        self._mark = clock.mark()

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for this event: it does."""

    def query(self) -> bool:
        """Whether everything before this event is done."""
        return True

    def synchronize(self) -> None:
        """Wait for this event: it is there."""

    def elapsed_time(self, end_event: Event) -> float:
        """Emulated milliseconds of device time from this event to ``end_event``.

        Raises
        ------
        ValueError
            One of the two was made without timing.
        RuntimeError
            One of the two was never recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._mark is None or end_event._mark is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._mark.seconds - self._mark.seconds) * 1e3

    def __repr__(self) -> str:
        state = "unrecorded" if self._mark is None else f"{self._mark.seconds * 1e6:.1f} us"
        return f"torch.spyre.Event({state})"


_default = Stream.__new__(Stream)
_default.device, _default.priority, _default.stream_id = torch.device("spyre", 0), 0, 0
_default._before = []
_current = threading.local()


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to unless told otherwise."""
    return _default


def current_stream(device: Any = None) -> Stream:
    """The stream of this thread."""
    return getattr(_current, "stream", _default)


def set_stream(stream: Stream) -> None:
    """Choose the stream of this thread."""
    _current.stream = stream


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[Stream | None]:
    """Choose the stream of this thread for a while."""
    before = current_stream()
    if stream is not None:
        set_stream(stream)
    try:
        yield stream
    finally:
        set_stream(before)


def synchronize(device: Any = None) -> None:
    """Wait for all work on the device: a launch returns when it is done."""
