"""How scalars move with the loops round them, and for how long what was seen stays true.

A value inside a loop is known now, with its slope for every loop that it moves with.  Whatever
decides something (a comparison, a clipped edge) records what must stay non-negative for the
decision to hold; from these limits follows for how many iterations a look is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spyrelab.timing.hulls import joined_hull, stretch
from spyrelab.timing.nodes import Access

__all__ = ["FAR", "Course", "Moving", "Turn", "pick", "plain"]

FAR = 1 << 61
"""Beyond every address: the range of a value that nothing is known of."""

Slopes = dict[Any, np.ndarray]


@dataclass(eq=False)
class Turn:
    """A loop at the iteration that is looked at.

    ``left`` iterations are to come, this included; an array where cores end at different ones.
    """

    depth: int
    left: Any
    most: int = 0
    limits: list[tuple[np.ndarray, Slopes]] = field(default_factory=list)
    touched: list[tuple[Any, Access, list[Slopes], list[Slopes]]] = field(default_factory=list)
    periods: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.most = int(np.max(self.left))

    def passed(self, count: int) -> Any:
        """How many of ``count`` iterations each core takes."""
        return np.minimum(count, self.left)


@dataclass(eq=False)
class Hidden:
    """A value that moves in a way of its own between two bounds.

    ``unfold`` records what must hold for it to move evenly, and returns its slopes then.
    """

    now: np.ndarray
    low: np.ndarray
    high: np.ndarray
    turns: frozenset[Turn]
    unfold: Callable[[], Slopes]

    @property
    def bounded(self) -> bool:
        """Whether anything is known of where it goes."""
        return bool(np.all(self.low > -FAR) and np.all(self.high < FAR))

    def ends(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far it may take a value that has it with a factor, down and up."""
        ends = slope * (self.low - self.now), slope * (self.high - self.now)
        return np.minimum(*ends), np.maximum(*ends)


