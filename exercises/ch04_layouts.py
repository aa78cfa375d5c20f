"""Exercises of chapter 4: sticks, coordinates, views, stick dimensions and restickify.

Fill in the functions; ``spyrelab grade ch04`` or, in a notebook, ``spyrelab.check("ch04.1")`` tells
how far you are.  Work everything out yourself: the grader knows `spyrelab.layout`, your answers do
not call it.
"""

from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401

from spyrelab.ktir import F16, Builder, Module  # noqa: F401


def default_layout(size: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Find device_size and stride_map of a contiguous f16 tensor in its default layout.

    A stick holds 64 elements of the last dimension.  From the outside in, the device dimensions
    are: the dimensions between the first and the last; the sticks of a row; the first dimension;
    the lanes of a stick.  A vector has only sticks and lanes.  Every entry of stride_map is the
    number of host elements that one step along the device dimension takes.  All extents are at
    least 2.

    About 7 lines.
    """
    raise NotImplementedError("ch04.1")


def unpack(
    elements: Any, device_size: tuple[int, ...], stride_map: tuple[int, ...], size: tuple[int, ...]
) -> Any:
    """Find the host array in the memory of the device.

    ``elements`` is a NumPy vector: the device elements, row-major over ``device_size``, padding
    included; what lies in padding may be anything.  The result is an array of ``size``, and so
    its element number ``o`` in row-major order has host offset ``o``.  Its device coordinates
    follow from ``o``: along the device dimension with the largest host stride it is ``o // stride``
    steps, and the rest of ``o`` is for the smaller strides.  A stride of -1 belongs to a stick
    dimension of which only lane 0 is used.

    About 10 lines.
    """
    raise NotImplementedError("ch04.2")


def to_df16(bits: Any) -> Any:
    """Convert f16 patterns to the 1-6-9 format: uint16 to uint16, any shape.

    A pattern of 1-6-9 is a sign, 6 bits of exponent e and 9 bits of fraction f, and stands for
    ``(1 + f / 512) * 2 ** (e - 31)``.  Take the nearest; half way between two, the larger
    magnitude.  Zeros keep their sign.  There are no infinities, and only one NaN, 0x7FFF: it
    stands for all f16 infinities and NaNs.

    About 7 lines.
    """
    raise NotImplementedError("ch04.3")


def needs_gather(start: int, stop: int, step: int) -> bool:
    """Tell whether ``x[:, start:stop:step]`` has to be gathered before a program can use it.

    x is a matrix of f16 in its default layout, wide enough for the slice.  A program can follow
    the slice where it lies if there are whole numbers n, a, b, c, d such that element i of each
    row of the slice is in

        lane  ``a + b * (i % n)``  of stick  ``c + d * (i // n)``

    of that row of x.  0 <= start < stop, and step is from 1 to 64, or a multiple of 64.

    About 4 lines for a rule, 10 for a search.
    """
    raise NotImplementedError("ch04.4")


def choose_orders(
    order: tuple[int, ...], weight_order: tuple[int, int], reduced: int
) -> tuple[list[int], list[int]] | None:
    """Choose dim_orders of x and w for which nothing has to be restickified.

    A program computes ``x.permute(order) @ w.permute(weight_order)`` and ``x.sum(reduced)``, and
    wants the sum with neighbours in its sticks, not one element per stick.  ``permute`` makes
    dimension ``order[i]`` dimension i.  A product reads its left operand in sticks along k, and
    its right operand in sticks along n.  x has two dimensions or more, w has two; k is the last
    dimension of the left operand, n that of the right one.  The last dimension of a dim_order is
    the one that sticks run along; any order of the others will do.  Return None if
    there are no such orders.

    About 4 lines.
    """
    raise NotImplementedError("ch04.5")


def turn(rows: int, cols: int) -> Module:
    """Build a restickify: from sticks along the rows of a matrix to sticks along its columns.

    Arguments of the kernel: pointers x, a matrix [rows, cols] of f16 in its default layout, of
    device_size [ceil(cols / 64), rows, 64]; and out, the same matrix with dim_order [1, 0], of
    device_size [ceil(rows / 64), cols, 64].  rows and cols are at least 64.  What you write to
    padding does not matter.  Budget: every stick is read once and written once, on 32 cores.
    Builder, ``b.view``, ``b.loop``, ``b.load`` and ``b.store`` are those of chapter 1; a ``b.loop``
    from ``b.compute_tile_id()`` in steps of 32 shares work out.

    About 11 lines.
    """
    raise NotImplementedError("ch04.6")


def cheapest_layouts(comes: list[int], costs: list[int], stream_cost: int) -> list[int]:
    """Choose the layout of a stream at each of its additions, at least total cost.

    A stream takes part in ``len(comes)`` additions, one after the other.  Addition i adds a tensor
    that comes in layout ``comes[i]``, 0 or 1.  It can be done in either layout, but stream and
    tensor have to be in the same: to convert the tensor costs ``costs[i]`` nanoseconds, to convert
    the stream, at any time, ``stream_cost``.  The stream comes in layout 0, and in the end it has
    to be in layout 0 again.  Return the layout of each addition.  There may be hundreds.

    About 9 lines.
    """
    raise NotImplementedError("ch04.7")
