"""What a program asks of the card, in order: steps on engines, and loops round them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from spyrelab.ktir import Operation, Value

__all__ = [
    "BUNDLE_ATTRIBUTE",
    "STAGES_ATTRIBUTE",
    "Access",
    "Engine",
    "Iterations",
    "Loop",
    "Node",
    "Step",
]

BUNDLE_ATTRIBUTE = "spyrelab.bundle"
"""Of a function that runs several operations of a plan."""

STAGES_ATTRIBUTE = "spyrelab.num_stages"
"""Of a loop: sets of buffers for its loads. With one, an iteration waits for the last; without the
attribute, or with more, the next iteration's loads go ahead where the scratchpad holds them."""


class Engine(StrEnum):
    """A part of a core (or its place on a ring) that does one thing at a time."""

    LOAD = "DDR load"
    STORE = "DDR store"
    PT = "PT"
    SFP = "SFP"
    MOVE = "LX port"
    RING = "data ring"
    SUMS = "partial-sum ring"
    NONE = ""


@dataclass(frozen=True, eq=False)
class Access:
    """What one load or store touches, per core.

    Attributes
    ----------
    lows, highs : int64 arrays [cores, rank]
        The box in the view's own coordinates, highs exclusive; empty boxes for idle cores.
    base : str
        The pointer argument behind the view, or its literal address.
    exact : bool
        False where addresses depend on values that were not given.
    origins : int64 array [cores], optional
        Where the view begins on each core, if not everywhere at the same address.
    alike : int64 array [cores], optional
        Of what is no box: equal for cores that touch the same.
    """

    base: str
    lows: np.ndarray
    highs: np.ndarray
    itemsize: int
    exact: bool = True
    origins: np.ndarray | None = None
    alike: np.ndarray | None = None

    @property
    def boxes(self) -> np.ndarray:
        """A row per core; cores with equal rows touch the same memory."""
        parts = [self.lows, self.highs]
        if self.origins is not None:
            parts.append(self.origins[:, None])
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class Step:
    """One operation on one engine.

    Attributes
    ----------
    operation : Operation or None
        Where it came from.
    seconds : float array [cores]
        Time of each core's engine alone; negative for cores that take no part.
    port_seconds : float
        Time of the shared memory port for all cores together.
    reads, writes : tuples of Value
        Tensors that it waits for and that it makes.
    meets : tuple of int arrays
        Groups of cores that have to arrive before any of them goes on.
    counts : dict
        Counter name (as in ``emulator.Counters``) to an int64 array [cores].
    port_bytes : float
        Bytes that cross the port, multicast once, sticks whole.
    fence : bool
        Whether it waits for all engines of its cores, and everything after it for it.
    narrow : callable, optional
        Makes the step for some of its cores, where cores share the port.
    """

    engine: Engine
    label: str
    operation: Operation | None
    seconds: np.ndarray
    port_seconds: float = 0.0
    reads: tuple[Value, ...] = ()
    writes: tuple[Value, ...] = ()
    meets: tuple[np.ndarray, ...] = ()
    counts: dict[str, np.ndarray] = field(default_factory=dict)
    port_bytes: float = 0.0
    access: Access | None = None
    fence: bool = False
    narrow: Callable[[np.ndarray, Step], Step | None] | None = None

    def changed(self, **fields: Any) -> Step:
        """A copy with other fields; ``dataclasses.replace`` is much slower."""
        made = object.__new__(Step)
        made.__dict__.update(self.__dict__, **fields)
        return made


@dataclass(frozen=True, eq=False)
class Iterations:
    """``count`` iterations in a row that do the same; or that often the runs of a pattern."""

    count: int
    body: tuple[Node, ...]
    pattern: tuple[Iterations, ...] = ()


@dataclass(frozen=True, eq=False)
class Loop:
    """A counted loop.

    Attributes
    ----------
    runs : tuple of Iterations
        All iterations, in order.
    carried : tuple
        (initial value, region argument, yielded value, result) of every carried tensor.
    counted : bool
        Whether each iteration costs the card a counted-loop step.
    """

    operation: Operation | None
    runs: tuple[Iterations, ...]
    carried: tuple[tuple[Value, Value, Value, Value], ...] = ()
    counted: bool = True

    @property
    def stages(self) -> int | None:
        """Sets of buffers that the loop asks for; None where it leaves that to the card."""
        asked = (
            self.operation.attributes.get(STAGES_ATTRIBUTE) if self.operation is not None else None
        )
        return None if asked is None else int(asked)


Node = Step | Loop