class Moving:
    """An integer per core: its value now, and what it gains per iteration of each loop."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, course: Course, now: np.ndarray, slopes: Slopes) -> None:
        self.course, self.now, self.slopes = course, now, slopes

    def _made(self, now: np.ndarray, slopes: Slopes) -> Any:
        kept = {key: slope for key, slope in slopes.items() if slope.any()}
        return Moving(self.course, now, kept) if kept else now

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Moving):
            return Moving(self.course, self.now + other, self.slopes)
        slopes = dict(self.slopes)
        for key, slope in other.slopes.items():
            slopes[key] = slopes[key] + slope if key in slopes else slope
        return self._made(self.now + other.now, slopes)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Moving):
            return self.course.hide(self.now * other.now, (self, other))
        return self._made(self.now * other, {k: s * other for k, s in self.slopes.items()})

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self.course.divide(self, other)[0]

    def __mod__(self, other: Any) -> Any:
        return self.course.divide(self, other)[1]

    def without(self, turn: Turn) -> Any:
        """The value at the start of ``turn``, for whoever stands outside of it."""
        return self._made(self.now, {k: s for k, s in self.slopes.items() if k is not turn})

    @property
    def turns(self) -> frozenset[Turn]:
        """Loops that it depends on."""
        found: set[Turn] = set()
        for key in self.slopes:
            found |= {key} if isinstance(key, Turn) else key.turns
        return frozenset(found)


def plain(value: Any) -> Any:
    """What a value is now."""
    return value.now if isinstance(value, Moving) else value


def pick(mask: np.ndarray, one: Any, other: Any) -> Any:
    """``one`` for the cores of a mask, ``other`` for the rest."""
    if mask.all() and np.shape(plain(one)) == mask.shape:
        return one
    now = np.where(mask, plain(one), plain(other))
    slopes: Slopes = {}
    for value, chosen in ((one, mask), (other, ~mask)):
        if isinstance(value, Moving):
            for key, slope in value.slopes.items():
                slopes[key] = slopes.get(key, 0) + np.where(chosen, slope, 0)
    course = next((v.course for v in (one, other) if isinstance(v, Moving)), None)
    kept = {key: slope for key, slope in slopes.items() if np.any(slope)}
    return Moving(course, now, kept) if course is not None and kept else now


class Course:
    """The loops round the operation that is looked at, and the cores that take part."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self.active = np.ones(cores, bool)
        self.turns: list[Turn] = []
        self.hulls: dict[Any, Access] = {}

    # -- loops -------------------------------------------------------------------------------

    def enter(self, left: Any) -> Turn:
        """Begin a look at an iteration of a loop."""
        turn = Turn(len(self.turns), left)
        self.turns.append(turn)
        return turn

    def leave(self, turn: Turn) -> int:
        """For how many iterations the look holds; what it asks of outer loops goes to them."""
        self.turns.pop()
        count = turn.most
        for value, slopes in turn.limits:
            falling = slopes[turn] < 0
            if falling.any():
                reach = value[falling] // -slopes[turn][falling] + 1
                binding = reach < np.broadcast_to(turn.left, falling.shape)[falling]
                count = int(reach[binding].min(initial=count))
        passed = turn.passed(count)
        for value, slopes in turn.limits:
            rest = {key: slope for key, slope in slopes.items() if key is not turn}
            if rest:
                self._record(value + np.minimum(slopes[turn], 0) * (passed - 1), rest)
        for operation, access, low, high in turn.touched:
            stretch(access, turn, passed, low, high)
            self._touch(operation, access, low, high)
        return count

    def pin(self, turns: Iterable[Turn]) -> None:
        """A look holds for this iteration only."""
        for turn in turns:
            turn.most = 1

    # -- limits ------------------------------------------------------------------------------

    def require(self, value: Any) -> None:
        """``value`` is non-negative now for active cores and has to stay so."""
        if not isinstance(value, Moving):
            return
        now = np.where(self.active, value.now, 0)
        slopes = {k: np.where(self.active, s, 0) for k, s in value.slopes.items()}
        while hidden := next((k for k in slopes if isinstance(k, Hidden)), None):
            slope = slopes.pop(hidden)
            if all(turn.most == 1 for turn in hidden.turns):
                continue
            if hidden.bounded and np.all(now + hidden.ends(slope)[0] >= 0):
                now = now + hidden.ends(slope)[0]
                continue
            for key, inner in hidden.unfold().items():
                slopes[key] = slopes.get(key, 0) + slope * inner
        self._record(now, {k: s for k, s in slopes.items() if np.any(s)})

    def _record(self, value: np.ndarray, slopes: Slopes) -> None:
        least = value + sum(np.minimum(s, 0) * (k.left - 1) for k, s in slopes.items())
        if not slopes or np.all(least >= 0):
            return
        turn = max(slopes, key=lambda t: t.depth)
        turn.limits.append((value, slopes))

    def sign(self, value: Any) -> np.ndarray:
        """-1, 0 or 1 per core, and it stays so."""
        if not isinstance(value, Moving):
            return np.sign(value)
        found = np.sign(value.now)
        self.require(pick(found == 0, 0, value * np.where(found == 0, 1, found) - 1))
        if np.any((found == 0) & self.active):
            level = pick(found == 0, value, np.zeros(self.cores, np.int64))
            self.require(level)
            self.require(-level)
        return found

    def reaches(self, value: Any) -> np.ndarray:
        """Whether a value is at least zero, which stays so."""
        if not isinstance(value, Moving):
            return np.asarray(value) >= 0
        holds = value.now >= 0
        self.require(pick(holds, value, -value - 1))
        return np.asarray(holds)

    def maximum(self, one: Any, other: Any) -> Any:
        """The larger of two per core."""
        return pick(self.reaches(one - other), one, other)

    def minimum(self, one: Any, other: Any) -> Any:
        """The smaller of two per core."""
        return pick(self.reaches(other - one), one, other)

    def settle(self, value: Any) -> Any:
        """A value that must not move: the look ends where it would."""
        while isinstance(value, Moving):
            slopes = {k: s for k, s in value.slopes.items() if np.any(s[self.active])}
            hidden = next((k for k in slopes if isinstance(k, Hidden)), None)
            if hidden is None:
                self.pin(slopes)
                return value.now
            value = self._unfolded(value, hidden)
        return value

    def open(self, value: Any) -> Any:
        """A value that only moves evenly."""
        while isinstance(value, Moving):
            hidden = next((k for k in value.slopes if isinstance(k, Hidden)), None)
            if hidden is None:
                break
            value = self._unfolded(value, hidden)
        return value

    def _unfolded(self, value: Moving, hidden: Hidden) -> Any:
        slopes = dict(value.slopes)
        factor = slopes.pop(hidden)
        return Moving(self, value.now, slopes) + Moving(
            self,
            np.zeros(self.cores, np.int64),
            {k: factor * s for k, s in hidden.unfold().items()},
        )

    # -- values that do not move evenly ------------------------------------------------------

    def hide(
        self,
        now: np.ndarray,
        causes: Iterable[Any],
        low: Any = -FAR,
        high: Any = FAR,
    ) -> Any:
        """A value that may change in any way whenever its causes do."""
        turns = frozenset(t for cause in causes if isinstance(cause, Moving) for t in cause.turns)
        if not turns:
            return now

        def unfold() -> Slopes:
            self.pin(turns)
            return {}

        return self.hidden(now, low, high, turns, unfold)

    def hidden(
        self,
        now: np.ndarray,
        low: Any,
        high: Any,
        turns: frozenset[Turn],
        unfold: Callable[[], Slopes],
    ) -> Moving:
        shape = (self.cores,)
        least, most = (np.broadcast_to(np.asarray(e, np.int64), shape) for e in (low, high))
        made = Hidden(now, least, most, turns, unfold)
        return Moving(self, now, {made: np.ones(shape, np.int64)})

    def divide(self, value: Moving, divisor: Any) -> tuple[Any, Any]:
        """Floor quotient and remainder; what is a multiple of the divisor passes through."""
        if isinstance(divisor, Moving) or np.any(np.asarray(divisor) <= 0):
            by = np.where(plain(divisor) == 0, 1, plain(divisor))
            causes = (value, divisor)
            return self.hide(value.now // by, causes), self.hide(value.now % by, causes)
        whole: Slopes = {}
        rest: Slopes = {}
        for key, slope in value.slopes.items():
            exact = np.all(slope % divisor == 0)
            (whole if exact else rest)[key] = slope // divisor if exact else slope
        left = value.now % divisor
        quotient = Moving(self, value.now // divisor, whole) if whole else value.now // divisor
        if not rest:
            return quotient, left
        inner = Moving(self, left, rest)
        remainder = self._remainder(inner, divisor)
        # quotient = (value - remainder) / divisor: a hidden one of its own keeps it an integer.
        return quotient + self._carry(inner, divisor), remainder

    def _remainder(self, inner: Moving, divisor: Any) -> Moving:
        def unfold() -> Slopes:
            self._stay(inner, divisor)
            return inner.slopes

        return self.hidden(inner.now, 0, divisor - 1, inner.turns, unfold)

    def _carry(self, inner: Moving, divisor: Any) -> Moving:
        def unfold() -> Slopes:
            self._stay(inner, divisor)
            return {}

        low, high = self.span(inner)
        zero = np.zeros(self.cores, np.int64)
        return self.hidden(zero, low // divisor, high // divisor, inner.turns, unfold)

    def _stay(self, inner: Moving, divisor: Any) -> None:
        for key, slope in inner.slopes.items():
            if isinstance(key, Turn):
                step = divisor // np.gcd(slope, divisor)
                key.periods.add(int(np.lcm.reduce(np.broadcast_to(step, (self.cores,)))))
        self.require(inner)
        self.require(divisor - 1 - inner)

    def span(self, value: Any) -> tuple[Any, Any]:
        """Bounds of a value over all that is left of the loops."""
        if not isinstance(value, Moving):
            return value, value
        low = high = value.now
        for key, slope in value.slopes.items():
            if isinstance(key, Turn):
                ends = (np.zeros_like(slope), slope * (key.left - 1))
            elif not key.bounded:
                return np.asarray(-FAR), np.asarray(FAR)
            else:
                ends = key.ends(slope)
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        return low, high

    # -- what is touched ---------------------------------------------------------------------

    def touch(self, operation: Any, access: Access, low: list[Any], high: list[Any]) -> None:
        """Remember the box of a transfer, which moves with the loops."""
        lows: list[Slopes] = []
        highs: list[Slopes] = []
        for axis, (first, last) in enumerate(zip(low, high, strict=True)):
            for value, bounds, table, least in (
                (first, lows, access.lows, True),
                (last, highs, access.highs, False),
            ):
                slopes = dict(value.slopes) if isinstance(value, Moving) else {}
                for key in [k for k in slopes if isinstance(k, Hidden)]:
                    slope = slopes.pop(key)
                    if key.bounded:
                        table[:, axis] += key.ends(slope)[0 if least else 1]
                    else:
                        access = replace(access, exact=False)
                bounds.append(slopes)
        self._touch(operation, access, lows, highs)

    def _touch(self, operation: Any, access: Access, low: list[Slopes], high: list[Slopes]) -> None:
        moving = [t for slopes in (*low, *high) for t in slopes]
        if moving:
            max(moving, key=lambda t: t.depth).touched.append((operation, access, low, high))
        else:
            self.hulls[operation] = joined_hull(self.hulls.get(operation), access)
