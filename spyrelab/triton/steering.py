"""Which arguments of a function its time depends on.

Loops, branches and the extents and places of transfers steer what a launch does. Whatever they
are computed from is followed back to the arguments, through memory where index arrays are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spyrelab.emulator.addresses import pointer_itemsizes
from spyrelab.ktir import Function, Operation, ScalarType, TensorType, Value, walk
from spyrelab.ktir.element_access import STORED, element_access
from spyrelab.ktir.types import element_of

__all__ = ["Steering", "find_steering"]

_STEERING = (
    "scf.for",
    "scf.if",
    "scf.while",
    "scf.condition",
    "ktdp.construct_memory_view",
    "ktdp.construct_access_tile",
    "ktdp.construct_indirect_access_tile",
    "ktdp.construct_distributed_memory_view",
)
_LOADS = ("ktdp.load", "spyrelab.gather")
_CONTROL = ("scf.for", "scf.while", "scf.if")
"""Their results come from what their blocks end in, one by one."""


@dataclass(frozen=True)
class Steering:
    """Names of KTIR arguments.

    Attributes
    ----------
    scalars : tuple of str
        Numbers.
    arrays : dict of str to ScalarType
        Pointers whose memory is read, and the elements there.
    """

    scalars: tuple[str, ...]
    arrays: Mapping[str, ScalarType]


def find_steering(function: Function) -> Steering:
    """Follow everything that steers a function back to its arguments."""
    search = _Search(function)
    for operation in walk(function.body.operations):
        if operation.name in _STEERING:
            search.need(v for v in operation.operands if not isinstance(v.type, TensorType))
        if operation.name == "ktdp.construct_indirect_access_tile":
            search.need_contents(operation.operands[1:])
        if operation.name in STORED:
            access = element_access(operation, operation.operands)
            search.need(v for v in (access.limit, access.stride) if v is not None)
    scalars = search.seen - search.pointers
    return Steering(
        tuple(value.name for value in function.arguments if value in scalars),
        {value.name: search.read[value] for value in function.arguments if value in search.read},
    )


class _Search:
    def __init__(self, function: Function) -> None:
        names = pointer_itemsizes(function)
        self.pointers = {value for value in function.arguments if value.name in names}
        self.makers: dict[Value, Operation] = {}
        self.sources: dict[Value, list[Value]] = {}
        self.seen: set[Value] = set()
        self.read: dict[Value, ScalarType] = {}
        for operation in walk(function.body.operations):
            for result in operation.results:
                self.makers[result] = operation
            self._flow(operation)

    def _flow(self, operation: Operation) -> None:
        """What block arguments and the results of loops and branches come from."""
        ends = [tuple(r.operations[-1].operands) if r.operations else () for r in operation.regions]
        operands, results = operation.operands, operation.results
        if operation.name == "scf.for":
            counter, *carried = operation.regions[0].arguments
            self._comes(counter, operands[:3])
            for after, inside, *sources in zip(
                results, carried, operands[3:], ends[0], strict=True
            ):
                self._comes(after, sources)
                self._comes(inside, sources)
        elif operation.name == "scf.while":
            before, body = operation.regions
            for inside, *sources in zip(before.arguments, operands, ends[1], strict=True):
                self._comes(inside, sources)
            for after, inside, source in zip(results, body.arguments, ends[0][1:], strict=True):
                self._comes(after, (source, ends[0][0]))
                self._comes(inside, (source, ends[0][0]))
        elif operation.name == "scf.if":
            for after, *sources in zip(results, *ends, strict=True):
                self._comes(after, (*sources, *operands))
        else:
            for value in (v for region in operation.regions for v in region.arguments):
                self._comes(value, operands)

    def _comes(self, value: Value, sources: Iterable[Value]) -> None:
        self.sources.setdefault(value, []).extend(sources)

    def need(self, values: Iterable[Value]) -> None:
        """Follow values back."""
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in self.seen:
                continue
            self.seen.add(value)
            pending += self.sources.get(value, ())
            maker = self.makers.get(value)
            if maker is None or maker.name in _CONTROL:
                continue
            if maker.name in _LOADS:
                self.need_contents(maker.operands)
            pending += maker.operands

    def need_contents(self, values: Iterable[Value]) -> None:
        """Note the pointers whose memory views or tiles show."""
        pending, done = list(values), set[Value]()
        while pending:
            value = pending.pop()
            if value in done:
                continue
            done.add(value)
            maker = self.makers.get(value)
            if maker is not None and maker.name == "ktdp.construct_memory_view":
                for pointer in self._pointers(maker.operands[0]):
                    self.read[pointer] = element_of(maker.result.type)
            elif maker is not None and maker.name.startswith("ktdp.construct"):
                pending += maker.operands

    def _pointers(self, address: Value) -> set[Value]:
        """Pointers that an address is computed from."""
        pending, done = [address], set[Value]()
        while pending:
            value = pending.pop()
            maker = self.makers.get(value)
            if value not in done and (maker is None or maker.name not in _LOADS):
                done.add(value)
                pending += self.sources.get(value, ())
                if maker is not None and maker.name not in _CONTROL:
                    pending += maker.operands
        return done & self.pointers
