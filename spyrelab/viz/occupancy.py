"""What the tile values of a timeline occupy in the scratchpad of a core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.emulator.lowering.lowering import is_elementwise
from spyrelab.ktir import TensorType, Value
from spyrelab.timing import Estimate
from spyrelab.viz.events import Event

__all__ = ["scratchpad"]


@dataclass
class _Buffer:
    """One making of a value: from the start of what makes it to the end of its last use."""

    maker: Event
    size: int
    end: float
    last: Event | None = None

    @property
    def start(self) -> float:
        return self.maker.start


def scratchpad(estimate: Estimate, events: Sequence[Event], core: int) -> list[tuple[float, int]]:
    """Bytes that one core's tile values occupy, as (seconds, bytes) changes.

    A load that goes ahead has a buffer of its own while the one before is still in use.  An
    elementwise result takes over an operand of equal size that it is the last to use.  A
    product's stream is two buffers of each operand's step.
    """
    if estimate.plan is not None:
        work, steps = estimate.plan.contraction, int(estimate.plan.busy.steps)
        held = 2 * int((work.core_left_bytes + work.core_right_bytes) / steps)
        # A step that does not fit is streamed: the back end's tiles are smaller than a step.
        return [(0.0, min(held, estimate.machine.lx_bytes)), (estimate.seconds, 0)]
    mine = sorted((e for e in events if e.core == core), key=lambda e: (e.start, e.end))
    made = _makings(mine, estimate.machine.stick_bytes)
    _use(mine, made)
    _take_over(made)
    return _changes([buffer for buffers in made.values() for buffer in buffers])


def _makings(mine: Sequence[Event], stick: int) -> dict[Value, list[_Buffer]]:
    found: dict[Value, list[_Buffer]] = {}
    for event in mine:
        for value in event.step.writes:
            found.setdefault(value, []).append(_Buffer(event, _size(value, stick), event.end))
    return found


def _use(mine: Sequence[Event], made: dict[Value, list[_Buffer]]) -> None:
    """Give every use its making: each operation takes them in turn."""
    uses: dict[tuple[Value, int], list[Event]] = {}
    for event in mine:
        for value in event.step.reads:
            if value in made:
                key = id(event.step.operation or event.step)
                uses.setdefault((value, key), []).append(event)
    for (value, _), readers in uses.items():
        buffers = made[value]
        for number, reader in enumerate(readers):
            if len(readers) >= len(buffers):  # made outside the loop that uses it
                buffer = buffers[number * len(buffers) // len(readers)]
            else:  # the last one that a loop made
                buffer = buffers[-(-(number + 1) * len(buffers) // len(readers)) - 1]
            if reader.end >= buffer.end:
                buffer.end, buffer.last = reader.end, reader


def _take_over(made: dict[Value, list[_Buffer]]) -> None:
    by_maker: dict[int, list[_Buffer]] = {}
    for buffers in made.values():
        for buffer in buffers:
            by_maker.setdefault(id(buffer.maker), []).append(buffer)
    for buffers in made.values():
        for buffer in buffers:
            last = buffer.last
            if last is None or last.step.operation is None:
                continue
            heirs = by_maker.get(id(last), [])
            heir = next((h for h in heirs if h.size == buffer.size), None)
            if heir is not None and is_elementwise(last.step.operation):
                buffer.end = last.start
                heirs.remove(heir)


def _size(value: Value, stick: int) -> int:
    kind = value.type
    if not isinstance(kind, TensorType) or None in kind.shape:
        return 0
    count = 1
    for extent in kind.shape:
        count *= extent or 1
    return -(-count * kind.element.itemsize // stick) * stick


def _changes(buffers: Sequence[_Buffer]) -> list[tuple[float, int]]:
    changes: dict[float, int] = {}
    for buffer in buffers:
        changes[buffer.start] = changes.get(buffer.start, 0) + buffer.size
        changes[buffer.end] = changes.get(buffer.end, 0) - buffer.size
    held, found = 0, []
    for time in sorted(changes):
        held += changes[time]
        found.append((time, held))
    return found
