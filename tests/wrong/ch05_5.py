"""Plausible wrong answers to ch05.5.  Docstrings: the status, and how the first hint begins."""

TASK = "ch05.5"


def least(rows, cols, capacity, size):
    return next(t for t in range(1, rows + 1) if rows % t == 0 and size(rows // t) <= capacity)


def in_place(turns, rows, cols, top, total):
    return turns, {"x": 0, "shifted": 0, "powers": 0, "top": top, "total": total}


def everything_through_memory(rows, cols, capacity):
    """over budget: Start with everything in one turn"""
    return 1, dict.fromkeys(("x", "top", "shifted", "powers", "total"))


def all_at_zero(rows, cols, capacity):
    """wrong: Start with everything in one turn"""
    return in_place(1, rows, cols, 0, 0)


def input_read_twice(rows, cols, capacity):
    """over budget: Start with everything in one turn"""
    top = rows * cols * 2
    return 1, {"x": None, "shifted": 0, "powers": 0, "top": top, "total": top}


def dense_statistics(rows, cols, capacity):
    """wrong: Start with everything in one turn"""
    return 1, {"x": 512, "shifted": 512, "powers": 512, "top": 0, "total": 256}


def never_in_turns(rows, cols, capacity):
    """wrong: If it does not fit"""
    top = rows * cols * 2
    return in_place(1, rows, cols, top, top)


def row_by_row(rows, cols, capacity):
    """over budget: If it does not fit"""
    if rows * (cols * 2 + 128) <= capacity:
        return in_place(1, rows, cols, rows * cols * 2, rows * cols * 2)
    return in_place(rows, rows, cols, cols * 2, cols * 2)


def two_columns_of_statistics(rows, cols, capacity):
    """over budget: If it does not fit"""
    turns = least(rows, cols, capacity, lambda n: n * (cols * 2 + 256))
    size = rows // turns
    return in_place(turns, rows, cols, size * cols * 2, size * (cols * 2 + 128))


def powers_of_two(rows, cols, capacity):
    """over budget: If it does not fit"""
    turns = 1
    while rows // turns * (cols * 2 + 128) > capacity:
        turns *= 2
    top = rows // turns * cols * 2
    return in_place(turns, rows, cols, top, top)
