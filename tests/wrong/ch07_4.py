"""Plausible wrong answers to ch07.4.  Docstrings: the status, and how the first hint begins."""

import triton
import triton.language as tl

TASK = "ch07.4"


def first_tile_only():
    """wrong: A row comes in tiles"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        top = tl.max(values, axis=0)
        tl.store(out + row, top + tl.log(tl.sum(tl.exp(values - top), axis=0)))

    return kernel


def last_tile_without_a_mask():
    """wrong: A row comes in tiles"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        total = tl.full([], 0.0, tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.sum(tl.exp(tl.load(x + row * columns + at)), axis=0)
        tl.store(out + row, tl.log(total))

    return kernel


def total_is_not_scaled():
    """wrong: A row comes in tiles"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        top = tl.full([], -float("inf"), tl.float32)
        total = tl.full([], 0.0, tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
            top = tl.maximum(top, tl.max(values, axis=0))
            total += tl.sum(tl.exp(values - top), axis=0)
        tl.store(out + row, top + tl.log(total))

    return kernel


def no_maximum():
    """wrong: exp(1000) is infinite"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        total = tl.full([], 0.0, tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
            total += tl.sum(tl.exp(values), axis=0)
        tl.store(out + row, tl.log(total))

    return kernel


def top_begins_with_zero():
    """wrong: exp(1000) is infinite"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        top = tl.full([], 0.0, tl.float32)
        total = tl.full([], 0.0, tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
            higher = tl.maximum(top, tl.max(values, axis=0))
            total = total * tl.exp(top - higher) + tl.sum(tl.exp(values - higher), axis=0)
            top = higher
        tl.store(out + row, top + tl.log(total))

    return kernel


def two_passes():
    """over budget: The result is right, but every element"""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        top = tl.full([], -float("inf"), tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
            top = tl.maximum(top, tl.max(values, axis=0))
        total = tl.full([], 0.0, tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
            total += tl.sum(tl.exp(values - top), axis=0)
        tl.store(out + row, top + tl.log(total))

    return kernel
