"""Padding: nothing is changed, because nothing needs to be.

On the real card a pass pads tensors until every extent is a multiple of a stick. Here a layout
already gives a row whole sticks, programs leave the lanes behind its end alone or mask them, and
the planner's splits may be uneven. A padded tensor would take the same sticks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.recorded import Recorded

__all__ = ["Padding"]


@dataclass(frozen=True)
class Padding:
    """Says how much of the run's device memory is the padding of layouts."""

    name: str = "padding"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """The same run."""
        return Outcome(recorded)

    def lanes(self, recorded: Recorded) -> dict[str, int]:
        """Bytes of each storage that hold no element of it."""
        found = {}
        for name, storage in recorded.storages.items():
            count = math.prod(storage.size) * storage.dtype.itemsize
            found[name] = max(storage.form.device_bytes - count, 0)
        return found
