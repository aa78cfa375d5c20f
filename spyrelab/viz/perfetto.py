"""Trace Event JSON of an estimate, for https://ui.perfetto.dev or chrome://tracing.

A process is a core, a thread is an engine.  The card's own process has the memory port's
bandwidth; every core has its scratchpad as a counter.  Arrows lead from the cores that give a
partial to the one that folds it.  Several estimates in one file are groups of processes, side by
side: each starts at zero.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spyrelab.timing import Estimate
from spyrelab.timing.nodes import Engine
from spyrelab.viz.events import MOST_EVENTS, Event, bandwidth, engine_events
from spyrelab.viz.occupancy import scratchpad

__all__ = ["trace_events", "write_trace", "write_traces"]

_CARD = 1000
_GROUP = 2000
"""Process numbers of one estimate; more than any card has cores."""

_THREADS: dict[Engine, int] = {
    engine: number for number, engine in enumerate(Engine) if engine is not Engine.NONE
}


def write_trace(estimate: Estimate, path: str | Path, cores: int | None = None) -> None:
    """Write the trace of the first ``cores`` cores (default all)."""
    _write(path, trace_events(estimate, cores), _summary(estimate))


def write_traces(estimates: Mapping[str, Estimate], path: str | Path) -> None:
    """Write several estimates as one trace, a named group of processes each."""
    most = MOST_EVENTS // max(1, len(estimates))
    events: list[dict[str, Any]] = []
    for number, (name, estimate) in enumerate(estimates.items()):
        events += trace_events(estimate, None, f"{name} ", number * _GROUP, most)
    _write(path, events, {name: _summary(made) for name, made in estimates.items()})


def _write(path: str | Path, events: list[dict[str, Any]], about: dict[str, Any]) -> None:
    document = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    Path(path).write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def _summary(estimate: Estimate) -> dict[str, Any]:
    return {
        "function": estimate.name,
        "cycles": estimate.cycles,
        "seconds": estimate.seconds,
        "bottleneck": estimate.bottleneck,
    }


def trace_events(
    estimate: Estimate,
    cores: int | None = None,
    group: str = "",
    first: int = 0,
    most: int = MOST_EVENTS,
) -> list[dict[str, Any]]:
    """Every event as a plain dictionary; times in microseconds.

    Parameters
    ----------
    cores : int, optional
        Only the first so many.
    group, first : str, int
        What processes are called in front of ``core 3``, and the number of the first of them.
    most : int
        About how many events at most: the middle of longer loops is one event.
    """
    events = engine_events(estimate, cores, most)
    count = min(cores or estimate.card.cores, estimate.card.cores)
    found = [_name(_CARD, f"{group}card"), _sort(_CARD, first)]
    used = {event.engine for event in events}
    for core in range(count):
        found += [_name(core, f"{group}core {core}"), _sort(core, first + core + 1)]
        found.extend(_thread(core, engine) for engine in used)
    found.extend(_slice(event) for event in events)
    found.extend(_flows(events, first * MOST_EVENTS))
    for time, rate in zip(*bandwidth(estimate), strict=True):
        found.append(_counter(_CARD, "DDR bandwidth", float(time), "GB/s", float(rate) / 1e9))
    for core in range(count):
        for time, held in scratchpad(estimate, events, core):
            found.append(_counter(core, "LX", time, "bytes", held))
    return [{**entry, "pid": entry["pid"] + first} for entry in found]


def _name(process: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}


def _sort(process: int, index: int) -> dict[str, Any]:
    return {
        "ph": "M",
        "name": "process_sort_index",
        "pid": process,
        "args": {"sort_index": index},
    }


def _thread(process: int, engine: Engine) -> dict[str, Any]:
    return {
        "ph": "M",
        "name": "thread_name",
        "pid": process,
        "tid": _THREADS[engine],
        "args": {"name": engine.value},
    }


def _slice(event: Event) -> dict[str, Any]:
    step = event.step
    label = step.label if event.times == 1 else f"{step.label} x{event.times}"
    details: dict[str, Any] = {"port_bytes": step.port_bytes} if step.port_bytes else {}
    if step.operation is not None:
        details["operation"] = step.operation.name
        if step.operation.position is not None:
            details["line"] = step.operation.position.line
    return {
        "ph": "X",
        "name": label,
        "cat": event.engine.value,
        "pid": event.core,
        "tid": _THREADS[event.engine],
        "ts": event.start * 1e6,
        "dur": (event.end - event.start) * 1e6,
        "args": details,
    }


def _flows(events: list[Event], number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    by_core: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        if event.step.meets:
            by_core.setdefault((id(event.step), event.core), []).append(event)
    for (step, core), mine in by_core.items():
        group = next((g for g in mine[0].step.meets if core in g), ())
        for other in group:
            if int(other) == core:
                continue
            for event in mine:
                number += 1
                found.append(_flow("s", number, int(other), event, event.start))
                found.append(_flow("f", number, core, event, event.end))
        del step
    return found


def _flow(phase: str, number: int, core: int, event: Event, when: float) -> dict[str, Any]:
    entry = {
        "ph": phase,
        "id": number,
        "name": event.step.label,
        "cat": "ring",
        "pid": core,
        "tid": _THREADS[event.engine],
        "ts": when * 1e6,
    }
    return {**entry, "bp": "e"} if phase == "f" else entry


def _counter(process: int, name: str, when: float, unit: str, value: float) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": process, "ts": when * 1e6, "args": {unit: value}}
