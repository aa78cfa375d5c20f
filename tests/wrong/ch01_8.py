"""Plausible wrong answers to ch01.8.  Docstrings: the status, and how the first hint begins."""

TASK = "ch01.8"


def only_the_f16_tile(cols, lx_bytes):
    """over budget: Which tensor values are alive at once"""
    return lx_bytes // (2 * cols)


def only_the_f32_tile(cols, lx_bytes):
    """over budget: Which tensor values are alive at once"""
    return lx_bytes // (4 * cols)


def every_value_apart(cols, lx_bytes):
    """wrong: Which tensor values are alive at once"""
    return lx_bytes // (12 * cols)


def no_whole_sticks(cols, lx_bytes):
    """over budget: Each value takes whole sticks"""
    return lx_bytes // (6 * cols)


def one_row_to_be_safe(cols, lx_bytes):
    """wrong: Which tensor values are alive at once"""
    return 1


def a_fraction(cols, lx_bytes):
    """wrong: Which tensor values are alive at once"""
    return lx_bytes / (6 * cols)
