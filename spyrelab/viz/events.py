"""Segments of an estimate as single events, repeats of loops unrolled up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spyrelab.timing import Estimate
from spyrelab.timing.nodes import Engine, Step
from spyrelab.timing.schedule import Segment

__all__ = ["Event", "bandwidth", "engine_events", "scratchpad"]

MOST_EVENTS = 100_000
"""Beyond this the middle of long loops is shown as one event."""


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


def engine_events(estimate: Estimate, cores: int | None = None) -> list[Event]:
    """Events of the first ``cores`` cores (default all), by core, engine and start."""
    count = min(cores or estimate.card.cores, estimate.card.cores)
    segments = estimate.schedule.segments
    total = sum(segment.repeats for segment in segments) * count
    limit = None if total <= MOST_EVENTS else max(4, MOST_EVENTS // (len(segments) * count))
    found = [e for s in segments for core in range(count) for e in _unroll(s, core, limit)]
    found.sort(key=lambda e: (e.core, e.engine, e.start, e.end))
    return found


def _unroll(segment: Segment, core: int, limit: int | None) -> Iterator[Event]:
    start, end = float(segment.starts[core]), float(segment.ends[core])
    if end <= start:
        return
    step, period = segment.step, segment.period
    shift = 0.0 if period is None else float(period[core])
    if limit is None or segment.repeats <= limit or not shift:
        repeats = segment.repeats if shift else 1
        for number in range(repeats):
            offset = number * shift
            yield Event(core, step.engine, step, start + offset, end + offset)
        return
    head = limit - 2
    for number in range(head):
        yield Event(core, step.engine, step, start + number * shift, end + number * shift)
    last = segment.repeats - 1
    middle = last - head
    yield Event(
        core, step.engine, step, start + head * shift, end + (last - 1) * shift, times=middle
    )
    yield Event(core, step.engine, step, start + last * shift, end + last * shift)


def bandwidth(estimate: Estimate, bins: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Times (seconds) and bytes per second over the memory port, in equal bins."""
    edges = np.linspace(0.0, estimate.seconds, bins + 1)
    moved = np.zeros(bins)
    for segment in estimate.schedule.segments:
        active = segment.ends > segment.starts
        if not segment.step.port_bytes or not active.any():
            continue
        first = float(segment.starts[active].min())
        last = float(segment.ends[active].max())
        if segment.period is not None:
            last += float(segment.period[active].max()) * (segment.repeats - 1)
        share = np.clip(np.minimum(edges[1:], last) - np.maximum(edges[:-1], first), 0, None)
        total = share.sum()
        if total > 0:
            moved += share / total * segment.step.port_bytes * segment.repeats
    return edges[:-1], moved / np.diff(edges)


def scratchpad(estimate: Estimate, events: list[Event], core: int) -> list[tuple[float, int]]:
    """Bytes that one core's tile values occupy, as (seconds, bytes) changes.

    A value is alive from the start of what makes it to the end of its last use before it is
    made again; a product's stream is two buffers of each operand's step.
    """
    if estimate.plan is not None:
        work, steps = estimate.plan.contraction, int(estimate.plan.busy.steps)
        held = 2 * int((work.core_left_bytes + work.core_right_bytes) / steps)
        held = min(held, estimate.machine.lx_bytes)
        return [(0.0, held), (estimate.seconds, 0)]
    mine = sorted((e for e in events if e.core == core), key=lambda e: (e.start, e.end))
    alive: dict[object, tuple[float, float, int]] = {}
    spans: list[tuple[float, float, int]] = []
    for event in mine:
        for value in event.step.reads:
            if value in alive:
                start, end, size = alive[value]
                alive[value] = (start, max(end, event.end), size)
        for value in event.step.writes:
            if value in alive:
                spans.append(alive.pop(value))
            alive[value] = (event.start, event.end, _size(value, estimate.machine.stick_bytes))
    spans.extend(alive.values())
    return _steps(spans, estimate.machine.lx_bytes)


def _size(value: object, stick: int) -> int:
    from spyrelab.ktir import TensorType, Value

    kind = value.type if isinstance(value, Value) else None
    if not isinstance(kind, TensorType) or None in kind.shape:
        return 0
    count = 1
    for extent in kind.shape:
        count *= extent or 1
    return -(-count * kind.element.itemsize // stick) * stick


def _steps(spans: list[tuple[float, float, int]], capacity: int) -> list[tuple[float, int]]:
    changes: dict[float, int] = {}
    for start, end, size in spans:
        changes[start] = changes.get(start, 0) + size
        changes[end] = changes.get(end, 0) - size
    held, found = 0, []
    for time in sorted(changes):
        held += changes[time]
        found.append((time, min(held, capacity)))
    return found
