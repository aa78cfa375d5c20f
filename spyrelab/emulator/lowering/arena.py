"""First-fit allocation of places in an arena while lowering."""

from __future__ import annotations

from dataclasses import dataclass, field

ALIGNMENT = 16
"""Elements; keeps tiles on 64-byte lines of the host."""


@dataclass
class Arena:
    """Free ranges above ``base``; ``top`` is the high-water mark."""

    base: int
    top: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.top = self.base

    def allocate(self, count: int) -> int:
        """Offset of ``count`` fresh elements."""
        count = _padded(count)
        for i, (start, size) in enumerate(self.free):
            if size >= count:
                self.free[i : i + 1] = [(start + count, size - count)] if size > count else []
                return start
        if self.free and sum(self.free[-1]) == self.top:
            start, _ = self.free.pop()
        else:
            start = self.top
        self.top = start + count
        return start

    def allocate_apart(self, count: int) -> int:
        """Offset of ``count`` elements that nothing else has used or will use."""
        start = self.top
        self.top += _padded(count)
        return start

    def release(self, start: int, count: int) -> None:
        """Give a range back, merging it with its neighbours."""
        self.free.append((start, _padded(count)))
        self.free.sort()
        merged: list[tuple[int, int]] = []
        for begin, size in self.free:
            if merged and sum(merged[-1]) == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((begin, size))
        self.free = merged


def _padded(count: int) -> int:
    return max(ALIGNMENT, -(-count // ALIGNMENT) * ALIGNMENT)
