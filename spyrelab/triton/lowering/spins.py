"""Loops that wait for other programs: the card runs programs one after the other."""

from __future__ import annotations

from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.ttir import TtirOperation, TtirValue

__all__ = ["check_spin"]


def check_spin(loop: TtirOperation) -> None:
    """Refuse a while loop whose condition depends on memory that others have to change.

    Taking a lock by compare-and-swap is allowed: programs run in order, so it is free.

    Raises
    ------
    UnsupportedKernelError
        With the place of the loop.
    """
    made = {result: inner for inner in loop.walk() for result in inner.results}
    seen: set[TtirValue] = set()
    (before,), (after,) = loop.regions
    feeds = dict(zip(before.arguments, after.operations[-1].operands, strict=False))
    passed = before.operations[-1].operands[1:]
    feeds |= dict(zip(after.arguments, passed, strict=True))
    waiting = [before.operations[-1].operands[0]]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in feeds:
            waiting.append(feeds[value])
        operation = made.get(value)
        if operation is None or operation is loop:
            continue
        volatile = operation.name == "tt.load" and operation.attributes.get("isVolatile")
        if operation.name == "tt.atomic_rmw" or volatile:
            raise unsupported(
                "this loop waits for another program to change memory",
                loop.location,
                "programs of a launch cannot wait for each other: use two launches, or "
                "Helion's hl.barrier()",
            )
        waiting += operation.operands
