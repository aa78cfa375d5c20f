"""Trace Event JSON of an estimate, for https://ui.perfetto.dev or chrome://tracing.

A process is a core, a thread is an engine.  The card's own process has the memory port's
bandwidth; every core has its scratchpad as a counter.  Arrows lead from the cores that give a
partial to the one that folds it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spyrelab.timing import Estimate
from spyrelab.timing.nodes import Engine
from spyrelab.viz.events import Event, bandwidth, engine_events, scratchpad

__all__ = ["trace_events", "write_trace"]

_CARD = 1000
_THREADS: dict[Engine, int] = {
    engine: number for number, engine in enumerate(Engine) if engine is not Engine.NONE
}


def write_trace(estimate: Estimate, path: str | Path, cores: int | None = None) -> None:
    """Write the trace of the first ``cores`` cores (default all)."""
    document = {
        "traceEvents": trace_events(estimate, cores),
        "displayTimeUnit": "ns",
        "otherData": {
            "function": estimate.name,
            "cycles": estimate.cycles,
            "seconds": estimate.seconds,
            "bottleneck": estimate.bottleneck,
        },
    }
    Path(path).write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def trace_events(estimate: Estimate, cores: int | None = None) -> list[dict[str, Any]]:
    """Every event as a plain dictionary; times in microseconds."""
    events = engine_events(estimate, cores)
    count = min(cores or estimate.card.cores, estimate.card.cores)
    found = [_name(_CARD, "card")]
    used = {event.engine for event in events}
    for core in range(count):
        found.append(_name(core, f"core {core}"))
        found.append({**_sort(core, core)})
        for engine in used:
            found.append(_thread(core, engine))
    found.extend(_slice(event) for event in events)
    found.extend(_flows(events))
    for time, rate in zip(*bandwidth(estimate), strict=True):
        found.append(_counter(_CARD, "DDR bandwidth", float(time), "GB/s", float(rate) / 1e9))
    for core in range(count):
        for time, held in scratchpad(estimate, events, core):
            found.append(_counter(core, "LX", time, "bytes", held))
    return found


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


def _flows(events: list[Event]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    by_core: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        if event.step.meets:
            by_core.setdefault((id(event.step), event.core), []).append(event)
    number = 0
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
