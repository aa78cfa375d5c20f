"""Plausible wrong answers to ch05.4.  Docstrings: the status, and how the first hint begins."""

TASK = "ch05.4"


def follow(steps, wanted, end):
    found = {}
    for number, step in enumerate(steps):
        found |= dict.fromkeys(step.writes, (number, number))
        for name in step.reads:
            if name in found:
                found[name] = (found[name][0], end(found[name], number))
    return {n: (a, len(steps) - 1 if n in wanted else b) for n, (a, b) in found.items()}


def first_read(steps, wanted, loop=None):
    """wrong: Without a loop"""
    return follow(steps, wanted, lambda life, now: now if life[0] == life[1] else life[1])


def inputs_too(steps, wanted, loop=None):
    """wrong: Without a loop"""
    found = follow(steps, wanted, lambda life, now: now)
    return {name: (0, 0) for step in steps for name in step.reads} | found


def nothing_is_wanted(steps, wanted, loop=None):
    """wrong: Without a loop"""
    return follow(steps, [], lambda life, now: now)


def as_it_was_given(steps, wanted, loop=None):
    """wrong: w is fetched before the loop"""
    return follow(steps, wanted, lambda life, now: now)


def one_step_longer(steps, wanted, loop=None):
    """wrong: w is fetched before the loop"""
    late = (lambda now: now + 1) if loop else (lambda now: now)
    return follow(steps, wanted, lambda life, now: late(now) if life[0] < (loop or [0])[0] else now)


def whole_loop_for_all(steps, wanted, loop=None):
    """wrong: w is fetched before the loop"""
    if loop is None:
        return follow(steps, wanted, lambda life, now: now)
    return follow(steps, wanted, lambda life, now: loop[1] if loop[0] <= now <= loop[1] else now)


def whole_loop_for_what_comes_before(steps, wanted, loop=None):
    """wrong: Not everything has to live"""
    if loop is None:
        return follow(steps, wanted, lambda life, now: now)
    return follow(steps, wanted, lambda life, now: loop[1] if life[0] < loop[0] else now)


def the_loop_has_the_last_word(steps, wanted, loop=None):
    """wrong: Not everything has to live"""
    found = follow(steps, wanted, lambda life, now: now)
    for number, step in enumerate(steps):
        for name in step.reads:
            if loop and name in found and found[name][0] < loop[0] <= number <= loop[1]:
                found[name] = (found[name][0], loop[1])
    return found
