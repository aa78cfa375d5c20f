"""What a worker says: events that carry its secret, and what answers print past Python."""

from __future__ import annotations

import json
import sys
import threading
from queue import Empty, SimpleQueue
from typing import IO, Any

__all__ = ["Events", "relay"]

RELAYED = 16_384
"""Bytes of a worker's standard error that are passed on; the rest is read and dropped."""


class Events:
    """The events of a worker; lines without its secret were written by an answer and are skipped.

    Parameters
    ----------
    stream : binary stream
        Standard output of the worker, one JSON object per line.
    secret : str
        What each event has to repeat.
    """

    def __init__(self, stream: IO[bytes], secret: str) -> None:
        self._secret = secret
        self._events: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def next(self, wait: float | None) -> dict[str, Any] | None:
        """The next event, or None after ``wait`` seconds (None: for ever) and at the end."""
        try:
            return self._events.get(timeout=wait)
        except Empty:
            return None

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            event = self._parse(line)
            if event:
                self._events.put(event)
        self._events.put(None)

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        try:
            event = json.loads(line)
        except ValueError:
            return None
        known = isinstance(event, dict) and event.get("secret") == self._secret
        return event if known else None


def relay(stream: IO[bytes]) -> threading.Thread:
    """Pass the beginning of a worker's standard error on, in a thread of its own."""
    thread = threading.Thread(target=_relay, args=(stream,), daemon=True)
    thread.start()
    return thread


def _relay(stream: IO[bytes]) -> None:
    left = RELAYED
    while block := stream.read1(65_536):  # type: ignore[attr-defined]
        if left:
            shown = block[:left].decode("utf-8", "replace")
            left -= min(left, len(block))
            sys.stderr.write(shown if left else f"{shown}\n(answers print more; it is left out)\n")
            sys.stderr.flush()
