"""Exercises of chapter 2: timelines, rooflines, splits, overlap, bursts and races.

Fill in the functions; ``spyrelab grade ch02`` or, in a notebook, ``spyrelab.check("ch02.1")`` tells
how far you are.  Time is what `spyrelab.timing` predicts; the grader asks it, your answers do not.
The rates that you need, and the programs that some tasks start from, are in ``given_ch02.py``:
``from given_ch02 import LAUNCH, READ_RATE, WRITE_RATE`` works here, wherever you grade from.
"""

from __future__ import annotations

from spyrelab.ktir import F16, F32, Builder, Module  # noqa: F401
from spyrelab.ktir.builder import TileGroups  # noqa: F401
from spyrelab.machine import SPYRE  # noqa: F401


def bound_of(timeline: list[tuple[str, float, float]]) -> tuple[str, float]:
    """Read a timeline: name the unit that bounds it, and the share of the time it is busy.

    Each entry is ``(unit, begin, end)``.  Time runs from 0 to the last end; a unit is busy while
    at least one of its entries runs, and the one that is busy longest is the bound.  Entries come
    in any order, and those of one unit may overlap: several loads can be on their way at once.

    About 8 lines.
    """
    raise NotImplementedError("ch02.1")


def roofline_us(b: int, m: int, n: int, k: int) -> float:
    """Predict the roofline time of ``b`` products ``[m, k] @ [k, n]`` of f16, in microseconds.

    The matrix units do ``SPYRE.peak_flops("f16")`` operations a second, two per
    multiply-accumulate; main memory gives ``SPYRE.ddr_read_bytes_per_second``.  Every operand is
    read once, every result written once, and the slower of the two sets the time.

    About 3 lines.
    """
    raise NotImplementedError("ch02.2")


def predict_speedup(rows: int, cols: int, passes: int) -> float:
    """Predict what reading once gains: ``centre(rows, cols, passes)`` over ``centre(..., 1)``.

    The program in ``given_ch02.py`` reads its matrix ``passes`` times and writes it once; memory
    is all that it waits for.  ``READ_RATE``, ``WRITE_RATE`` (bytes a second) and ``LAUNCH``
    (seconds that any kernel takes) are there too; cols is a multiple of 64.  The answer may be
    off by 3 %.

    About 3 lines.
    """
    raise NotImplementedError("ch02.3")


def choose_split(m: int, n: int, k: int) -> tuple[int, int]:
    """Choose how 32 cores share a product ``[m, k] @ [k, n]``: parts of m, and parts of n.

    Their product is 32; m can be anything, n is at least 2,048 and k at least 1,024.  A core holds
    128 rows of sums at a time, or 256 if it has at most 128 columns, and reads its share of the
    right operand once for each such block of rows.  The predicted time may be 10 % above that of
    the best split.

    About 3 lines for a rule, 10 for a model of your own.
    """
    raise NotImplementedError("ch02.4")


def overlapped(rows: int, cols: int) -> Module:
    """Build ``activation_in_one_tile`` (see ``given_ch02.py``) so that its engines overlap.

    The same values from the same arguments, but loads, arithmetic and stores of different tiles
    at the same time: the next tile is loaded ahead when the back end's share of the scratchpad, a
    fifth of 2 MiB, holds it.  No two cores may store the same row, so the height of a tile has to
    divide a core's share of the rows: a last tile that sticks out reaches into the next core's.
    Budget: 18 % above the time that memory alone needs.

    About 11 lines.
    """
    raise NotImplementedError("ch02.5")


def column_sums(rows: int, cols: int) -> Module:
    """Build the sums of the columns of a tall matrix, faster than ``column_sums_by_stick``.

    ``out[c] = sum_r x[r, c]``, added up in f32.  Arguments of the kernel: pointers x
    ``[rows, cols]`` of f16 and out ``[cols]`` of f32; rows is at least 32, cols at most 2,048.
    The program in ``given_ch02.py`` gives every core some columns, so its runs in memory are short,
    and short runs cost as much as long ones.  Budget: 25 % above reading x once at ``READ_RATE``.

    About 17 lines.
    """
    raise NotImplementedError("ch02.6")


def repair_race(text: str) -> str:
    """Return ``RACING_SUM`` (see ``given_ch02.py``), passed in as ``text``, without its races.

    Cores run in no order unless they exchange something: no core may write what another reads or
    writes.  Two lines are wrong.  All 32 cores keep their even share of the work.

    About 3 lines: ``text.replace(...)`` is enough.
    """
    raise NotImplementedError("ch02.7")
