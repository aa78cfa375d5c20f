"""Plausible wrong answers to ch07.8.  Docstrings: the status, and how the first hint begins."""

from math import inf

TASK = "ch07.8"


def whoever_differs(trials):
    """wrong: Who differs from the winner"""
    winner, best = min(trials, key=lambda trial: trial[1])
    found = {}
    for config, time in trials:
        for name in winner:
            if config[name] != winner[name] and time < inf:
                found[name] = min(time / best, found.get(name, inf))
    return found


def slower_than_the_slowest(trials):
    """wrong: Who differs from the winner"""
    winner, worst = max(trials, key=lambda trial: trial[1])
    found = {}
    for config, time in trials:
        changed = [name for name in winner if config[name] != winner[name]]
        if len(changed) == 1:
            found[changed[0]] = min(time / worst, found.get(changed[0], inf))
    return found


def differences(trials):
    """wrong: Who differs from the winner"""
    winner, best = min(trials, key=lambda trial: trial[1])
    found = {}
    for config, time in trials:
        changed = [name for name in winner if config[name] != winner[name]]
        if len(changed) == 1:
            found[changed[0]] = min(time - best, found.get(changed[0], inf))
    return found


def infinite_times_count(trials):
    """wrong: Some trials could not run"""
    winner, best = min(trials, key=lambda trial: trial[1])
    found = {}
    for config, time in trials:
        changed = [name for name in winner if config[name] != winner[name]]
        if len(changed) == 1:
            found[changed[0]] = min(time / best, found.get(changed[0], inf))
    return found


def settings_of_no_trial(trials):
    """wrong: Who differs from the winner"""
    winner, best = min(trials, key=lambda trial: trial[1])
    found = dict.fromkeys(winner, 1.0)
    for name in winner:
        rest = {k: v for k, v in winner.items() if k != name}
        times = [
            time
            for config, time in trials
            if config[name] != winner[name] and rest.items() <= config.items() and time < inf
        ]
        if times:
            found[name] = min(times) / best
    return found
