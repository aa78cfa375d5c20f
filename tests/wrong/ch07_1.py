"""Plausible wrong answers to ch07.1.  Docstrings: the status, and how the first hint begins."""

import triton
import triton.language as tl

TASK = "ch07.1"


def every_program_takes_the_first_block():
    """wrong: Which elements are those"""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        inside = at < n
        total = alpha * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
        tl.store(out + at, total, mask=inside)

    return kernel


def forgets_alpha():
    """wrong: Which elements are those"""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)

    return kernel


def one_element_a_program():
    """wrong: Which elements are those"""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) + tl.arange(0, BLOCK)
        inside = at < n
        total = alpha * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
        tl.store(out + at, total, mask=inside)

    return kernel


def no_kernel():
    """wrong: Which elements are those"""
    return lambda x, y, out, alpha, n, block: None


def no_mask():
    """wrong: The last block is not full"""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, alpha * tl.load(x + at) + tl.load(y + at))

    return kernel


def mask_of_the_store_only():
    """wrong: The last block is not full"""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, alpha * tl.load(x + at) + tl.load(y + at), mask=at < n)

    return kernel


def one_too_many():
    """wrong: The last block is not full"""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at <= n
        total = alpha * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
        tl.store(out + at, total, mask=inside)

    return kernel
