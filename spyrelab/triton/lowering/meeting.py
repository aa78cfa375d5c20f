"""Where the two sides of a branch between blocks meet again."""

from __future__ import annotations

from spyrelab.triton.ttir import TtirBlock

__all__ = ["meeting_point"]


def meeting_point(left: TtirBlock, right: TtirBlock) -> TtirBlock | None:
    """The first block that every way from either block passes; None if a way returns before.

    There are no cycles: loops of a kernel are operations with regions.
    """
    known: dict[TtirBlock, list[TtirBlock]] = {}
    others = set(_certain(right, known))
    return next((block for block in _certain(left, known) if block in others), None)


def _certain(block: TtirBlock, known: dict[TtirBlock, list[TtirBlock]]) -> list[TtirBlock]:
    """Blocks on every way from a block to the end, nearest first."""
    if block not in known:
        following = [_certain(next_one, known) for next_one in block.operations[-1].successors]
        shared = (
            [b for b in following[0] if all(b in way for way in following)] if following else []
        )
        known[block] = [block, *shared]
    return known[block]
