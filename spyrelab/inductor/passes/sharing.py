"""One step in place of two that compute the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from spyrelab.inductor.passes.storages import is_whole, kept, reads, trimmed, writers
from spyrelab.inductor.recorded import Recorded, Step, View

__all__ = ["share"]


def share(recorded: Recorded, which: Callable[[Step], bool]) -> tuple[Recorded, tuple[str, ...]]:
    """Drop every step of a kind that an earlier one has done already; say which.

    Both write whole storages that nothing else writes, and what they read has not been written
    in between. Inputs and results keep storages of their own.
    """
    counts, seen = writers(recorded), kept(recorded)
    versions: Counter[str] = Counter()
    known: dict[str, Step] = {}
    names: dict[str, str] = {}
    steps, lines = [], []

    def alone(step: Step) -> bool:
        return bool(step.outputs) and all(
            counts[v.name] == 1 and v.name not in seen and is_whole(v, recorded.storages)
            for v in step.outputs
        )

    for old in recorded.steps:
        step = _renamed(old, names)
        if which(step) and alone(step):
            # As text: 0.0, -0.0, False and 0 are equal to one another.
            made = [recorded.storages[view.name] for view in step.outputs]
            times = [versions[view.name] for view in reads(step)]
            key = repr((step.op, step.inputs, times, dict(step.attributes), step.hint, made))
            first = known.setdefault(key, step)
            if first is not step:
                for mine, its in zip(step.outputs, first.outputs, strict=True):
                    names[mine.name] = its.name
                    lines.append(f"{step.op}: {mine.name} is {its.name}")
                continue
        versions.update(view.name for view in step.outputs)
        steps.append(step)
    if not lines:
        return recorded, ()
    return trimmed(replace(recorded, parts=tuple(steps))), tuple(lines)


def _renamed(step: Step, names: dict[str, str]) -> Step:
    if not any(view.name in names for view in reads(step)):
        return step
    inputs = tuple(
        replace(value, name=names.get(value.name, value.name)) if isinstance(value, View) else value
        for value in step.inputs
    )
    return replace(step, inputs=inputs)
