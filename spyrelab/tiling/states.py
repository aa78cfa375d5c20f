"""How far a search for a plan has come."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.cost import structure
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.stays import Stay

__all__ = ["Choice", "Graph", "State", "marked"]

_AHEAD = 8
"""Operations among which a tensor that is kept has to find another reader."""

_WORTH = 1 / 20
"""Share of the bytes of an operation's tensors below which it is not worth a look to keep one."""


def marked(spec: OpSpec, resident: Container[str]) -> OpSpec:
    """The spec with resident operands marked; their addresses are found later."""
    return replaced(
        spec,
        args=tuple(replace(a, lx_address=0) if a.name in resident else a for a in spec.args),
    )


@dataclass(frozen=True)
class Graph:
    """Operations in order, and which tensors outlive them."""

    specs: tuple[OpSpec, ...]
    live_out: frozenset[str]

    @cached_property
    def kinds(self) -> tuple[Any, ...]:
        """The `structure` of every operation; equal ones are one object."""
        seen: dict[Any, Any] = {}
        return tuple(seen.setdefault(made, made) for made in map(structure, self.specs))

    def last_use(self, name: str) -> int:
        """Number of the last operation that touches a tensor."""
        return self._last[name]

    def is_worth_keeping(self, number: int, name: str) -> bool:
        """Whether operations that come soon read what this one reads of a tensor, and enough."""
        key = number, name
        if key not in self._worth:
            self._worth[key] = self._is_worth_keeping(number, name)
        return self._worth[key]

    def _is_worth_keeping(self, number: int, name: str) -> bool:
        spec = self.specs[number]
        mine = [arg for arg in spec.inputs if arg.name == name]
        total = sum(arg.layout.nbytes for arg in spec.args)
        if any(arg.layout.nbytes < _WORTH * total for arg in mine):
            return False
        boxes = [_whole(spec, arg) for arg in mine]
        return any(
            _meet(box, _whole(later, arg))
            for later in self.specs[number + 1 : number + 1 + _AHEAD]
            for arg in later.inputs
            if arg.name == name
            for box in boxes
        )

    @cached_property
    def _worth(self) -> dict[tuple[int, str], bool]:
        return {}

    def is_inner(self, name: str) -> bool:
        """Whether a tensor is made here by one operation, read only then, and used up."""
        return name in self._inner

    @cached_property
    def _inner(self) -> frozenset[str]:
        first: dict[str, int] = {}
        spoilt = set(self.live_out)
        for number, spec in enumerate(self.specs):
            spoilt |= {arg.name for arg in spec.inputs if first.get(arg.name, number) == number}
            for arg in spec.outputs:
                spoilt |= {arg.name} if arg.name in first else set()
                first[arg.name] = number
        return frozenset(first) - spoilt

    @cached_property
    def _last(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for number, spec in enumerate(self.specs):
            found |= {arg.name: number for arg in spec.args}
        return found | dict.fromkeys(self.live_out, len(self.specs))


def _whole(spec: OpSpec, arg: TensorArg) -> NDArray[np.int64]:
    alone = with_split(spec, Split((1,) * len(spec.iteration_space)))
    return holding(Slicing.of(alone), arg).boxes[0]


def _meet(mine: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return bool(((mine[:, 0] < other[:, 1]) & (other[:, 0] < mine[:, 1])).all())


class Choice(NamedTuple):
    """What was decided for one operation.

    ``undecided``: the operation.  ``opens``: it begins a bundle.  ``resident``: tensors that it
    reads or writes on the cores.  ``tiled``: the symbol that is taken in ``turns`` steps.
    """

    undecided: OpSpec
    split: Split
    opens: bool
    resident: frozenset[str]
    tiled: str
    turns: int

    @property
    def spec(self) -> OpSpec:
        """The settled operation; what stays on the cores has some address."""
        return marked(with_split(self.undecided, self.split), self.resident)


@dataclass(frozen=True)
class State:
    """A beginning of a plan.

    Attributes
    ----------
    seconds : float
        Predicted: the sum of what the operations take alone, and launches.
    held : mapping of str to Stay
        What the cores hold.
    written : mapping of str to Stay
        What each core has written to device memory in this bundle.
    touched : frozenset of str
        Device tensors of this bundle.
    turns : int
        Of the loop round this bundle.
    called : mapping of str to str
        Names of what the cores fetched, by tensor.
    copied : frozenset of str
        Tensors among those held that lie in device memory too.
    extra : int
        Operations that were done for the next one.
    """

    choices: tuple[Choice, ...] = ()
    seconds: float = 0.0
    held: Mapping[str, Stay] = field(default_factory=dict)
    written: Mapping[str, Stay] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    turns: int = 1
    called: Mapping[str, str] = field(default_factory=dict)
    copied: frozenset[str] = frozenset()
    extra: int = 0

    @property
    def key(self) -> Any:
        """States of the same key have the same future."""
        held = tuple(sorted((name, stay.key) for name, stay in self.held.items()))
        written = tuple(sorted((name, stay.key) for name, stay in self.written.items()))
        return held, written, self.touched, self.turns
