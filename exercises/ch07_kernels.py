"""Exercises of chapter 7: Triton kernels, masks, descriptors, pages, and what a tuner found.

Fill in the functions; ``spyrelab grade ch07`` or, in a notebook, ``spyrelab.check("ch07.1")`` tells
how far you are.  Where a kernel is asked for, define it inside of the function, under
``@triton.jit``, and return it; the grader launches it, under the sanitizer.
"""

from __future__ import annotations

from typing import Any

import triton  # noqa: F401
import triton.language as tl  # noqa: F401


def vector_add() -> Any:
    """Port a loop: ``for i in range(n): out[i] = alpha * x[i] + y[i]``.

    Return a kernel with the arguments ``(x, y, out, alpha, n, BLOCK: tl.constexpr)``.  It is
    launched with as many programs as there are blocks of BLOCK elements, the last of which may be
    filled in part; what lies behind element n belongs to somebody else.

    About 6 lines.
    """
    raise NotImplementedError("ch07.1")


def row_softmax() -> Any:
    """Mend ``unmasked_softmax`` of ``given_ch07.py``.

    It has the arguments ``(x, out, columns, BLOCK: tl.constexpr)``, one program for each row of
    ``x [rows, columns]``, and is right only where a row has exactly BLOCK elements.  Return a
    kernel that is right for any number of columns up to BLOCK.

    About 10 lines.
    """
    raise NotImplementedError("ch07.2")


def by_descriptor() -> Any:
    """Turn pointers into descriptors: ``scaled_window`` of ``given_ch07.py`` without pointers.

    Same arguments, same result; but all that the kernel reads and writes goes through
    ``tl.make_tensor_descriptor``, and there is no mask.

    About 9 lines.
    """
    raise NotImplementedError("ch07.3")


def online_logsumexp() -> Any:
    """Reduce rows of any length, in one pass: ``out[i] = log(sum over j of exp(x[i, j]))``.

    Return a kernel with the arguments ``(x, out, columns, BLOCK: tl.constexpr)``, launched with one
    program for each row of ``x [rows, columns]``, float32.  A row is read BLOCK elements at a
    time, each of them once, and values may be as large as 1000.

    About 13 lines.
    """
    raise NotImplementedError("ch07.4")


def blocks(m: int, n: int, k: int) -> tuple[int, int, int]:
    """Choose BM, BN and BK for ``product`` of ``given_ch07.py``: an f16 product of m x k and k x n.

    They are powers of two from 16 up.  The kernel has to fit the scratchpad, and has to take at
    most 1.3 times what it takes with the best blocks.  m, n and k are multiples of 64; tests use
    products that are square, and products of few rows.

    About 8 lines.
    """
    raise NotImplementedError("ch07.5")


def page_sum() -> Any:
    """Write the loop over pages: ``out[s]`` is the sum of all values of sequence s.

    Return a kernel with the arguments ``(cache, table, lens, out, row, PAGE: tl.constexpr,
    D: tl.constexpr)``, launched with one program for each sequence.  ``cache [blocks, PAGE, D]`` is
    float32; token t of sequence s lies in block ``table[s * row + t // PAGE]``, and sequence s has
    ``lens[s]`` tokens, perhaps none.  What lies behind its last token may be NaN.  ``out`` is
    ``[sequences, D]``.

    About 11 lines.
    """
    raise NotImplementedError("ch07.6")


def grouped_scores() -> Any:
    """Beat the bytes of ``naive_scores`` of ``given_ch07.py``.

    ``out[h, t]`` is the product of query h and key t of its KV head ``h // G``; the given kernel,
    which runs one program for each head and tile of tokens, reads every key G times.  Return a
    kernel with the same arguments, ``(query, keys, out, tokens, G: tl.constexpr, D: tl.constexpr,
    BLOCK: tl.constexpr)``, launched with a grid of (KV heads, tiles of tokens), that reads keys
    once.  G is 4 or 8, tokens any number; ``query [KV heads * G, D]`` and ``keys [KV heads,
    tokens, D]`` are f16, ``out [KV heads * G, tokens]`` float32.

    About 12 lines.
    """
    raise NotImplementedError("ch07.7")


def decisive(trials: list[tuple[dict[str, Any], float]]) -> dict[str, float]:
    """Read why the winner wins: how much slower is it with another value of one setting?

    ``trials`` are configurations, all with the same settings, and their predicted times; infinite
    where one cannot run.  The winner is the first of the fastest.  For each setting, look at the
    trials that run and differ from the winner in this setting alone: the result maps the setting
    to the *least* of their times, over the winner's time.  Settings without such a trial are left
    out.

    About 9 lines.
    """
    raise NotImplementedError("ch07.8")
