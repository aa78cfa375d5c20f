"""Exercises of chapter 5: boxes, spans, first-fit, lifetimes, tiles, and splits that agree.

Fill in the functions; ``spyrelab grade ch05`` or, in a notebook, ``spyrelab.check("ch05.1")`` tells
how far you are.  Work everything out yourself: your answers do not call `spyrelab.tiling`.
"""

from __future__ import annotations

from math import ceil, prod  # noqa: F401
from typing import Any


def core_box(space: dict[str, tuple[int, int]], core: int) -> dict[str, tuple[int, int]] | None:
    """Find the part of an iteration space that belongs to a core.

    ``space`` gives each symbol its extent and the number of parts into which cores share it.  All
    parts of a symbol have ``ceil(extent / parts)`` indices, the last one perhaps fewer (never
    none).  Cores count through the parts in the order of the symbols, the last symbol fastest.
    Return (first index, index after the last) for each symbol, or None for a core that has
    nothing to do.

    About 8 lines.
    """
    raise NotImplementedError("ch05.1")


def choose_parts(
    extents: tuple[int, ...], strides: list[tuple[int, ...]], cores: int, limit: int
) -> tuple[int, ...] | None:
    """Choose into how many parts each symbol is cut, so that no core has to reach too far.

    ``strides[i][s]`` is the number of elements (of f16) by which operand i moves per step of
    symbol s, never negative.  A core reaches from the first byte of an operand that it touches to
    the last, and for each operand that may be ``limit`` bytes.  The parts of a symbol divide its
    extent.  Use as many cores as possible, ``cores`` at most.  Return None if nothing is legal.

    About 9 lines.
    """
    raise NotImplementedError("ch05.2")


def first_fit(buffers: list[tuple[int, int, int]], capacity: int) -> list[int | None]:
    """Find an address for each buffer: the lowest at which it meets no buffer placed before.

    A buffer is (bytes, first step, last step), alive at both steps and between.  Addresses are
    multiples of 128, a buffer takes whole sticks of 128 bytes, and none reaches beyond
    ``capacity``.  Take the buffers in the given order; one that fits nowhere gets None, and is in
    nobody's way.

    About 11 lines.
    """
    raise NotImplementedError("ch05.3")


def lives(
    steps: list[Any], wanted: list[str], loop: tuple[int, int] | None = None
) -> dict[str, tuple[int, int]]:
    """Find the first and the last step of the life of every tensor that the steps write.

    A step has ``reads`` and ``writes``, tuples of names.  Each tensor is written by one step, and
    read by later ones or by none; those in ``wanted`` are needed when all steps are done.  With
    ``loop = (i, j)`` the steps i to j are done again and again, in order, before step j + 1.  A
    life is (the step that writes, the last step at which nothing else may take its place).
    ``lives`` in ``exercises/given_ch05.py`` is nearly right.

    About 10 lines.
    """
    raise NotImplementedError("ch05.4")


def tile_softmax(rows: int, cols: int, capacity: int) -> tuple[int, dict[str, int | None]]:
    """Plan a softmax over rows so that it reads its input once and writes its result once.

    One core runs five operations on an f16 matrix [rows, cols], in a loop that takes the rows in
    equal turns::

        top = amax(x); shifted = x - top; powers = exp(shifted); total = sum(powers)
        out = powers / total

    Return the number of turns, and the byte address in the scratchpad of each of ``x`` (a copy of
    the rows of this turn, which the program makes first), ``top``, ``shifted``, ``powers`` and
    ``total``.  Addresses are multiples of 128, and nothing reaches beyond ``capacity``, which is
    all yours: what operations at work need besides is taken from elsewhere.  A statistic (``top``,
    ``total``) occupies a stick of 128 bytes per row.  A result of ``sub`` or ``exp`` may take the
    place of its first operand.  cols is a multiple of 64.  Use as few turns as possible.

    About 7 lines.
    """
    raise NotImplementedError("ch05.5")


def agree(rows: int, depth: int, cols: int) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Split a product and a softmax so that what lies between them stays on the cores.

    ``softmax(x @ w)`` over the rows, with x [rows, depth] and w [depth, cols], on 32 cores.  Return
    into how many parts cores share (M, N, K) of the product and (rows, columns) of the softmax.
    Rows may be cut anywhere, columns in whole sticks of 64; cores that share a row exchange its
    maximum and sum, and have equal parts of it.  Cores of a product that share K exchange sums.
    rows and depth are at least 256, cols is a multiple of 64.  You are graded by the predicted
    time of both in one launch, which may be a tenth above the least.

    About 7 lines.
    """
    raise NotImplementedError("ch05.6")


def plan_chain(alone: list[list[float]], saved: list[list[float]], launch: float) -> list[int]:
    """Choose a split for each operation of a chain, so that the predicted time is least.

    ``alone[i][s]`` is the time of operation i with split s, its operands and its result in device
    memory.  Each operation reads the result of the one before.  If neighbours i and i + 1 have the
    same split s, the tensor between them stays on the cores, which saves ``saved[i][s]`` (of both
    together), and they are one launch; if not, a new launch begins.  A launch costs ``launch``,
    the first one too.  Return the split of each operation.  There may be hundreds.

    About 10 lines.
    """
    raise NotImplementedError("ch05.7")
