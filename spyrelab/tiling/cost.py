"""Predicted seconds of operations with given splits and places, remembered by structure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from spyrelab import timing
from spyrelab.machine import SPYRE, Machine
from spyrelab.opspec import element_type
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.candidates import Split
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.loops import Item, LoopSpec, each, replaced
from spyrelab.tiling.lower import WORK_BYTES, lower_bundle
from spyrelab.tiling.stays import Sliced

__all__ = ["Costs", "Price", "structure"]


class _Kind(tuple[Any, ...]):
    """A tuple that remembers its hash."""

    def __hash__(self) -> int:
        if "hash" not in self.__dict__:
            self.__dict__["hash"] = super().__hash__()
        return int(self.__dict__["hash"])


def structure(
    spec: OpSpec, turns: Mapping[str, int] | None = None, names: dict[str, int] | None = None
) -> Any:
    """What two specs have in common that take the same time: everything but names and addresses.

    ``names``: numbers of names that came before, where several operations are meant.
    """
    names = {} if names is None else names
    args = tuple(
        (
            names.setdefault(arg.name, len(names)),
            arg.is_input,
            arg.dtype,
            arg.device_size,
            arg.stride_map,
            arg.coordinates,
            arg.lx_address is not None,
        )
        for arg in spec.args
    )
    space = tuple(spec.iteration_space.items())
    return _Kind((spec.op, space, args, repr(dict(spec.op_info)), tuple((turns or {}).items())))


class Price(NamedTuple):
    """What the timing model says of one launch: its time, and bytes across the memory port."""

    seconds: float
    port_bytes: float


_MOST = 1 << 16


@lru_cache(maxsize=8)
def _seconds_known(machine: Machine, work_bytes: int) -> dict[Any, float]:
    """Seconds of operations by structure, shared by all plans of a process."""
    del machine, work_bytes
    return {}


@dataclass
class Costs:
    """Prices operations on a machine; asks the timing model once per structure."""

    machine: Machine = SPYRE
    work_bytes: int = WORK_BYTES

    def __post_init__(self) -> None:
        self._known = _seconds_known(self.machine, self.work_bytes)
        if len(self._known) > _MOST:
            self._known.clear()
        self._bundles: dict[Any, Price] = {}
        self.slicings: dict[Any, dict[Any, Sliced | None]] = {}
        self.lists: dict[Any, list[Split]] = {}
        self.choices: dict[Any, dict[Any, float]] = {}
        self.gathers: dict[Any, dict[Any, Any]] = {}
        self.asked = 0
        self.launch = timing.CONSTANTS.launch_seconds

    def seconds(self, spec: OpSpec, turns: Mapping[str, int] | None = None) -> float:
        """Seconds of one operation in a bundle, without the launch.

        Arguments with an ``lx_address`` (any) stay on the cores.
        """
        key = structure(spec, turns)
        if key not in self._known:
            self._known[key] = self.bundle(*_alone(spec, turns)).seconds - self.launch
        return self._known[key]

    def bundle(self, items: Sequence[Item], assumed: Container[str] = ()) -> Price:
        """What the timing model says of one launch."""
        names: dict[str, int] = {}
        loops = tuple(isinstance(item, LoopSpec) and len(item.body) for item in items)
        kinds = tuple(structure(spec, turns, names) for spec, turns in each(items))
        key = loops, kinds, tuple(name in assumed for name in names)
        if key not in self._bundles:
            self.asked += 1
            made = lower_bundle(items, work_bytes=self.work_bytes, assumed=assumed)
            found = timing.estimate(made.module, machine=self.machine)
            self._bundles[key] = Price(found.seconds, found.port_bytes)
        return self._bundles[key]


def _alone(spec: OpSpec, turns: Mapping[str, int] | None) -> tuple[list[Item], frozenset[str]]:
    """The operation with its resident operands at addresses of their own."""
    slicing = Slicing.of(spec, turns)
    places: dict[str, int] = {}
    free = 0
    for arg in spec.args:
        if arg.lx_address is not None and arg.name not in places:
            places[arg.name] = free
            free += holding(slicing, arg, whole=False).nbytes(element_type(arg.dtype).itemsize)
    made = replaced(
        spec,
        args=tuple(
            replace(arg, lx_address=places[arg.name]) if arg.name in places else arg
            for arg in spec.args
        ),
    )
    if not turns:
        return [made], frozenset(places)
    (symbol, count), *_ = turns.items()
    return [LoopSpec(count, (made,), (symbol,))], frozenset(places)
