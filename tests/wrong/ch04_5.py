"""Plausible wrong answers to ch04.5.  Docstrings: the status, and how the first hint begins."""

TASK = "ch04.5"


def with_last(rank, stick):
    return [*(d for d in range(rank) if d != stick), stick]


def as_they_are(order, weight_order, reduced):
    """wrong: k is the last dimension"""
    return list(range(len(order))), [0, 1]


def right_operand_along_k(order, weight_order, reduced):
    """wrong: k is the last dimension"""
    k = order[-1]
    return None if reduced == k else (with_last(len(order), k), with_last(2, weight_order[0]))


def left_operand_along_m(order, weight_order, reduced):
    """wrong: k is the last dimension"""
    m = order[-2]
    return with_last(len(order), m), with_last(2, weight_order[-1])


def always_refuses(order, weight_order, reduced):
    """wrong: k is the last dimension"""


def where_the_last_goes(order, weight_order, reduced):
    """wrong: order says which"""
    k = order.index(len(order) - 1)
    if reduced == k:
        return None
    return with_last(len(order), k), with_last(2, weight_order.index(1))


def only_the_stick(order, weight_order, reduced):
    """wrong: order says which"""
    k = order[-1]
    if reduced == k:
        return None
    return [1 - k, k] if len(order) == 2 else [k], with_last(2, weight_order[-1])


def the_sum_does_not_care(order, weight_order, reduced):
    """wrong: A sum along the sticks"""
    return with_last(len(order), order[-1]), with_last(2, weight_order[-1])


def sticks_along_something_else(order, weight_order, reduced):
    """wrong: A sum along the sticks"""
    k = order[-1] if reduced != order[-1] else order[-2]
    return with_last(len(order), k), with_last(2, weight_order[-1])
