"""What `estimate` returns."""

from __future__ import annotations

from functools import cached_property
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from spyrelab.ktir import Module
from spyrelab.machine import Machine
from spyrelab.timing.errors import whole
from spyrelab.timing.nodes import Engine
from spyrelab.timing.products import Plan
from spyrelab.timing.schedule import Schedule
from spyrelab.timing.transfers import Card

__all__ = ["UNITS", "Estimate"]

UNITS: dict[str, Engine | None] = {
    "port": None,
    "load": Engine.LOAD,
    "store": Engine.STORE,
    "pt": Engine.PT,
    "sfp": Engine.SFP,
    "lx": Engine.MOVE,
    "ring": Engine.RING,
    "sums": Engine.SUMS,
}
"""Units that `Estimate.busy` knows; ``port`` is the shared memory port of the card."""

_SAID = {
    "port": "DDR port",
    "load": "load engine of a core",
    "store": "stores",
    "pt": "matrix unit",
    "sfp": "vector unit",
    "lx": "scratchpad port",
    "ring": "data ring",
    "sums": "partial sums",
    "launch": "launch",
    "turns": "start of loop turns",
}


class Estimate:
    """The predicted time of one launch, and why.

    Attributes
    ----------
    schedule : Schedule
        Segments of every engine.
    counts : dict
        Counts per core, by the names of ``emulator.Counters`` (``ddr_read``, ...).
    plan : Plan or None
        The matrix product that the program is, if it is one.
    inexact : tuple of str
        Why counts may differ from the emulator's, such as indices that were not given.
        Empty: they are equal.
    turns : int
        Iterations of counted loops, one after the other.
    """

    def __init__(
        self,
        name: str,
        card: Card,
        made: Schedule,
        counts: dict[str, np.ndarray],
        plan: Plan | None,
        module: Module,
        function: str,
        inexact: tuple[str, ...] = (),
        turns: int = 0,
    ) -> None:
        self.name, self.card, self.schedule = name, card, made
        self.counts, self.plan = counts, plan
        self.module, self.function = module, function
        self.inexact, self.turns = inexact, turns

    @property
    def machine(self) -> Machine:
        return self.card.machine

    @property
    def cycles(self) -> int:
        """Core cycles from launch to the end of the last segment."""
        return max(1, round(self.schedule.seconds * self.machine.clock_hz))

    @property
    def seconds(self) -> float:
        """Profiled seconds: ``cycles`` at the core clock."""
        return self.cycles / self.machine.clock_hz

    @property
    def port_bytes(self) -> float:
        """Bytes that cross the memory port: multicast once, sticks whole, reloads included."""
        return self.schedule.port_bytes

    def busy_seconds(self, unit: str) -> float:
        """Seconds that a unit works, on the core where it works most."""
        if unit not in UNITS:
            raise KeyError(f"no unit {unit!r}; there are: {', '.join(UNITS)}")
        engine = UNITS[unit]
        if engine is None:
            return min(self.schedule.port_seconds, self.seconds)
        total = np.zeros(self.card.cores)
        for segment in self.schedule.segments:
            if segment.step.engine is engine:
                total += self._work(segment)
        return float(min(total.max(initial=0.0), self.seconds))

    def _work(self, segment: Any) -> np.ndarray:
        """Time that the engine itself needs, without waiting for the port."""
        if segment.step.engine is Engine.LOAD:
            own = np.maximum(segment.step.seconds, 0.0) * segment.repeats
            return np.minimum(own, segment.busy)
        return np.asarray(segment.busy)

    def busy(self, unit: str) -> float:
        """Share of the time that a unit works (0 to 1), on the core where it works most."""
        if unit in ("launch", "turns"):
            return self._overhead(unit)
        return self.busy_seconds(unit) / self.seconds

    def _overhead(self, unit: str) -> float:
        launch = self.card.constants.launch_seconds
        turns = self.turns * self.machine.loop_iteration_seconds
        return min(1.0, (launch if unit == "launch" else turns) / self.seconds)

    @property
    def bottleneck(self) -> str:
        """The unit that works the largest share of the time.

        ``launch`` if that takes most of it; ``turns`` if the starts of loop iterations take
        more than any unit.
        """
        if self.card.constants.launch_seconds > self.seconds / 2:
            return "launch"
        names = [*UNITS, "turns"]
        return max(names, key=lambda unit: (self.busy(unit), -names.index(unit)))

    @cached_property
    def lx_overflow(self) -> str | None:
        """Why the emulator refuses the program: its tiles need more scratchpad than there is."""
        from spyrelab.emulator import LoweringError, LxOverflowError, lower

        try:
            lower(self.module, self.function, self.machine, self.card.cores)
        except LxOverflowError as error:
            return str(error)
        except LoweringError:
            return None
        return None

    def describe(self, unit: str) -> str:
        """What a unit is called in a sentence."""
        return _SAID[unit]

    def explain(self) -> str:
        """What bounds the program, and what would help, in words."""
        from spyrelab.timing.explain import explain

        return explain(self)

    def to_perfetto(self, path: str | Path) -> None:
        """Write a Trace Event JSON for https://ui.perfetto.dev."""
        import_module("spyrelab.viz.perfetto").write_trace(self, path)

    def plot(self, ax: Any = None, cores: int = 4) -> Any:
        """Draw the timeline of the first cores; returns the axes."""
        drawn = whole("cores", cores)
        return import_module("spyrelab.viz.timeline").draw_timeline(self, ax, drawn)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "function": self.name,
            "cores": self.card.cores,
            "cycles": self.cycles,
            "seconds": self.seconds,
            "bottleneck": self.bottleneck,
            "busy": {unit: round(self.busy(unit), 6) for unit in UNITS},
            "port_bytes": self.port_bytes,
            "inexact": list(self.inexact),
            "counts": {name: int(values.sum()) for name, values in sorted(self.counts.items())},
        }

    def __repr__(self) -> str:
        return (
            f"Estimate(@{self.name}: {self.seconds * 1e6:,.1f} us, {self.cycles:,} cycles, "
            f"bound by the {self.describe(self.bottleneck)})"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(self.describe(unit))}</td><td>{self.busy(unit):.0%}</td></tr>"
            for unit in UNITS
            if self.busy(unit) > 0.001
        )
        drawn = import_module("spyrelab.viz.timeline_svg").timeline_svg(self)
        return f"<p>{escape(repr(self))}</p><table>{rows}</table>{drawn}"
