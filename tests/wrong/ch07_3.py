"""Plausible wrong answers to ch07.3.  Docstrings: the status, and how the first hint begins."""

import triton
import triton.language as tl

TASK = "ch07.3"


def places_count_tiles():
    """wrong: A descriptor has the shape"""

    @triton.jit
    def kernel(
        x, out, rows, columns, factor,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        place = [tl.program_id(0), tl.program_id(1)]
        target.store(place, source.load(place) * factor)

    return kernel


def shape_of_the_grid():
    """wrong: A descriptor has the shape"""

    @triton.jit
    def kernel(
        x, out, rows, columns, factor,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        wide = tl.num_programs(1) * COLUMNS
        high = tl.num_programs(0) * ROWS
        source = tl.make_tensor_descriptor(x, [high, wide], [wide, 1], [ROWS, COLUMNS])
        target = tl.make_tensor_descriptor(out, [high, wide], [wide, 1], [ROWS, COLUMNS])
        place = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
        target.store(place, source.load(place) * factor)

    return kernel


def columns_and_rows_changed():
    """wrong: A descriptor has the shape"""

    @triton.jit
    def kernel(
        x, out, rows, columns, factor,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        place = [tl.program_id(1) * ROWS, tl.program_id(0) * COLUMNS]
        target.store(place, source.load(place) * factor)

    return kernel


def still_pointers():
    """wrong: Something still goes through a pointer"""

    @triton.jit
    def kernel(
        x, out, rows, columns, factor,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        at = row[:, None] * columns + column[None, :]
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        tl.store(out + at, tl.load(x + at, mask=inside) * factor, mask=inside)

    return kernel


def stores_through_a_pointer():
    """wrong: Something still goes through a pointer"""

    @triton.jit
    def kernel(
        x, out, rows, columns, factor,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        at = row[:, None] * columns + column[None, :]
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        values = source.load([tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS])
        tl.store(out + at, values * factor, mask=inside)

    return kernel
