"""Plausible wrong answers to ch01.3.  Docstrings: the status, and how the first hint begins."""

from spyrelab import emulator

TASK = "ch01.3"


def powers_taken_for_f16(rows, cols):
    """wrong: What is stored, and in which type?"""
    return rows * cols * 6, rows * cols * 4


def x_counted_once(rows, cols):
    """wrong: Count the loads of every pass"""
    return rows * cols * 6, rows * cols * 6


def elements_for_bytes(rows, cols):
    """wrong: What is stored, and in which type?"""
    return rows * cols * 3, rows * cols * 2


def padded_rows(rows, cols):
    """wrong: What happens with the rows of a tile that lie beyond the view?"""
    rows = -(-rows // 4) * 4
    return rows * cols * 8, rows * cols * 6


def padded_columns(rows, cols):
    """wrong: What happens with the rows of a tile that lie beyond the view?"""
    cols = -(-cols // 64) * 64
    return rows * cols * 8, rows * cols * 6


def asks_the_emulator(rows, cols):
    """wrong: What is stored, and in which type?"""
    from spyrelab import ktir

    emulator.run(ktir.parse("module { func.func @f() { return } }"), {}, engine="reference")
    return rows * cols * 8, rows * cols * 6


def one_number(rows, cols):
    """wrong: What is stored, and in which type?"""
    return rows * cols * 14
