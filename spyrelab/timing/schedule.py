"""List scheduling of steps on the engines of all cores, with one shared memory port.

Every clock is an array over cores.  A step starts when its engine, its operands and its
buffer are free; loads of the next iteration go ahead of the work of this one.  Cores share
the port in step: a load ends when its core has taken it in and the port has served everybody.
Loops are run until an iteration only shifts every clock, then moved on at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from spyrelab.ktir import Value
from spyrelab.timing.ahead import fits_twice, parted, pressure
from spyrelab.timing.nodes import Engine, Iterations, Loop, Node, Step
from spyrelab.timing.transfers import Card

__all__ = ["Schedule", "Segment", "schedule"]

SETTLING = 8
"""Iterations after which a loop that has not settled is moved on by its last shift."""

FEW = 4
"""Iterations from which on it pays to see whether a loop settles: it takes three to tell."""


@dataclass(slots=True, eq=False)
class Segment:
    """A step on the engines of all cores, repeated by the loops round it.

    ``first`` and ``until`` are when it begins and ends, minus infinity where a core takes no part.
    ``levels`` are the loops, innermost first: how often, and how many seconds apart on every core.
    """

    step: Step
    first: np.ndarray
    until: np.ndarray
    levels: tuple[tuple[int, np.ndarray], ...] = ()

    @property
    def starts(self) -> np.ndarray:
        """When each core begins; 0 where it takes no part."""
        return np.where(self.until > -np.inf, self.first, 0.0)

    @property
    def ends(self) -> np.ndarray:
        """When each core ends; 0 where it takes no part."""
        return np.maximum(self.until, 0.0)

    @property
    def repeats(self) -> int:
        """How often the step is taken in all."""
        return math.prod(count for count, _ in self.levels)

    @property
    def extent(self) -> np.ndarray:
        """Seconds from the first start to the last."""
        zero = np.zeros(len(self.starts))
        return sum(((count - 1) * period for count, period in self.levels), zero)

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
        self.waiting = False
        self.times = 1
        self.last = start.copy()
        self.owns: dict[Step, np.ndarray] = {}

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
            if not node.writes:
                return
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
        own = self._own(step)
        free = state.free.get(step.engine, self.start)
        begin = np.maximum(np.maximum(free, self._operands(step)), state.issue)
        if into is not None or (self.waiting and step.engine is Engine.LOAD):
            begin = np.maximum(begin, state.gate)
        if step.fence:
            begin = np.maximum(begin, self._all_done())
        for members in step.meets:
            begin = begin.copy()
            begin[members] = begin[members].max()
        end = begin + (own if self.stretch == 1.0 else own * self.stretch)
        if step.port_seconds > 0:
            end = self._through_port(step, begin, end)
        state.free[step.engine] = np.maximum(free, end)
        if step.fence:
            state.issue = np.maximum(state.issue, end)
        target = state.ready if into is None else into
        for value in step.writes:
            before = state.ready.get(value, self.start)
            target[value] = np.maximum(before, end)
        self.last = np.maximum(self.last, end)
        self.segments.append(Segment(step, begin, end))

    def _all_done(self) -> np.ndarray:
        """When the engines of each core are free."""
        done = self.start
        for free in self.state.free.values():
            done = np.maximum(done, free)
        return done

    def _own(self, step: Step) -> np.ndarray:
        """Seconds of a step on each core; steps in loops are asked for again and again."""
        found = self.owns.get(step)
        if found is None:
            # Minus infinity for cores that take no part: their clocks then stay what they are.
            found = self.owns[step] = np.where(step.seconds >= 0, step.seconds, -np.inf)
        return found

    def _through_port(self, step: Step, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        active = end > -np.inf
        work = step.port_seconds * self.stretch
        first = float(begin.min(where=active, initial=np.inf)) if active.any() else 0.0
        # Idle time of the port counts for nothing, but what an iteration leaves is caught up.
        base = max(float(self.state.port[0]), first - self.credit)
        self.state.port = np.array([base + work])
        self.port_seconds += work * self.times
        self.port_bytes += step.port_bytes * self.times
        return np.where(active, np.maximum(end, base + work), end)

    # -- loops -------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        saved = self.credit, self.stretch, self.waiting
        for init, argument, _, _ in loop.carried:
            self._copy(init, argument)
        runs = [run for run in loop.runs if run.count]
        for number, run in enumerate(runs):
            following = _first(runs[number + 1 : number + 2])
            if run.pattern:
                self._pattern(loop, run, following, ahead=number > 0)
            else:
                self._runs(loop, run, following, ahead=number > 0)
        for init, _, yielded, result in loop.carried:
            self._copy(yielded if runs else init, result)
        self.credit, self.stretch, self.waiting = saved

    def _copy(self, source: Value, target: Value) -> None:
        if source in self.state.ready:
            self.state.ready[target] = self.state.ready[source]

    def _runs(self, loop: Loop, run: Iterations, following: Sequence[Node], ahead: bool) -> None:
        asked = loop.stages != 1
        double = asked and fits_twice(self.card, run.body)
        # With room for one set of loads only, they wait until the last one has been used:
        # engines take turns, so they leave each other nothing to catch up and no wait.
        self.waiting = not double
        self.credit, self.stretch = pressure(self.card, run.body) if double else (0.0, 1.0)
        loads, rest = parted(run.body) if double else ([], list(run.body))
        after = parted(following)[0] if asked and fits_twice(self.card, following) else []
        left = run.count - 1
        if not ahead:
            self._ahead(loads, commit=True)
            if left:
                # Nothing came before that could have left the port idle.
                credit, self.credit = self.credit, 0.0
                self._iteration(loop, rest, loads)
                self.credit = credit
                left -= 1
        self._repeat(loop, rest, loads, left)
        # Nothing follows that could have used the port earlier, so nothing is caught up.
        self.credit = 0.0
        self._iteration(loop, rest, after)

    def _pattern(self, loop: Loop, run: Iterations, following: Sequence[Node], ahead: bool) -> None:
        """Runs that come again and again: cycles are what the iterations of others are."""
        inner = [r for r in run.pattern if r.count]

        def cycle(after: Sequence[Node], begun: bool) -> None:
            for number, part in enumerate(inner):
                then = _first(inner[number + 1 : number + 2]) or after
                self._runs(loop, part, then, begun or number > 0)

        if run.count > 1:
            cycle(_first(inner), ahead)
            self._until_settled(lambda: cycle(_first(inner), True), run.count - 2)
        cycle(following, ahead or run.count > 1)

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
        self._until_settled(lambda: self._iteration(loop, rest, loads), count)

    def _until_settled(self, once: Callable[[], None], count: int) -> None:
        """Do something ``count`` times, most of them at once when it only shifts the clocks."""
        if count < FEW:
            for _ in range(count):
                once()
            return
        before: dict[object, np.ndarray] = {}
        shifts: dict[object, np.ndarray] | None = None
        done = 0
        while done < count:
            mark, work, nbytes = len(self.segments), self.port_seconds, self.port_bytes
            previous = self.last
            once()
            done += 1
            now = self.state.entries()
            moved = {key: now[key] - before[key] for key in now if key in before}
            settled = shifts is not None and len(moved) == len(now) and _same(moved, shifts)
            settled = settled and _in_step(moved, self.last - previous)
            if settled or (done >= SETTLING and len(moved) == len(now)):
                left = count - done
                self.state.move(moved, left)
                self._multiply(mark, left, moved)
                self.port_seconds += (self.port_seconds - work) * left
                self.port_bytes += (self.port_bytes - nbytes) * left
                return
            before, shifts = now, moved

    def _multiply(self, mark: int, left: int, moved: dict[object, np.ndarray]) -> None:
        """Repeat what was done since ``mark``, every engine by its own shift."""
        if not left:
            return
        for index in range(mark, len(self.segments)):
            old = self.segments[index]
            shift = moved[old.step.engine]
            repeated = replace(old, levels=(*old.levels, (left + 1, shift)))
            self.segments[index] = repeated
            self.last = np.maximum(self.last, old.until + repeated.extent)


def _first(runs: Sequence[Iterations]) -> Sequence[Node]:
    """The body that comes first."""
    if not runs:
        return ()
    return _first([r for r in runs[0].pattern if r.count]) if runs[0].pattern else runs[0].body


def _same(one: dict[object, np.ndarray], other: dict[object, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(
        _close(one[key], other[key], 1e-9, 1e-15) for key in one
    )


def _in_step(shifts: dict[object, np.ndarray], period: np.ndarray) -> bool:
    """Whether every engine moves on by the same as the whole: none still runs ahead."""
    moved = [shifts[key] for key in shifts if isinstance(key, Engine)]
    return all(_close(s[s > 0], period[s > 0], 1e-6, 1e-12) for s in moved)


def _close(one: np.ndarray, other: np.ndarray, part: float, least: float) -> bool:
    """``numpy.allclose`` for small finite arrays, without its overhead."""
    return bool((np.abs(one - other) <= least + part * np.abs(other)).all())
