"""Scratchpad use of a program, computed while it is lowered.

A live tensor value occupies its size, rounded up to a stick, from its definition to its last
use.  Constants and splats occupy nothing; an elementwise result may take over an operand of
equal size that dies there.  Views of a scratchpad at a literal address occupy their range for
the whole program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.emulator.errors import LxOverflowError, source_place, where
from spyrelab.ktir import Position, Value
from spyrelab.ktir.ir import Location


@dataclass(frozen=True)
class DynamicBytes:
    """A size known at run time: ``itemsize`` times the count at a place in I."""

    place: int
    itemsize: int


@dataclass(frozen=True)
class LiveBuffer:
    """One buffer at the point of highest use: its value's name, bytes and definition.

    ``location`` is where the front end's source defines it.
    """

    name: str
    bytes: int
    position: Position | None
    location: Location | None = None

    def __str__(self) -> str:
        line = f" (line {self.position.line})" if self.position else ""
        source = source_place(self.location)
        return f"%{self.name}: {self.bytes:,} bytes{line}{f' ({source})' if source else ''}"


@dataclass(frozen=True)
class LxUse:
    """Peak of the tile values and who was alive then; literal ranges per core."""

    peak: int
    alive: tuple[LiveBuffer, ...]
    position: Position | None
    own_ranges: tuple[tuple[int, int], ...]
    core_ranges: tuple[tuple[int, int, int], ...]
    location: Location | None = None

    def reserved(self, core: int) -> int:
        """Bytes of the literal ranges in one core's scratchpad."""
        ranges = [*self.own_ranges, *((a, b) for c, a, b in self.core_ranges if c == core)]
        return _union(ranges)

    def peak_of(self, core: int) -> int:
        """Largest number of bytes in use at once in one core's scratchpad."""
        return self.peak + self.reserved(core)

    def check(self, cores: int, capacity: int) -> None:
        """Raise LxOverflowError if a core needs more than ``capacity`` bytes."""
        core = max(range(cores), key=self.peak_of)
        if self.peak_of(core) <= capacity:
            return
        at = where(self.position, self.location)
        lines = [f"  {buffer}" for buffer in sorted(self.alive, key=lambda b: -b.bytes)]
        reserved = self.reserved(core)
        if reserved:
            lines.append(f"  views at literal scratchpad addresses: {reserved:,} bytes")
        raise LxOverflowError(
            f"the program needs {self.peak_of(core):,} bytes of a core's scratchpad{at}, "
            f"which has {capacity:,}; alive at that point:\n"
            + "\n".join(lines)
            + "\nUse smaller tiles, or store a value to memory earlier."
        )


def _union(ranges: Sequence[tuple[int, int]]) -> int:
    total, reach = 0, 0
    for low, high in sorted(ranges):
        total += max(0, high - max(low, reach))
        reach = max(reach, high)
    return total


class LxTracker:
    """Follows the live values of the program while it is walked in order."""

    def __init__(self) -> None:
        self._live: dict[Value, tuple[LiveBuffer, DynamicBytes | None]] = {}
        self._bytes = 0
        self._peak = 0
        self._alive: tuple[LiveBuffer, ...] = ()
        self._position: Position | None = None
        self._location: Location | None = None
        self._own: list[tuple[int, int]] = []
        self._core: list[tuple[int, int, int]] = []

    def define(
        self,
        value: Value,
        size: int | DynamicBytes,
        position: Position | None,
        takes_over: Value | None = None,
        location: Location | None = None,
    ) -> None:
        """A value comes alive, perhaps in the place of another one of the same size."""
        if takes_over is not None:
            self.kill(takes_over)
        count = size if isinstance(size, int) else 0
        dynamic = None if isinstance(size, int) else size
        self._live[value] = (LiveBuffer(value.name, count, position, location), dynamic)
        self._bytes += count
        if self._bytes > self._peak:
            self._peak = self._bytes
            self._alive = tuple(buffer for buffer, _ in self._live.values() if buffer.bytes)
            self._position, self._location = position, location

    def kill(self, value: Value) -> None:
        """A value was used for the last time."""
        entry = self._live.pop(value, None)
        if entry is not None:
            self._bytes -= entry[0].bytes

    def size_of(self, value: Value) -> int | DynamicBytes | None:
        """Bytes that a value occupies, None if it is not alive or occupies nothing."""
        entry = self._live.get(value)
        if entry is None:
            return None
        buffer, dynamic = entry
        return dynamic if dynamic is not None else buffer.bytes or None

    @property
    def dynamic(self) -> list[DynamicBytes]:
        """Live sizes that are known only at run time."""
        return [size for _, size in self._live.values() if size is not None]

    @property
    def static_bytes(self) -> int:
        return self._bytes

    def reserve(self, space: int, low: int, high: int) -> None:
        """A view at a literal scratchpad address (``space`` as in `View`)."""
        if space == 1:
            self._own.append((low, high))
        else:
            self._core.append((space - 2, low, high))

    def finish(self) -> LxUse:
        ranges = tuple(self._own), tuple(self._core)
        return LxUse(self._peak, self._alive, self._position, *ranges, self._location)
