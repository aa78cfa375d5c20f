"""Plausible wrong answers to ch01.1.  Docstrings: the status, and how the first hint begins."""

TASK = "ch01.1"


def always_sixty_four_lanes(index, n, itemsize):
    """wrong: How many elements a stick holds depends on their size."""
    run = -(-n // (64 * 32))
    return index // 64 // run, index // 64, index % 64


def runs_rounded_down(index, n, itemsize):
    """wrong: When the sticks do not divide by 32, round up"""
    lanes = 128 // itemsize
    run = max(1, n // lanes // 32)
    return index // lanes // run, index // lanes, index % lanes


def sticks_dealt_like_cards(index, n, itemsize):
    """wrong: A stick is 128 bytes"""
    stick, lane = divmod(index, 128 // itemsize)
    return stick % 32, stick, lane


def stick_within_the_core(index, n, itemsize):
    """wrong: A stick is 128 bytes"""
    lanes = 128 // itemsize
    run = -(-n // (lanes * 32))
    stick, lane = divmod(index, lanes)
    return stick // run, stick % run, lane


def elements_split_evenly(index, n, itemsize):
    """wrong: When the sticks do not divide by 32, round up"""
    lanes = 128 // itemsize
    return index // -(-n // 32), index // lanes, index % lanes
