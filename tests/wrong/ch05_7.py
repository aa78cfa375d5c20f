"""Plausible wrong answers to ch05.7.  Docstrings: the status, and how the first hint begins."""

TASK = "ch05.7"


def best_of_each(alone, saved, launch):
    """over budget: Two operations"""
    return [min(range(len(row)), key=row.__getitem__) for row in alone]


def one_for_all(alone, saved, launch):
    """over budget: Two operations"""
    gains = list(zip(*saved, strict=True)) or [(0.0,)] * len(alone[0])
    total = [sum(t) - sum(g) for t, g in zip(zip(*alone, strict=True), gains, strict=True)]
    best = min(range(len(alone[0])), key=total.__getitem__)
    return [best] * len(alone)


def launches_for_nothing(alone, saved, launch):
    """over budget: Two operations"""
    return chain(alone, saved, 0.0)


def chain(alone, saved, launch):
    best = [(launch + t, [s]) for s, t in enumerate(alone[0])]
    for row, gains in zip(alone[1:], saved, strict=False):
        cheap, path = min(best)
        best = [
            (min((t - gains[s], own), (cheap + launch, path)), s) for s, (t, own) in enumerate(best)
        ]
        best = [(t + row[s], [*own, s]) for (t, own), s in best]
    return min(best)[1]


def from_the_left(alone, saved, launch):
    """over budget: What is best for the first two"""
    splits = range(len(alone[0]))
    if len(alone) == 1:
        return [min(splits, key=alone[0].__getitem__)]
    found = chain(alone[:2], saved[:1], launch)
    for row, gains in zip(alone[2:], saved[1:], strict=False):
        last = found[-1]
        found.append(min(splits, key=lambda s: row[s] - gains[s] if s == last else row[s] + launch))
    return found


def pair_by_pair(alone, saved, launch):
    """over budget: What is best for the first two"""
    found = []
    for at in range(0, len(alone), 2):
        found += chain(alone[at : at + 2], saved[at : at + 1], launch)
    return found
