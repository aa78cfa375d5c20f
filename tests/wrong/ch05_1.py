"""Plausible wrong answers to ch05.1.  Docstrings: the status, and how the first hint begins."""

from math import ceil, prod

TASK = "ch05.1"


def digits(space, core, names, size_of, end_of=min):
    if core >= prod(parts for _, parts in space.values()):
        return None
    box = {}
    for name in names:
        extent, parts = space[name]
        core, part = divmod(core, parts)
        size = size_of(extent, parts)
        box[name] = (part * size, end_of((part + 1) * size, extent))
    return {name: box[name] for name in space}


def first_symbol_fastest(space, core):
    """wrong: Write the cores"""
    return digits(space, core, list(space), lambda extent, parts: ceil(extent / parts))


def inclusive_ends(space, core):
    """wrong: Write the cores"""
    box = digits(space, core, list(space)[::-1], lambda extent, parts: ceil(extent / parts))
    return {name: (low, high - 1) for name, (low, high) in box.items()}


def rounded_down(space, core):
    """wrong: The last part may have fewer"""
    return digits(space, core, list(space)[::-1], lambda extent, parts: extent // parts)


def beyond_the_end(space, core):
    """wrong: The last part may have fewer"""
    names = list(space)[::-1]
    return digits(space, core, names, lambda n, parts: ceil(n / parts), lambda end, extent: end)


def nobody_is_idle(space, core):
    """wrong: The last part may have fewer"""
    total = prod(parts for _, parts in space.values())
    names = list(space)[::-1]
    return digits(space, core % total, names, lambda extent, parts: ceil(extent / parts))
