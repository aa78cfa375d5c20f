"""Plausible wrong answers to ch04.7.  Docstrings: the status, and how the first hint begins."""

from itertools import pairwise, product

TASK = "ch04.7"


def price(chosen, comes, costs, stream_cost):
    turns = sum(a != b for a, b in pairwise([0, *chosen, 0]))
    steps = zip(chosen, comes, costs, strict=True)
    return turns * stream_cost + sum(cost for own, other, cost in steps if own != other)


def never_the_stream(comes, costs, stream_cost):
    """over budget: Sometimes it is cheaper"""
    return [0] * len(comes)


def always_the_stream(comes, costs, stream_cost):
    """over budget: Sometimes it is cheaper"""
    return list(comes)


def the_way_back_forgotten(comes, costs, stream_cost):
    """over budget: Sometimes it is cheaper"""
    choices = product((0, 1), repeat=len(comes))

    def one_way(chosen):
        return price(chosen, comes, costs, stream_cost) - stream_cost * chosen[-1]

    return list(min(choices, key=one_way))


def a_tuple(comes, costs, stream_cost):
    """wrong: Sometimes it is cheaper"""
    return tuple(comes)


def greedy(comes, costs, stream_cost):
    """over budget: What is cheapest for this"""
    chosen = []
    for arrives, cost in zip(comes, costs, strict=True):
        before = chosen[-1] if chosen else 0
        back = 2 if before == 0 else 1
        turn = back * stream_cost
        chosen.append(arrives if arrives != before and turn < cost else before)
    return chosen


def one_by_one(comes, costs, stream_cost):
    """over budget: What is cheapest for this"""
    pairs = zip(comes, costs, strict=True)
    return [int(arrives == 1 and 2 * stream_cost < cost) for arrives, cost in pairs]


def all_or_nothing(comes, costs, stream_cost):
    """over budget: In a long chain"""
    choices = [[layout] * len(comes) for layout in (0, 1)]
    return min(choices, key=lambda chosen: price(chosen, comes, costs, stream_cost))


def one_stretch(comes, costs, stream_cost):
    """over budget: In a long chain"""
    n = len(comes)
    best, least = [0] * n, price([0] * n, comes, costs, stream_cost)
    for first in range(0, n, max(1, n // 20)):
        for last in range(first + 1, n + 1, max(1, n // 20)):
            chosen = [int(first <= i < last) for i in range(n)]
            total = price(chosen, comes, costs, stream_cost)
            if total < least:
                best, least = chosen, total
    return best
