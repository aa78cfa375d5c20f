"""Plausible wrong answers to ch07.6.  Docstrings: the status, and how the first hint begins."""

import triton
import triton.language as tl

TASK = "ch07.6"


def pages_in_order():
    """wrong: Page p of a sequence"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = page
            held = page * PAGE + token < length
            values = tl.load(cache + block * PAGE * D + token * D + dim, mask=held, other=0.0)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def first_row_of_the_table():
    """wrong: Page p of a sequence"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = tl.load(table + page)
            held = page * PAGE + token < length
            values = tl.load(cache + block * PAGE * D + token * D + dim, mask=held, other=0.0)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def first_page_again():
    """wrong: Page p of a sequence"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = tl.load(table + sequence * row)
            held = page * PAGE + token < length
            values = tl.load(cache + block * PAGE * D + token * D + dim, mask=held, other=0.0)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def whole_last_page():
    """wrong: How many tokens has the last page"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = tl.load(table + sequence * row + page)
            values = tl.load(cache + block * PAGE * D + token * D + dim)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def nothing_times_nan():
    """wrong: How many tokens has the last page"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = tl.load(table + sequence * row + page)
            held = (page * PAGE + token < length).to(tl.float32)
            values = tl.load(cache + block * PAGE * D + token * D + dim)
            total += tl.sum(values * held, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def full_pages_only():
    """wrong: How many tokens has the last page"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(length // PAGE):
            block = tl.load(table + sequence * row + page)
            values = tl.load(cache + block * PAGE * D + token * D + dim)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def all_of_the_table():
    """over budget: It is right, but reads more"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(row):
            block = tl.load(table + sequence * row + page)
            held = page * PAGE + token < length
            values = tl.load(cache + block * PAGE * D + token * D + dim)
            total += tl.sum(tl.where(held, values, 0.0), axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def element_by_element():
    """wrong: It is right, but reads more"""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = tl.load(table + sequence * row + page)
            held = page * PAGE + token < length
            at = token * D + dim
            at = at * at // tl.maximum(at, 1)
            values = tl.load(cache + block * PAGE * D + at, mask=held, other=0.0)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel
