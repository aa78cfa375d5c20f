"""Plausible wrong answers to ch02.3.  Docstrings: the status, and how the first hint begins."""

from spyrelab.timing import CONSTANTS

TASK = "ch02.3"
READ = CONSTANTS.ddr_bytes_per_second / (1 + CONSTANTS.unicast_overhead)
WRITE = CONSTANTS.ddr_write_bytes_per_second
LAUNCH = CONSTANTS.launch_seconds


def ratio_of_bytes(rows, cols, passes):
    """wrong: Fewer bytes are not all"""
    return (passes + 1) / 2


def reads_alone(rows, cols, passes):
    """wrong: Fewer bytes are not all"""
    return float(passes)


def upside_down(rows, cols, passes):
    """wrong: Fewer bytes are not all"""
    return (1 / READ + 1 / WRITE) / (passes / READ + 1 / WRITE)


def writes_in_every_pass(rows, cols, passes):
    """wrong: Fewer bytes are not all"""
    return float((passes / READ + passes / WRITE) / (1 / READ + 1 / WRITE))


def always_two_passes(rows, cols, passes):
    """wrong: How often does the program read"""
    nbytes = 2 * rows * cols
    rest = LAUNCH + nbytes / WRITE
    return (2 * nbytes / READ + rest) / (nbytes / READ + rest)


def launch_forgotten(rows, cols, passes):
    """wrong: A small kernel gains less"""
    return (passes / READ + 1 / WRITE) / (1 / READ + 1 / WRITE)


def launch_in_the_slow_one_alone(rows, cols, passes):
    """wrong: A small kernel gains less"""
    nbytes = 2 * rows * cols
    slow = LAUNCH + passes * nbytes / READ + nbytes / WRITE
    return slow / (nbytes / READ + nbytes / WRITE)
