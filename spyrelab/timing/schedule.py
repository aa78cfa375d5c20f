"""List scheduling of steps on the engines of all cores, with one shared memory port.

Every clock is an array over cores.  A step starts when its engine, its operands and its
buffer are free; loads of the next iteration go ahead of the work of this one.  Cores share
the port in step: a load ends when its core has taken it in and the port has served everybody.
Loops are run until an iteration only shifts every clock, then moved on at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spyrelab.ktir import Value
from spyrelab.timing.contraction import combine
from spyrelab.timing.nodes import Engine, Iterations, Loop, Node, Step
from spyrelab.timing.transfers import Card

__all__ = ["Schedule", "Segment", "schedule"]

SETTLING = 8
"""Iterations after which a loop that has not settled is moved on by its last shift."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A step on the engines of all cores, ``repeats`` times ``period`` seconds apart.

    ``starts`` and ``ends`` are arrays [cores]; equal where a core takes no part.
    """

    step: Step
    starts: np.ndarray
    ends: np.ndarray
    repeats: int = 1
    period: np.ndarray | None = None

    @property
    def busy(self) -> np.ndarray:
        """Seconds of work per core, all repeats."""
        return (self.ends - self.starts) * self.repeats


@dataclass
class Schedule:
    """Segments in the order of issue, and when the last of them ends."""

    segments: list[Segment]
    seconds: float
    port_seconds: float
    port_bytes: float


def schedule(card: Card, nodes: Sequence[Node]) -> Schedule:
    """Run the steps of a program."""
    clock = _Clock(card)
    for node in nodes:
        clock.run(node)
    return clock.finish()


@dataclass
class _State:
    """Everything that moves when time goes on."""

    free: dict[Engine, np.ndarray]
    ready: dict[Value, np.ndarray]
    issue: np.ndarray
    gate: np.ndarray
    port: np.ndarray

    def entries(self) -> dict[object, np.ndarray]:
        found: dict[object, np.ndarray] = {}
        found.update(self.free.items())
        found.update(self.ready.items())
        found.update(issue=self.issue, gate=self.gate, port=self.port)
        return found

    def move(self, shifts: dict[object, np.ndarray], times: int) -> None:
        for key, shift in shifts.items():
            if key == "issue":
                self.issue = self.issue + shift * times
            elif key == "gate":
                self.gate = self.gate + shift * times
            elif key == "port":
                self.port = self.port + shift * times
            elif isinstance(key, Engine):
                self.free[key] = self.free[key] + shift * times
            else:
                assert isinstance(key, Value)
                self.ready[key] = self.ready[key] + shift * times


@dataclass
class _Clock:
    card: Card
    segments: list[Segment] = field(default_factory=list)
    port_seconds: float = 0.0
    port_bytes: float = 0.0

    def __post_init__(self) -> None:
        start = np.full(self.card.cores, self.card.constants.launch_seconds)
        self.start = start
        self.state = _State({}, {}, start.copy(), start.copy(), start[:1].copy())
        self.credit = 0.0
        self.stretch = 1.0
        self.times = 1
        self.last = start.copy()

    def finish(self) -> Schedule:
        end = float(self.last.max())
        end = max(end, self.card.constants.launch_seconds + self.port_seconds)
        return Schedule(self.segments, end, self.port_seconds, self.port_bytes)

    # -- one step ----------------------------------------------------------------------------

    def run(self, node: Node, into: dict[Value, np.ndarray] | None = None) -> None:
        """Schedule a node; ``into`` takes the results of a load that goes ahead."""
        if isinstance(node, Loop):
            self._loop(node)
        elif node.engine is Engine.NONE:
            when = self._operands(node)
            for value in node.writes:
                self.state.ready[value] = when
        else:
            self._step(node, into)

    def _operands(self, step: Step) -> np.ndarray:
        when = self.start
        for value in step.reads:
            ready = self.state.ready.get(value)
            if ready is not None:
                when = np.maximum(when, ready)
        return when

    def _step(self, step: Step, into: dict[Value, np.ndarray] | None) -> None:
        state = self.state
        active = step.seconds >= 0
        free = state.free.get(step.engine, self.start)
        begin = np.maximum(np.maximum(free, self._operands(step)), state.issue)
        if into is not None:
            begin = np.maximum(begin, state.gate)
        for members in step.meets:
            begin = begin.copy()
            begin[members] = begin[members].max()
        end = begin + np.where(active, step.seconds, 0.0) * self.stretch
        if step.port_seconds > 0:
            end = self._through_port(step, begin, end, active)
        end = np.where(active, end, begin)
        state.free[step.engine] = np.where(active, end, free)
        target = state.ready if into is None else into
        for value in step.writes:
            before = state.ready.get(value, self.start)
            target[value] = np.where(active, end, before)
        self.last = np.where(active, np.maximum(self.last, end), self.last)
        starts = np.where(active, begin, 0.0)
        self.segments.append(Segment(step, starts, np.where(active, end, 0.0)))

    def _through_port(
        self, step: Step, begin: np.ndarray, end: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        work = step.port_seconds * self.stretch
        first = float(begin[active].min()) if active.any() else 0.0
        # Idle time of the port counts for nothing, but what an iteration leaves is caught up.
        base = max(float(self.state.port[0]), first - self.credit)
        self.state.port = np.array([base + work])
        self.port_seconds += work * self.times
        self.port_bytes += step.port_bytes * self.times
        return np.maximum(end, base + work)

    # -- loops -------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        saved = self.credit, self.stretch
        for init, argument, _, _ in loop.carried:
            self._copy(init, argument)
        runs = [run for run in loop.runs if run.count]
        for number, run in enumerate(runs):
            following = runs[number + 1].body if number + 1 < len(runs) else ()
            self._runs(loop, run, following, ahead=number > 0)
        for init, _, yielded, result in loop.carried:
            self._copy(yielded if runs else init, result)
        self.credit, self.stretch = saved

    def _copy(self, source: Value, target: Value) -> None:
        if source in self.state.ready:
            self.state.ready[target] = self.state.ready[source]

    def _runs(self, loop: Loop, run: Iterations, following: Sequence[Node], ahead: bool) -> None:
        self.credit, self.stretch = _pressure(self.card, run.body)
        double = _fits_twice(self.card, run.body)
        loads, rest = _parted(run.body) if double else ([], list(run.body))
        after = _parted(following)[0] if _fits_twice(self.card, following) else []
        if not ahead:
            self._ahead(loads, commit=True)
        self._repeat(loop, rest, loads, run.count - 1)
        # Nothing follows that could have used the port earlier, so nothing is caught up.
        self.credit = 0.0
        self._iteration(loop, rest, after)

    def _ahead(self, loads: Sequence[Step], commit: bool) -> dict[Value, np.ndarray]:
        made: dict[Value, np.ndarray] = {}
        for step in loads:
            self.run(step, made)
        if commit:
            self.state.ready.update(made)
        return made

    def _iteration(self, loop: Loop, rest: Sequence[Node], loads: Sequence[Step]) -> None:
        if loop.counted:
            self.state.issue = np.maximum(self.state.issue, self.start)
        made = self._ahead(loads, commit=False)
        for node in rest:
            self.run(node)
        # The buffers of this iteration are free when everything that used them has ended.
        self.state.gate = np.maximum(self.state.gate, self._ends_of(rest))
        self.state.ready.update(made)
        for _, argument, yielded, _ in loop.carried:
            self._copy(yielded, argument)
        if loop.counted:
            self.state.issue = self.state.issue + self.card.machine.loop_iteration_seconds

    def _ends_of(self, rest: Sequence[Node]) -> np.ndarray:
        ends = self.start
        for node in rest:
            if isinstance(node, Step) and node.engine in (Engine.PT, Engine.SFP, Engine.STORE):
                ends = np.maximum(ends, self.state.free.get(node.engine, self.start))
        return ends

    def _repeat(self, loop: Loop, rest: Sequence[Node], loads: Sequence[Step], count: int) -> None:
        before: dict[object, np.ndarray] = {}
        shifts: dict[object, np.ndarray] | None = None
        done = 0
        while done < count:
            mark, work, nbytes = len(self.segments), self.port_seconds, self.port_bytes
            previous = self.last
            self._iteration(loop, rest, loads)
            done += 1
            now = self.state.entries()
            moved = {key: now[key] - before[key] for key in now if key in before}
            settled = shifts is not None and len(moved) == len(now) and _same(moved, shifts)
            if settled or (done >= SETTLING and len(moved) == len(now)):
                left = count - done
                self.state.move(moved, left)
                self._multiply(mark, left, self.last - previous)
                self.port_seconds += (self.port_seconds - work) * left
                self.port_bytes += (self.port_bytes - nbytes) * left
                return
            before, shifts = now, moved

    def _multiply(self, mark: int, left: int, shift: np.ndarray) -> None:
        if not left:
            return
        for index in range(mark, len(self.segments)):
            old = self.segments[index]
            self.segments[index] = _repeated(old, left, shift)
        self.last = self.last + shift * left


def _repeated(segment: Segment, left: int, shift: np.ndarray) -> Segment:
    if segment.repeats == 1:
        return Segment(segment.step, segment.starts, segment.ends, left + 1, shift)
    # A loop inside a loop: its own repeats stay, the outer ones only count.
    return Segment(
        segment.step, segment.starts, segment.ends, segment.repeats * (left + 1), segment.period
    )


def _same(one: dict[object, np.ndarray], other: dict[object, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(
        np.allclose(one[key], other[key], rtol=1e-9, atol=1e-15) for key in one
    )


def _parted(body: Sequence[Node]) -> tuple[list[Step], list[Node]]:
    """Loads of an iteration that can go ahead of the one before, and the rest."""
    ahead = [n for n in body if isinstance(n, Step) and n.engine is Engine.LOAD]
    kept = {id(node) for node in ahead}
    return ahead, [node for node in body if id(node) not in kept]


def _fits_twice(card: Card, body: Sequence[Node]) -> bool:
    """Whether the back end's share of the scratchpad holds the next iteration's loads."""
    loads = [n for n in body if isinstance(n, Step) and n.engine is Engine.LOAD]
    total = sum(float(n.counts["ddr_read"].max()) for n in loads if "ddr_read" in n.counts)
    return total <= card.fraction * card.machine.lx_bytes


def _pressure(card: Card, body: Sequence[Node]) -> tuple[float, float]:
    """Port seconds of an iteration, and how much its engines slow each other down."""
    steps = [n for n in body if isinstance(n, Step) and n.engine is not Engine.NONE]
    port = sum(step.port_seconds for step in steps)
    if len(steps) < sum(not isinstance(n, Step) or n.engine is not Engine.NONE for n in body):
        return port, 1.0
    busy: dict[Engine, np.ndarray] = {}
    for step in steps:
        before = busy.get(step.engine, np.zeros(card.cores))
        busy[step.engine] = before + np.maximum(step.seconds, 0.0)
    times = [port, *(float(array.max()) for array in busy.values())]
    largest = max(times, default=0.0)
    if largest <= 0:
        return port, 1.0
    together = float(combine([np.asarray(t) for t in times], card.constants.overlap_exponent))
    return port * together / largest, together / largest
