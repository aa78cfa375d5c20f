"""torch.profiler: our launches join the trace that it exports, at emulated device time.

Kineto, which collects device events, takes none from Python; so they are added to the file.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import torch

from spyrelab.device import clock

__all__ = ["merge", "patch"]

_PROCESS = "spyre:0"


def patch() -> None:
    """Let every torch.profiler.profile note what is launched while it runs."""
    profile: Any = torch.profiler.profile
    start, stop, export = (
        profile.start_trace, profile.stop_trace, profile.export_chrome_trace
    )  # fmt: skip

    def start_trace(self: Any) -> Any:
        self._spyre_start = clock.mark()
        clock.watch(1)
        return start(self)

    def stop_trace(self: Any) -> Any:
        if hasattr(self, "_spyre_start"):
            self._spyre_launches = clock.since(self._spyre_start)
            clock.watch(-1)
        return stop(self)

    def export_chrome_trace(self: Any, path: str) -> Any:
        result = export(self, path)
        merge(path, getattr(self, "_spyre_launches", []))
        return result

    profile.start_trace, profile.stop_trace = start_trace, stop_trace
    profile.export_chrome_trace = export_chrome_trace


def merge(path: str | Path, launches: list[clock.Launch]) -> None:
    """Add launches to a trace file: each begins when the host launched it, or when the launch
    before it ends."""
    if not launches:
        return
    packed = str(path).endswith(".gz")
    opener: Any = gzip.open if packed else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    document["traceEvents"] += device_events(launches, document.get("baseTimeNanoseconds", 0))
    with opener(path, "wt", encoding="utf-8") as file:
        json.dump(document, file)


def device_events(launches: list[clock.Launch], base: int) -> list[dict[str, Any]]:
    """Trace events of launches; ``base`` is the trace's zero in nanoseconds of the epoch."""
    named = {"name": _PROCESS, "labels": "emulated device time"}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": _PROCESS, "tid": 0, "args": named}
    ]
    free = 0.0
    for launch in launches:
        made = clock.estimate_of(launch)
        start = max((launch.time - base) / 1e3, free)
        free = start + made.seconds * 1e6
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": launch.program.function.name,
                "pid": _PROCESS,
                "tid": 0,
                "ts": start,
                "dur": made.seconds * 1e6,
                "args": {"op": launch.op, "bound by": made.bottleneck, "cycles": made.cycles},
            }
        )
    return events
