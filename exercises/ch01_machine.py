"""Exercises of chapter 1: cores, sticks, the scratchpad, and KTIR.

Fill in the functions; ``spyrelab grade ch01`` or, in a notebook, ``spyrelab.check("ch01.1")`` tells
how far you are.  The card has 32 cores, a stick is 128 bytes, a core's scratchpad (LX) is 2 MiB.
Kernels are built with `spyrelab.ktir.Builder`; the grader runs what you return on the emulator,
on sizes and values of its own.  The programs that some tasks start from are in ``given_ch01.py``.
``help(Builder)`` in a Python session lists all that a Builder can write.
"""

from __future__ import annotations

from spyrelab.ktir import F16, F32, I32, Builder, Module  # noqa: F401
from spyrelab.ktir.builder import TileGroups  # noqa: F401


def owner_of(index: int, n: int, itemsize: int) -> tuple[int, int, int]:
    """Say where element ``index`` of a vector lives: ``(core, stick, lane)``.

    The vector has ``n`` elements of ``itemsize`` bytes (1, 2 or 4) and begins at a stick.  Its
    sticks (the last one may be partly filled) go to the 32 cores in equal runs of neighbours, as
    short as possible: core 0 takes the first run, core 1 the next, and the last cores may be left
    with less, or nothing.  ``stick`` counts from the beginning of the vector, ``lane`` within the
    stick, in elements.

    About 4 lines.
    """
    raise NotImplementedError("ch01.1")


def axpy(n: int, alpha: float) -> Module:
    """Build the kernel ``out[i] = alpha * x[i] + y[i]`` for ``n`` elements of f16, any n.

    Arguments of the kernel: pointers x, y, out, in this order.  Grid: 32 cores.  Divide the work
    as in ch01.1: no two cores write to the same stick, and no core has more than its even share.
    Each input is read once, and nothing outside the arrays is touched.

    About 9 lines.
    """
    raise NotImplementedError("ch01.2")


def predict_traffic(rows: int, cols: int) -> tuple[int, int]:
    """Predict the bytes that ``softmax_in_three_passes(rows, cols)`` reads and writes in DDR.

    Read the program in ``given_ch01.py``, not the counters.  Bytes count every element that a core
    asks for and that the view has: parts of a tile beyond the view move nothing.

    About 3 lines.
    """
    raise NotImplementedError("ch01.3")


def repair_centre(text: str) -> str:
    """Return ``BROKEN_CENTRE`` (see ``given_ch01.py``), passed in as ``text``, with its bugs fixed.

    Three lines are wrong: one gives wrong values always, one for some data, and one only moves
    more bytes than it has to.

    About 4 lines: ``text.replace(...)`` is enough.  In KTIR text a float may be given by its bits:
    in f16, ``0x7C00`` is infinity.
    """
    raise NotImplementedError("ch01.4")


def softmax(rows: int, cols: int) -> Module:
    """Build softmax along the rows of a matrix, with the least traffic there can be.

    ``out[r, c] = exp(x[r, c] - top_r) / sum_c exp(x[r, c] - top_r)``, with top_r the largest
    value of the row.  Arguments of the kernel: pointers x, out, each ``[rows, cols]`` of f16.
    Compute in f32.  Every element is read once and written once, so a row stays in the scratchpad
    in between (cols is at most 8,192).  Grid: 32 cores, each with an even share of the rows.

    About 15 lines.
    """
    raise NotImplementedError("ch01.5")


def row_sums(rows: int, cols: int) -> Module:
    """Build the sums of a few long rows: all 32 cores work on every row.

    ``out[r] = sum_c x[r, c]``, added up in f32.  Arguments of the kernel: pointers x
    ``[rows, cols]`` of f16 and out ``[rows]`` of f32; rows is at most 8, cols at least 2,048 and
    otherwise anything.  Each core adds up its own columns (whole sticks); core 0 collects the
    partial sums with `Builder.produce_reduce` and stores them.  Only partial sums travel on the
    ring, and only to core 0.

    About 12 lines.
    """
    raise NotImplementedError("ch01.6")


def gather_tokens(tokens: int, pages: int, width: int) -> Module:
    """Build a gather through a page table: what paged attention does first.

    ``out[t, :] = store[table[t // 16], t % 16, :]`` for t below ``tokens``, at least 16.
    Arguments of the kernel: pointers store ``[pages, 16, width]`` of f16, table
    ``[ceil(tokens / 16)]`` of i32, and out ``[tokens, width]`` of f16.  Page numbers may repeat.
    Grid: 32 cores, pages go round them.  Read the pages that the table names, and no others
    (`Builder.gather`).

    About 11 lines.
    """
    raise NotImplementedError("ch01.7")


def tallest_tile(cols: int, lx_bytes: int) -> int:
    """Say how many rows a tile may have: the most that keep LX use within ``lx_bytes``.

    The program is ``tanh_by_rows(rows, cols, height)`` of ``given_ch01.py``.  A tensor value takes
    its size, rounded up to whole sticks, from where it is made to its last use; a result of the
    same size as an operand that is not used again takes over its place.

    About 5 lines.
    """
    raise NotImplementedError("ch01.8")
