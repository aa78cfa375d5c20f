"""Plausible wrong answers to ch07.5.  Docstrings: the status, and how the first hint begins."""

TASK = "ch07.5"


def smallest(m, n, k):
    """over budget: Three powers of two"""
    return 16, 16, 16


def everything_at_once(m, n, k):
    """over budget: Three powers of two"""
    return m, n, 64


def a_gpu_tile(m, n, k):
    """over budget: Three powers of two"""
    return 64, 64, 32


def thirds(m, n, k):
    """wrong: Three powers of two"""
    return 96, 96, 64


def tuned_for_squares(m, n, k):
    """over budget: With few rows there are few"""
    return min(128, m), 128 if m == 512 else 256, 256


def rows_for_every_core(m, n, k):
    """over budget: With few rows there are few"""
    if m < 256:
        return 16, n, 64
    return (128, 256, 256) if m > 512 else (128, 64, 256)
