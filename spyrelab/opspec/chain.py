"""Operations that are several operations: what one leaves in a temporary, the next one reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout.access import access
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides
from spyrelab.opspec.compile import Compiled, Role, Slot, Step, compile
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.operand import Input, Operand

__all__ = ["Chain", "Link"]


class Link(NamedTuple):
    """An operand, or the type of a number, and whose it is."""

    operand: Input
    slot: Slot


class Chain:
    """Collects operations on links; `finish` gives what `spyrelab.opspec.compile` returns."""

    def __init__(self, inputs: Sequence[Input], outputs: Sequence[Operand]) -> None:
        self.inputs = [Link(o, Slot(Role.INPUT, i)) for i, o in enumerate(inputs)]
        self.outputs = [Link(o, Slot(Role.OUTPUT, i)) for i, o in enumerate(outputs)]
        self._steps: list[Step] = []
        self._temporaries: list[SpyreTensorLayout] = []
        self._tables: list[NDArray[np.int32]] = []

    def temporary(self, size: Sequence[int], dtype: str, linear: bool = False) -> Link:
        """A tensor for the duration, in sticks or linear."""
        make = SpyreTensorLayout.linear if linear else SpyreTensorLayout.default
        layout = make(tuple(size), dtype)
        located = access(layout, tuple(size), contiguous_strides(size))
        assert located is not None
        self._temporaries.append(layout)
        slot = Slot(Role.TEMPORARY, len(self._temporaries) - 1)
        return Link(Operand(dtype, located.access), slot)

    def add(
        self, op: str, inputs: Sequence[Link], outputs: Sequence[Link], **attributes: Any
    ) -> None:
        """Append an operation."""
        results = [link.operand for link in outputs if isinstance(link.operand, Operand)]
        compiled = compile(op, [link.operand for link in inputs], results, **attributes)
        names = {Slot(Role.INPUT, i): link.slot for i, link in enumerate(inputs)}
        names |= {Slot(Role.OUTPUT, i): link.slot for i, link in enumerate(outputs)}
        for number, layout in enumerate(compiled.temporaries):
            self._temporaries.append(layout)
            names[Slot(Role.TEMPORARY, number)] = Slot(Role.TEMPORARY, len(self._temporaries) - 1)
        for number, table in enumerate(compiled.tables):
            self._tables.append(table)
            names[Slot(Role.TABLE, number)] = Slot(Role.TABLE, len(self._tables) - 1)
        for step in compiled.steps:
            self._steps.append(Step(step.program, tuple(names[slot] for slot in step.slots)))

    def finish(self) -> Compiled:
        """The launches and their temporaries."""
        if not self._steps:
            raise Unsupported("an operation without steps")
        return Compiled(tuple(self._steps), tuple(self._temporaries), tuple(self._tables))
