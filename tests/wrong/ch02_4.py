"""Plausible wrong answers to ch02.4.  Docstrings: the status, and how the first hint begins."""

from math import log2

from spyrelab.timing import best_split

TASK = "ch02.4"


def all_parts_of_m(m, n, k):
    """over budget: What does one core read?"""
    return 32, 1


def all_parts_of_n(m, n, k):
    """over budget: What does one core read?"""
    return 1, 32


def a_list(m, n, k):
    """wrong: What does one core read?"""
    return [4, 8]


def sixteen_parts(m, n, k):
    """wrong: What does one core read?"""
    return 4, 4


def one_split_for_all(m, n, k):
    """over budget: With many rows a core reads"""
    return 4, 8


def no_more_than_four_parts_of_m(m, n, k):
    """over budget: With many rows a core reads"""
    return (4, 8) if m >= 4 else (1, 32)


def more_parts_than_rows(m, n, k):
    """wrong: There cannot be more parts than rows"""
    parts = min(16, max(4, 2 ** round(log2(m / 128))))
    return parts, 32 // parts


def rows_forgotten_below_four(m, n, k):
    """wrong: There cannot be more parts than rows"""
    parts = min(16, max(2, 4 if m <= 512 else m // 128))
    return parts, 32 // parts


def asks_the_model(m, n, k):
    """wrong: What does one core read?"""
    return best_split(1, m, n, k).split[1:3]
