"""Asking how long launches would take, without running them."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from spyrelab.device import clock
from spyrelab.timing import Estimate

__all__ = ["Dry", "DryLaunch", "arm", "current", "dry"]


@dataclass(frozen=True)
class DryLaunch:
    """A launch that was not run; ``lx_peak`` is bytes, on the core that uses most."""

    name: str
    estimate: Estimate
    lx_peak: int = 0


class Dry:
    """What the launches of a block would take.

    Attributes
    ----------
    launches : list of DryLaunch
        Of Triton kernels; none of them ran. Operations of torch do run, and count as well.
    """

    def __init__(self) -> None:
        self.launches: list[DryLaunch] = []
        self._start = clock.mark()
        self._others: list[clock.Launch] | None = None

    def note(self, name: str, estimate: Estimate, lx_peak: int = 0) -> None:
        """Add a launch."""
        self.launches.append(DryLaunch(name, estimate, lx_peak))

    def close(self) -> None:
        """Stop counting what torch itself launches."""
        self._others = clock.since(self._start)

    @property
    def seconds(self) -> float:
        """Predicted device time of everything so far."""
        others = clock.since(self._start) if self._others is None else self._others
        # Added up, not subtracted from the clock: equal launches take equal times to the last bit.
        spent = [float(launch.estimate.seconds) for launch in self.launches]
        return math.fsum([*spent, *map(clock.seconds_of, others)])

    @property
    def milliseconds(self) -> float:
        """The same, as tuners count."""
        return self.seconds * 1e3

    def __repr__(self) -> str:
        return f"Dry({len(self.launches)} launches, {self.seconds * 1e6:,.1f} us)"


class _State(threading.local):
    inner: Dry | None = None
    armed: tuple[Dry, FrameType] | None = None


_state = _State()


@contextmanager
def dry() -> Iterator[Dry]:
    """Predict the launches of Triton kernels in a ``with`` block instead of running them.

    Blocks nest: each launch counts in the innermost one. Other threads run on as ever.

    Yields
    ------
    Dry
        ``seconds``, ``milliseconds``, ``launches``.
    """
    before = _state.inner
    made = _state.inner = Dry()
    try:
        yield made
    finally:
        _state.inner = before
        made.close()


def arm(frame: FrameType) -> Dry:
    """The same for as long as a function is being called: the one whose frame is given."""
    made = Dry()
    _state.armed = made, frame
    return made


def current() -> Dry | None:
    """The block that launches of this thread are in, if any."""
    if _state.inner is not None:
        return _state.inner
    if _state.armed is None:
        return None
    made, frame = _state.armed
    caller: FrameType | None = sys._getframe()
    while caller is not None:
        if caller is frame:
            return made
        caller = caller.f_back
    _state.armed = None
    return None
