"""Plausible wrong answers to ch04.4.  Docstrings: the status, and how the first hint begins."""

TASK = "ch04.4"


def last_of(start, stop, step):
    return start + (stop - start - 1) // step * step


def never(start, stop, step):
    """wrong: x[:, 10:200] has 54"""
    return False


def any_start_inside_a_stick(start, stop, step):
    """wrong: x[:, 10:200] has 54"""
    return start % 64 != 0


def whole_sticks_only(start, stop, step):
    """wrong: x[:, 10:200] has 54"""
    return start % 64 != 0 or stop % 64 != 0


def a_number(start, stop, step):
    """wrong: x[:, 10:200] has 54"""
    return int(start % 64 != 0 and start // 64 != (stop - 1) // 64)


def any_gap(start, stop, step):
    """wrong: With a step of 16"""
    return step > 1 or (start % 64 != 0 and start // 64 != (stop - 1) // 64)


def gaps_never(start, stop, step):
    """wrong: With a step of 16"""
    return step == 1 and start % 64 != 0 and start // 64 != (stop - 1) // 64


def starts_at_lane_zero(start, stop, step):
    """wrong: With a step of 16"""
    crosses = start // 64 != last_of(start, stop, step) // 64
    return crosses and (64 % step != 0 or start % 64 != 0)


def start_forgotten(start, stop, step):
    """wrong: With a step of 16"""
    crosses = start // 64 != last_of(start, stop, step) // 64
    return crosses and (64 % step != 0 or (step == 1 and start % 64 != 0))


def whole_sticks_are_not_skipped(start, stop, step):
    """wrong: A slice may also skip"""
    crosses = start // 64 != last_of(start, stop, step) // 64
    return crosses and (64 % step != 0 or start % 64 >= step)


def ends_at_stop(start, stop, step):
    """wrong: A slice may also skip"""
    if step % 64 == 0 or start // 64 == (stop - 1) // 64:
        return False
    return 64 % step != 0 or start % 64 >= step
