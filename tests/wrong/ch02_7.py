"""Plausible wrong answers to ch02.7.  Docstrings: the status, and how the first hint begins."""

from spyrelab.ktir import F16, Builder

TASK = "ch02.7"


def nothing_changed(text):
    """wrong: List for each core the rows"""
    return text


def only_the_target(text):
    """wrong: List for each core the rows"""
    head, tail = text.split("%to = ")
    return head + "%to = " + tail.replace("view %x", "view %y", 1)


def only_the_share(text):
    """wrong: List for each core the rows"""
    return text.replace("constant 7 : index", "constant 8 : index")


def share_too_large(text):
    """wrong: List for each core the rows"""
    return only_the_target(text).replace("constant 7 : index", "constant 9 : index")


def both_views_on_y(text):
    """wrong: List for each core the rows"""
    return only_the_share(text).replace("view %x", "view %y")


def one_core_of_the_program(text):
    """wrong: List for each core the rows"""
    return only_the_share(only_the_target(text)).replace("grid = [32]", "grid = [1]")


def build(share, cores, loads):
    b = Builder("sum", grid=(cores,))
    x, y = (b.view(p, sizes=(256, 64), dtype=F16) for p in b.pointers("x", "y"))
    first = b.compute_tile_id() * share
    for _ in range(loads):
        own = b.load(x[first, 0], shape=(share, 64))
    b.store(own + b.load(x[first - 1, 0], shape=(share, 64)), y[first, 0])
    return b.build()


def one_core_does_it_all(text):
    """over budget: One core alone has no race"""
    return build(256, 1, 1)


def half_of_the_cores(text):
    """over budget: One core alone has no race"""
    return build(16, 16, 1)


def loads_its_rows_twice(text):
    """over budget: Races are gone, but rows"""
    return build(8, 32, 2)
