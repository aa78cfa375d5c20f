"""What passes ask about storages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from spyrelab.inductor.recorded import Recorded, Step, Storage, View

__all__ = ["is_whole", "kept", "reads", "trimmed", "writers"]


def reads(step: Step) -> list[View]:
    """The views that a step reads."""
    return [value for value in step.inputs if isinstance(value, View)]


def writers(recorded: Recorded) -> Counter[str]:
    """How many steps write each storage."""
    return Counter(view.name for step in recorded.steps for view in step.outputs)


def kept(recorded: Recorded) -> set[str]:
    """Storages that somebody sees afterwards: inputs and results."""
    return {view.name for view in (*recorded.inputs, *recorded.results)}


def is_whole(view: View, storages: Mapping[str, Storage]) -> bool:
    """Whether a view is all of its storage, as that lies."""
    held = storages[view.name]
    same = (held.size, held.stride, held.dtype) == (view.size, view.stride, view.dtype)
    return same and not view.offset


def trimmed(recorded: Recorded) -> Recorded:
    """Without the storages that no step, input or result has any more."""
    used = kept(recorded)
    for step in recorded.steps:
        used |= {view.name for view in (*reads(step), *step.outputs)}
    storages = {name: held for name, held in recorded.storages.items() if name in used}
    return replace(recorded, storages=storages)
