"""Iterations of loops: each look says for how many iterations it is exact.

Iterations are looked at only where something changes.  Scalars that go from one iteration to
the next are taken to gain the same each time, and checked: what a look yields must be what it
was given, moved on by as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spyrelab.timing.motion import Course, Moving, Turn, pick, plain
from spyrelab.timing.narrowing import narrowed
from spyrelab.timing.nodes import Iterations, Node
from spyrelab.timing.scalars import Unknown
from spyrelab.timing.signature import same

__all__ = ["Looks"]

LONGEST_PATTERN = 64
"""Iterations of a pattern that is looked for where conditions depend on a remainder."""

PATIENCE = 3
"""Looks that a remainder has cut short before its pattern is looked for."""

States = list[Any]
Body = Callable[[int, Any, States], tuple[list[Node], States, np.ndarray]]
"""Walks one iteration: its number, the same as it moves, and what is carried in.  Returns nodes,
what is carried on, and the cores that took part."""


class Looks:
    """Iterations of one loop, looked at where they may differ.

    Where a body is ``flat`` (nothing in it is a loop or branch), one look serves cores that leave
    the loop at different iterations.
    """

    def __init__(self, course: Course, body: Body, states: States, flat: bool = False) -> None:
        self.course, self.body, self.states, self.flat = course, body, states, flat
        self.guess: States = [None] * len(states)
        self.pattern_guess: States = list(self.guess)
        self.periods: set[int] = set()
        self.cut = 0

    def runs(self, trips: np.ndarray) -> tuple[Iterations, ...]:
        """All iterations in order; ``states`` are then what is carried out of the last."""
        found: list[Iterations] = []
        index, most = 0, int(trips.max(initial=0))
        while index < most:
            left = int((trips[trips > index] - index).min())
            period = int(np.lcm.reduce([1, *self.periods]))
            if self.cut >= PATIENCE and 1 < period <= LONGEST_PATTERN and left >= 2 * period:
                run = self._pattern(index, left // period, period)
                index += run.count * period
            else:
                ends = np.maximum(trips - index, 1) if self.flat else left
                run, _ = self.look(index, ends)
                found += _parts(run, trips - index) if self.flat else [run]
                index += run.count
                continue
            found.append(run)
        return tuple(_joined(found))

    def look(self, index: int, left: Any) -> tuple[Iterations, np.ndarray]:
        """One look: for how many of ``left`` iterations it holds, and who took part."""
        turn = self.course.enter(left)
        number = Moving(self.course, self._all(index), {turn: self._all(1)})
        given = [self._moving(turn, s, g) for s, g in zip(self.states, self.guess, strict=True)]
        nodes, yielded, active = self.body(index, number, given)
        gains = [_gain(one, other) for one, other in zip(given, yielded, strict=True)]
        steady = all(_same(gain, g, active) for gain, g in zip(gains, self.guess, strict=True))
        if not steady:
            turn.most = 1
            yielded = [self.course.open(value) for value in yielded]
        count = self.course.leave(turn)
        if steady:
            self._advance(active, turn.passed(count))
        else:
            self._step(turn, gains, yielded, active)
        if turn.periods and count < np.max(left):
            self.periods |= turn.periods
            self.cut += 1
        return Iterations(count, tuple(nodes)), active

    def _all(self, value: int) -> np.ndarray:
        return np.full(self.course.cores, value, np.int64)

    def _moving(self, turn: Turn, state: Any, guess: Any) -> Any:
        if guess is None or not np.any(guess):
            return state
        return state + Moving(self.course, self._all(0), {turn: guess})

    def _advance(self, active: np.ndarray, count: Any) -> None:
        for number, (state, guess) in enumerate(zip(self.states, self.guess, strict=True)):
            if guess is not None and np.any(guess):
                self.states[number] = pick(active, state + guess * count, state)

    def _step(self, turn: Turn, gains: States, yielded: States, active: np.ndarray) -> None:
        for number, (gain, after) in enumerate(zip(gains, yielded, strict=True)):
            after = after.without(turn) if isinstance(after, Moving) else after
            numbers = isinstance(gain, np.ndarray) and gain.ndim == 1
            self.guess[number] = np.where(active, gain, 0) if numbers else None
            state = self.states[number]
            known = _known(after) and _known(state) and np.ndim(plain(after)) == 1
            self.states[number] = pick(active, after, state) if known else after

    def _pattern(self, index: int, cycles: int, period: int) -> Iterations:
        """``cycles`` times ``period`` iterations that differ from each other."""

        def body(_: int, cycle: Any, states: States) -> tuple[list[Node], States, np.ndarray]:
            def once(
                step: int, number: Any, given: States
            ) -> tuple[list[Node], States, np.ndarray]:
                return self.body(index + step, cycle * period + number + index, given)

            inner = Looks(self.course, once, states)
            runs = inner.runs(self._all(period))
            found[:] = runs
            return [], inner.states, self.course.active

        found: list[Iterations] = []
        outer = Looks(self.course, body, self.states)
        outer.guess = self.pattern_guess
        run, _ = outer.look(0, cycles)
        self.states, self.pattern_guess = outer.states, outer.guess
        self.guess = [None] * len(self.states)
        return Iterations(run.count, (), tuple(found))


def _parts(run: Iterations, left: np.ndarray) -> list[Iterations]:
    """A run in which cores end one after the other, as runs that always the same cores take."""
    ends = np.unique(left[(left > 0) & (left < run.count)]).tolist()
    if not ends:
        return [run]
    masks = left > np.array(ends)[:, None]
    bodies = [run.body, *narrowed(run.body, masks)]
    firsts = (0, *ends)
    return [
        Iterations(end - first, body)
        for first, end, body in zip(firsts, (*ends, run.count), bodies, strict=True)
    ]


def _known(value: Any) -> bool:
    return isinstance(value, Moving | np.ndarray)


def _gain(before: Any, after: Any) -> Any:
    """What a carried value gained; None where it is no number of its own per core."""
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        both = isinstance(before, Unknown) and isinstance(after, Unknown)
        return 0 if both else None
    if not (_known(before) and _known(after)):
        return 0 if before is after else None
    first, second = plain(before), plain(after)
    if first.ndim != 1 or first.dtype.kind == "f" or second.dtype.kind == "f":
        moves = isinstance(before, Moving) or isinstance(after, Moving)
        return 0 if not moves and np.array_equal(first, second) else None
    return after - before


def _same(gain: Any, guess: Any, active: np.ndarray) -> bool:
    if gain is None or isinstance(gain, Moving):
        return False
    expected = 0 if guess is None else guess
    return bool(np.all(np.broadcast_to(gain == expected, active.shape)[active]))


def _joined(runs: list[Iterations]) -> list[Iterations]:
    joined: list[Iterations] = []
    for run in runs:
        alike = joined and not run.pattern and not joined[-1].pattern
        if alike and same(joined[-1].body, run.body):
            joined[-1] = Iterations(joined[-1].count + run.count, joined[-1].body)
        else:
            joined.append(run)
    return joined
