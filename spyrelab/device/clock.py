"""The emulated clock: which programs ran, and how long the card would have taken.

A launch appends to a list; nothing is predicted until somebody asks, and then once per program.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Launch", "Mark", "estimate_of", "launched", "mark", "now", "since"]

_FOLD = 1 << 16
"""Launches kept in full; older ones are only their sum, unless a recording needs them."""


class Launch(NamedTuple):
    """One run of a program: what ran, for which operation, and when the host launched it.

    ``time`` is in nanoseconds of the epoch, and 0 unless a profiler watches.
    """

    program: Any
    args: Mapping[str, Any] | None
    op: str
    time: int = 0


_log: list[Launch] = []
_folded_count = 0
_folded_seconds = 0.0
_lock = threading.RLock()
_marks: weakref.WeakSet[Mark] = weakref.WeakSet()
_estimates: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
_unpredictable: weakref.WeakSet[Any] = weakref.WeakSet()
_kept = _watched = 0

_REMEMBERED = 1 << 10
"""Predictions kept of one program."""


class Mark:
    """A moment on the clock; its time is worked out when asked for."""

    __slots__ = ("__weakref__", "_seconds", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self._seconds: float | None = None

    @property
    def seconds(self) -> float:
        """Emulated seconds from the start of the process to this moment."""
        return self.resolve()

    def resolve(self) -> float:
        """Work the time out while the launches before this moment are still known."""
        with _lock:
            if self._seconds is None:
                recent = _log[: self.position - _folded_count]
                self._seconds = _folded_seconds + sum(seconds_of(launch) for launch in recent)
            return self._seconds


def launched(program: Any, args: Mapping[str, Any] | None = None, op: str = "") -> None:
    """Note that a program ran on the card.

    Parameters
    ----------
    program : emulator.Program
    args : mapping, optional
        Index arguments that its trip counts depend on; see `timing.estimate`.
    op : str
        The operation it ran for; default the name of its function.
    """
    _log.append(Launch(program, args, op, time.time_ns() if _watched else 0))
    if len(_log) > _FOLD and not _kept:
        _fold()


def mark() -> Mark:
    """The present moment."""
    with _lock:
        made = Mark(_folded_count + len(_log))
        _marks.add(made)
        return made


def now() -> float:
    """Emulated seconds since the start of the process."""
    return mark().seconds


def since(start: Mark) -> list[Launch]:
    """Launches after a mark, as far as they are still kept."""
    with _lock:
        return _log[max(start.position - _folded_count, 0) :]


def last_launch() -> Launch | None:
    """The most recent launch."""
    return _log[-1] if _log else None


def keep(more: int) -> None:
    """Hold (1) or let go (-1) the log in full: while a recording runs."""
    global _kept
    with _lock:
        _kept += more


def watch(more: int) -> None:
    """Begin (1) or end (-1) noting the host's time of every launch."""
    global _watched
    keep(more)
    with _lock:
        _watched += more


def estimate_of(launch: Launch) -> Any:
    """The predicted time of one launch.

    It is remembered by program, and by the ``key`` of the arguments where they have one: equal
    keys stand for equal contents.
    """
    known = _estimates.setdefault(launch.program, {})
    if launch.args is None:
        key: Any = None
    elif (key := getattr(launch.args, "key", None)) is None:
        return _estimated(launch)
    if key not in known:
        while len(known) >= _REMEMBERED:
            del known[next(iter(known))]
        known[key] = _estimated(launch)
    return known[key]


def _estimated(launch: Launch) -> Any:
    from spyrelab.ktir import Module
    from spyrelab.timing import estimate

    program = launch.program
    function = program.function
    module = Module((function,)) if not hasattr(program, "module") else program.module
    return estimate(module, launch.args, function.name, program.machine, cores=program.cores)


def seconds_of(launch: Launch) -> float:
    """Predicted seconds of one launch.

    Of a program whose time depends on what it finds while it runs, such as a lock, the launch
    itself counts, and a warning says so: the clock goes on.
    """
    from spyrelab.timing import CONSTANTS, UnknownValueError

    if launch.program in _unpredictable:
        return CONSTANTS.launch_seconds
    try:
        return float(estimate_of(launch).seconds)
    except UnknownValueError as error:
        _unpredictable.add(launch.program)
        name = launch.op or launch.program.function.name
        warnings.warn(
            f"the clock counts only the launch of {name}: {error}", RuntimeWarning, stacklevel=2
        )
        return CONSTANTS.launch_seconds


def _fold() -> None:
    global _folded_count, _folded_seconds
    with _lock:
        for moment in list(_marks):
            moment.resolve()
        old = _log[:-1024]
        _folded_seconds += sum(seconds_of(launch) for launch in old)
        _folded_count += len(old)
        del _log[: len(old)]
