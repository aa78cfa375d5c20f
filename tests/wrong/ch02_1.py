"""Plausible wrong answers to ch02.1.  Docstrings: the status, and how the first hint begins."""

TASK = "ch02.1"


def totals(timeline):
    busy = {}
    for unit, begin, end in timeline:
        busy[unit] = busy.get(unit, 0.0) + end - begin
    return busy


def unions(timeline):
    busy, reached = {}, {}
    for unit, begin, end in sorted(timeline, key=lambda span: span[1]):
        start = max(begin, reached.get(unit, 0.0))
        busy[unit] = busy.get(unit, 0.0) + max(0.0, end - start)
        reached[unit] = max(end, reached.get(unit, 0.0))
    return busy


def last(timeline):
    return max(end for _, _, end in timeline)


def longest_entry(timeline):
    """wrong: The bound is the unit that is busy longest in all"""
    unit, begin, end = max(timeline, key=lambda span: span[2] - span[1])
    return unit, (end - begin) / last(timeline)


def most_entries(timeline):
    """wrong: The bound is the unit that is busy longest in all"""
    units = [unit for unit, _, _ in timeline]
    unit = max(units, key=units.count)
    return unit, totals(timeline)[unit] / last(timeline)


def share_of_busy_time(timeline):
    """wrong: The bound is the unit that is busy longest in all"""
    busy = totals(timeline)
    unit = max(busy, key=busy.get)
    return unit, busy[unit] / sum(busy.values())


def percent(timeline):
    """wrong: The bound is the unit that is busy longest in all"""
    busy = unions(timeline)
    unit = max(busy, key=busy.get)
    return unit, 100 * busy[unit] / last(timeline)


def overlaps_counted_twice(timeline):
    """wrong: Two loads on their way at once"""
    busy = totals(timeline)
    unit = max(busy, key=busy.get)
    return unit, busy[unit] / last(timeline)


def from_first_begin_to_last_end(timeline):
    """wrong: The bound is the unit that is busy longest in all"""
    span = {}
    for unit, begin, end in timeline:
        low, high = span.get(unit, (begin, end))
        span[unit] = min(low, begin), max(high, end)
    unit = max(span, key=lambda name: span[name][1] - span[name][0])
    return unit, (span[unit][1] - span[unit][0]) / last(timeline)


def forgets_what_lies_inside(timeline):
    """wrong: Two loads on their way at once"""
    busy, reached = {}, {}
    for unit, begin, end in sorted(timeline, key=lambda span: span[1]):
        start = max(begin, reached.get(unit, 0.0))
        busy[unit] = busy.get(unit, 0.0) + max(0.0, end - start)
        reached[unit] = end
    unit = max(busy, key=busy.get)
    return unit, busy[unit] / last(timeline)


def time_from_the_first_entry(timeline):
    """wrong: Time begins at 0"""
    busy = unions(timeline)
    unit = max(busy, key=busy.get)
    begin = min(begin for _, begin, _ in timeline)
    return unit, busy[unit] / (last(timeline) - begin)
