"""What ran on the card while somebody watched, with its predicted time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spyrelab.device import clock

__all__ = ["Kernel", "Recording", "Timeline", "last_timeline", "record"]


@dataclass(frozen=True)
class Kernel:
    """One launch.

    Attributes
    ----------
    op : str
        The operation that it ran for.
    name : str
        Its function.
    start, seconds : float
        On the emulated clock, from the start of the timeline.
    estimate : timing.Estimate
    """

    op: str
    name: str
    start: float
    seconds: float
    estimate: Any

    @property
    def end(self) -> float:
        """When it is done."""
        return self.start + self.seconds


@dataclass(frozen=True)
class Timeline:
    """Launches one after another, as the card runs them.

    >>> with spyrelab.record() as r:           # doctest: +SKIP
    ...     y = model(x)
    >>> r.timeline.to_perfetto("model.json")   # doctest: +SKIP
    """

    kernels: tuple[Kernel, ...]

    @property
    def seconds(self) -> float:
        """Predicted device time from the first start to the last end."""
        return sum(kernel.seconds for kernel in self.kernels)

    def to_perfetto(self, path: str | Path) -> None:
        """Write a Trace Event JSON for https://ui.perfetto.dev."""
        document = {"traceEvents": trace_events(self.kernels), "displayTimeUnit": "ns"}
        Path(path).write_text(json.dumps(document) + "\n", encoding="utf-8")

    def plot(self, ax: Any = None) -> Any:
        """Draw one bar per launch, a lane per operation; returns the axes."""
        import matplotlib.pyplot as plt

        from spyrelab.viz.style import style

        names = list(dict.fromkeys(kernel.op for kernel in self.kernels))
        with style():
            if ax is None:
                _, ax = plt.subplots(figsize=(9, 0.8 + 0.3 * len(names)))
            for lane, name in enumerate(names):
                mine = [k for k in self.kernels if k.op == name]
                spans = [(k.start * 1e6, k.seconds * 1e6) for k in mine]
                ax.broken_barh(spans, (lane - 0.4, 0.8))
            ax.set_yticks(range(len(names)), names)
            ax.invert_yaxis()
            ax.set_xlabel("time on the emulated clock (µs)")
            ax.set_ylabel("operation")
            ax.set_title(f"{len(self.kernels)} launches, {self.seconds * 1e6:,.1f} µs")
        return ax

    def __repr__(self) -> str:
        return f"Timeline({len(self.kernels)} kernels, {self.seconds * 1e6:,.1f} us)"


class Recording:
    """Launches since `record` was entered; complete once it is left."""

    def __init__(self) -> None:
        self._start = clock.mark()
        self._launches: list[clock.Launch] | None = None
        self._timeline: Timeline | None = None

    def close(self) -> None:
        """Take what has been launched so far as all there is."""
        self._launches = clock.since(self._start)

    @property
    def timeline(self) -> Timeline:
        """The launches, laid end to end."""
        if self._launches is None:
            return _timeline(clock.since(self._start))
        if self._timeline is None:
            self._timeline = _timeline(self._launches)
        return self._timeline

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The launches, in order."""
        return self.timeline.kernels

    @property
    def seconds(self) -> float:
        """Predicted device time of all launches; the host's own time is no part of it."""
        return self.timeline.seconds

    def __repr__(self) -> str:
        return f"Recording({self.timeline!r})"


_last: Recording | None = None


@contextmanager
def record() -> Iterator[Recording]:
    """Record what runs on the device inside a ``with`` statement.

    Yields
    ------
    Recording
        ``seconds`` (predicted device time), ``kernels``, ``timeline``.
    """
    global _last
    clock.keep(1)
    made = Recording()
    try:
        yield made
    finally:
        made.close()
        clock.keep(-1)
        _last = made


def last_timeline() -> Timeline:
    """The timeline of the last recording, or of the last launch where there was no recording."""
    if _last is not None:
        return _last.timeline
    launch = clock.last_launch()
    return _timeline([launch] if launch is not None else [])


def _timeline(launches: list[clock.Launch]) -> Timeline:
    kernels, start = [], 0.0
    for launch in launches:
        made = clock.estimate_of(launch)
        name = launch.program.function.name
        kernels.append(Kernel(launch.op or name, name, start, made.seconds, made))
        start += made.seconds
    return Timeline(tuple(kernels))


def trace_events(
    kernels: tuple[Kernel, ...], process: Any = 0, shift: float = 0.0
) -> list[dict[str, Any]]:
    """Trace events of launches, in microseconds, moved by ``shift``."""
    named = {"ph": "M", "name": "process_name", "pid": process, "args": {"name": "spyre:0"}}
    events: list[dict[str, Any]] = [named]
    for kernel in kernels:
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": kernel.name,
                "pid": process,
                "tid": 0,
                "ts": shift + kernel.start * 1e6,
                "dur": kernel.seconds * 1e6,
                "args": {"op": kernel.op, "bound by": kernel.estimate.bottleneck},
            }
        )
    return events
