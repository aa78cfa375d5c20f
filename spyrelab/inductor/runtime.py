"""What generated code calls: bundles, made of literals, that launch programs on tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device import counts
from spyrelab.device.allocations import entry_of
from spyrelab.device.eager.recording import NeedsValues
from spyrelab.inductor import config
from spyrelab.inductor.calls import Call, Of, settled
from spyrelab.inductor.launching import Launching
from spyrelab.inductor.planning import planned
from spyrelab.inductor.reach import Reach, noting
from spyrelab.inductor.recorded import Given, Recorded, Step, Storage, View, recorded

__all__ = [
    "Bundle",
    "Call",
    "Of",
    "Recorded",
    "Step",
    "Storage",
    "View",
    "nothing",
    "settled",
]

nothing = contextlib.nullcontext

_MOST = 256
"""Kinds of operands that a bundle keeps launches ready for."""


class Bundle:
    """A run of native operations.

    Parameters
    ----------
    inputs, outputs : tuple of str
        Names of the tensors it takes, and of those it returns.
    calls : function of the size symbols
        The operations.
    recorded : Recorded, optional
        What they launch for the inputs that were seen when the graph was compiled; for others it
        is found out at the first launch.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        calls: Callable[..., tuple[Call, ...]],
        recorded: Recorded | None = None,
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.calls, self.recorded = calls, recorded
        self._ready: dict[Any, Launching | None] = {}

    def __call__(self, *tensors: torch.Tensor, sizes: tuple[Any, ...] = ()) -> Any:
        """Run on tensors and sizes; return the results, alone if there is one."""
        key = (sizes, *[(entry_of(t).form, t.storage_offset()) for t in tensors])
        try:
            launching = self._ready[key]
        except KeyError:
            if len(self._ready) >= _MOST:
                self._ready.clear()
            launching = self._ready[key] = self._prepare(tensors, sizes)
        if launching is None:
            return self._one_by_one(tensors, sizes)
        results = launching(tensors)
        for name in launching.natives:
            counts.native(name)
        return results[0] if len(results) == 1 else results

    def _prepare(self, tensors: Sequence[torch.Tensor], sizes: tuple[Any, ...]) -> Launching | None:
        given = [Given.of(tensor) for tensor in tensors]
        found = self.recorded
        if found is None or not found.fits(given):
            named = dict(zip(self.inputs, given, strict=True))
            try:
                found = recorded(self.calls(*sizes), named, self.outputs)
            except NeedsValues:
                return None
            # Compiling has seen to it that every hint reaches something.
            with noting(Reach()):
                found = planned(found, config.planner)
        return Launching(found)

    def _one_by_one(self, tensors: Sequence[torch.Tensor], sizes: tuple[Any, ...]) -> Any:
        known = dict(zip(self.inputs, tensors, strict=True))
        for call in self.calls(*sizes):
            call.run(known)
        results = tuple(known[name] for name in self.outputs)
        return results[0] if len(results) == 1 else results
