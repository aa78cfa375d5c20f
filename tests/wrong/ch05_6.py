"""Plausible wrong answers to ch05.6.  Docstrings: the status, and how the first hint begins."""

TASK = "ch05.6"


def each_its_own(rows, depth, cols):
    """wrong: A core of the softmax"""
    return (4, 4, 1), (32, 1)


def sums_in_parts(rows, depth, cols):
    """wrong: A core of the softmax"""
    return (4, 4, 2), (4, 4)


def crossed(rows, depth, cols):
    """wrong: A core of the softmax"""
    return (4, 2, 1), (2, 4)


def columns_not_in_sticks(rows, depth, cols):
    """wrong: A core of the softmax"""
    return (1, 32, 1), (1, 32)


def as_the_softmax_likes(rows, depth, cols):
    """over budget: Rows alone would suit"""
    return (32, 1, 1), (32, 1)


def half_of_the_cores(rows, depth, cols):
    """over budget: Rows alone would suit"""
    return (4, 4, 1), (4, 4)


def four_by_eight(rows, depth, cols):
    """wrong: Not every number of sticks"""
    return ((4, 4, 1), (4, 4)) if cols == 256 else ((4, 8, 1), (4, 8))


def powers_of_two(rows, depth, cols):
    """over budget: Not every number of sticks"""
    q = next(q for q in (8, 4, 2, 1) if cols // 64 % q == 0)
    q = min(q, 8 if rows < 1024 else 4)
    return (32 // q, q, 1), (32 // q, q)
