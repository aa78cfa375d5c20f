"""Plausible wrong answers to ch07.2.  Docstrings: the status, and how the first hint begins."""

import triton
import triton.language as tl

TASK = "ch07.2"


def as_it_was():
    """wrong: A program reads BLOCK elements"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at)
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0))

    return kernel


def mask_of_the_load_only():
    """wrong: A program reads BLOCK elements"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0))

    return kernel


def rows_of_blocks():
    """wrong: A program reads BLOCK elements"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * BLOCK + at, mask=at < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * BLOCK + at, powers / tl.sum(powers, axis=0), mask=at < columns)

    return kernel


def zeros_count():
    """wrong: A masked load reads zeros"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns)
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)

    return kernel


def zero_wins_the_maximum():
    """wrong: A masked load reads zeros"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        inside = at < columns
        values = tl.load(x + row * columns + at, mask=inside, other=0.0)
        powers = tl.where(inside, tl.exp(values - tl.max(values, axis=0)), 0.0)
        tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=inside)

    return kernel
