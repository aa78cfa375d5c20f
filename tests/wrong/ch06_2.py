"""Plausible wrong answers to ch06.2.  Docstrings: the status, and how the first hint begins."""

from itertools import groupby

TASK = "ch06.2"


def neighbours_only(nodes):
    """over budget: A bundle ends where"""
    return [[name for name, _, _ in group] for _, group in groupby(nodes, lambda node: node[1])]


def native_ones_first(nodes):
    """wrong: A bundle ends where"""
    return [[n for n, native, _ in nodes if native], [n for n, native, _ in nodes if not native]]


def one_by_one(nodes):
    """over budget: A bundle ends where"""
    return [[name] for name, _, _ in nodes]


def begins_with_native(nodes):
    """over budget: What a host does first"""
    waiting, done, groups, kind = list(nodes), set(), [], True
    while waiting:
        taken, left = [], []
        for name, native, needs in waiting:
            blocked = not native and any(not other for _, other, _ in left)
            if native == kind and done.issuperset(needs) and not blocked:
                taken.append(name)
                done.add(name)
            else:
                left.append((name, native, needs))
        groups += [taken] if taken else []
        waiting, kind = left, not kind
    return groups
