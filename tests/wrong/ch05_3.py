"""Plausible wrong answers to ch05.3.  Docstrings: the status, and how the first hint begins."""

from math import ceil

TASK = "ch05.3"


def fit(buffers, capacity, meets, stick=128, follow=max, fits=lambda end, room: end <= room):
    found = []
    for size, first, last in buffers:
        size = ceil(size / stick) * stick
        address = 0
        met = [
            (at, at + ceil(n / stick) * stick)
            for at, (n, born, dies) in zip(found, buffers, strict=False)
            if at is not None and meets(born, dies, first, last)
        ]
        for low, high in sorted(met):
            if address + size <= low:
                break
            address = follow(address, high)
        found.append(address if fits(address + size, capacity) else None)
    return found


def together(born, dies, first, last):
    return born <= last and first <= dies


def everybody_at_once(buffers, capacity):
    """wrong: Two buffers are in each other's way"""
    return fit(buffers, capacity, lambda *lives: True)


def last_step_does_not_count(buffers, capacity):
    """wrong: Two buffers are in each other's way"""
    return fit(buffers, capacity, lambda b, d, f, e: b < e and f < d)


def only_those_alive_at_birth(buffers, capacity):
    """wrong: Two buffers are in each other's way"""
    return fit(buffers[::-1], capacity, lambda b, d, f, e: b <= f <= d)[::-1]


def on_top_of_the_others(buffers, capacity):
    """wrong: A buffer may fit into a hole"""
    found = []
    for size, first, last in buffers:
        ends = [
            at + n
            for at, (n, born, dies) in zip(found, buffers, strict=False)
            if at is not None and together(born, dies, first, last)
        ]
        address = max(ends, default=0)
        found.append(address if address + size <= capacity else None)
    return found


def best_fit(buffers, capacity):
    """wrong: A buffer may fit into a hole"""
    found = []
    for size, first, last in buffers:
        size = ceil(size / 128) * 128
        met = [
            (at, at + ceil(n / 128) * 128)
            for at, (n, born, dies) in zip(found, buffers, strict=False)
            if at is not None and together(born, dies, first, last)
        ]
        holes, address = [], 0
        for low, high in sorted(met):
            if address + size <= low:
                holes.append((low - address, address))
            address = max(address, high)
        address = min([*holes, (capacity, address)])[1]
        found.append(address if address + size <= capacity else None)
    return found


def end_of_the_last_one(buffers, capacity):
    """wrong: A buffer may fit into a hole"""
    return fit(buffers, capacity, together, follow=lambda address, high: high)


def no_capacity(buffers, capacity):
    """wrong: The scratchpad ends somewhere"""
    return fit(buffers, capacity, together, fits=lambda end, room: True)


def bytes_and_not_sticks(buffers, capacity):
    """wrong: The scratchpad ends somewhere"""
    return fit(buffers, capacity, together, stick=1)


def full_is_too_full(buffers, capacity):
    """wrong: The scratchpad ends somewhere"""
    return fit(buffers, capacity, together, fits=lambda end, room: end < room)
