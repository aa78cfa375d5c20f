"""Segments of an estimate as single events, repeats of loops unrolled up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from spyrelab.timing import Estimate
from spyrelab.timing.nodes import Engine, Step
from spyrelab.timing.schedule import Segment

__all__ = ["MOST_EVENTS", "Event", "bandwidth", "engine_events"]

MOST_EVENTS = 100_000
"""As many as a viewer handles well."""


@dataclass(frozen=True)
class Event:
    """One stretch of work of one engine of one core, in seconds.

    ``times`` is above 1 where the middle of a loop is drawn as one event.
    """

    core: int
    engine: Engine
    step: Step
    start: float
    end: float
    times: int = 1


def engine_events(
    estimate: Estimate, cores: int | None = None, most: int = MOST_EVENTS
) -> list[Event]:
    """Events of the first ``cores`` cores (default all), by core, engine and start.

    Beyond about ``most`` events the middle of long loops is one event.
    """
    count = min(cores or estimate.card.cores, estimate.card.cores)
    segments = estimate.schedule.segments
    total = sum(segment.repeats for segment in segments) * count
    limit = None if total <= most else max(4, most // (len(segments) * count))
    found = [e for s in segments for core in range(count) for e in _unroll(s, core, limit)]
    found.sort(key=lambda e: (e.core, e.engine, e.start, e.end))
    return found if limit is None else _merged(found)


def _unroll(segment: Segment, core: int, limit: int | None) -> Iterator[Event]:
    start, end = float(segment.starts[core]), float(segment.ends[core])
    if end <= start:
        return
    blocks = [(0.0, end - start, 1)]
    for repeats, period in segment.levels:
        shift = float(period[core])
        if shift > 0:
            room = None if limit is None else limit // len(blocks)
            blocks = list(_repeated(blocks, repeats, shift, room))
    for offset, length, times in blocks:
        first = start + offset
        yield Event(core, segment.step.engine, segment.step, first, first + length, times)


Block = tuple[float, float, int]
"""Offset, length, and how many steps it stands for."""


def _repeated(blocks: list[Block], repeats: int, shift: float, room: int | None) -> Iterator[Block]:
    """Blocks again and again; the middle of too many is one block."""
    whole = room is None or repeats <= max(room, 3)
    head = repeats if whole else max(room or 0, 3) - 2
    for number in range(head):
        yield from ((o + number * shift, n, t) for o, n, t in blocks)
    if whole:
        return
    last = repeats - 1
    first, end = blocks[0][0] + head * shift, sum(blocks[-1][:2]) + (last - 1) * shift
    yield first, end - first, sum(t for _, _, t in blocks) * (last - head)
    yield from ((o + last * shift, n, t) for o, n, t in blocks)


def _merged(events: list[Event]) -> list[Event]:
    """Drawn as one: middles of a loop whose steps take turns on an engine."""
    found: list[Event] = []
    for event in events:
        before = found[-1] if found else event
        same = (before.core, before.engine) == (event.core, event.engine)
        if (
            same
            and before is not event
            and event.start < before.end
            and event.times + before.times > 2
        ):
            end, times = max(before.end, event.end), before.times + event.times
            found[-1] = replace(before, end=end, times=times)
        else:
            found.append(event)
    return found


def bandwidth(estimate: Estimate, bins: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Times (seconds) and bytes per second over the memory port, in equal bins.

    Where steps wait for each other's turn at the port, their bytes cross as fast as it takes
    them: no bin holds more than the port does.
    """
    edges = np.linspace(0.0, estimate.schedule.seconds, bins + 1)
    moved = np.zeros(bins)
    for segment in estimate.schedule.segments:
        active = segment.ends > segment.starts
        if not segment.step.port_bytes or not active.any():
            continue
        first = float(segment.starts[active].min())
        last = float((segment.ends + segment.extent)[active].max())
        share = np.clip(np.minimum(edges[1:], last) - np.maximum(edges[:-1], first), 0, None)
        total = share.sum()
        if total > 0:
            moved += share / total * segment.step.port_bytes * segment.repeats
    return edges[:-1], _levelled(moved, _most_per_bin(estimate, bins)) / np.diff(edges)


def _most_per_bin(estimate: Estimate, bins: int) -> float:
    rate = max(
        (
            segment.step.port_bytes / segment.step.port_seconds
            for segment in estimate.schedule.segments
            if segment.step.port_seconds > 0
        ),
        default=0.0,
    )
    # What the whole takes must have room.
    average = estimate.schedule.port_bytes / bins
    return max(rate * estimate.schedule.seconds / bins, average)


def _levelled(moved: np.ndarray, most: float) -> np.ndarray:
    """Bytes above what a bin takes go to the next bins, at the end to those before."""
    found = moved.copy()
    for order in (range(len(found)), reversed(range(len(found)))):
        over = 0.0
        for place in order:
            want = found[place] + over
            found[place] = min(want, most)
            over = want - found[place]
    return found
