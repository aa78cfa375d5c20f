"""Which arguments are addresses, and of what elements.

KTIR counts elements in addresses, a launch gives bytes.  An argument that reaches the address
operand of a memory view, through additions, casts, selections and loops, therefore enters the
program divided by the element size of that view.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product

from spyrelab.emulator.errors import LoweringError, place
from spyrelab.ktir.ir import Function, Operation, Region, Value, walk
from spyrelab.ktir.types import INDEX, element_of

Sum = tuple[str, ...]
"""Names of the arguments that are added up in a value, leftmost first."""
Sources = frozenset[Sum]
"""Alternatives of a value: one `Sum` per branch or loop entry that it may come from."""

Edge = tuple[Sequence[Value], Value]
"""A value and those that are added up in it."""

_NOTHING: Sources = frozenset({()})
_ADDS = {"arith.addi", "arith.subi", "spyreop.addi32toi32", "spyreop.addi64toi64"}
_CHOICES = {"arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"}
_CASTS = {"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci"}


def pointer_itemsizes(function: Function) -> dict[str, int]:
    """Element size in bytes of what each pointer argument points to.

    An argument of type ``index`` is a pointer if it reaches the address of a view.  Where
    several arguments are added up in one address, those known as pointers from another address
    count; if there is none, the leftmost does and the rest are offsets.

    Raises
    ------
    LoweringError
        If an argument reaches views of different element sizes.
    """
    flow = _Flow(function)
    uses = [
        (operation, alternative)
        for operation in walk(function.body.operations)
        if operation.name == "ktdp.construct_memory_view"
        for alternative in flow.sources(operation.operands[0])
        if alternative
    ]
    known = {names[0] for _, names in uses if len(names) == 1}
    sizes: dict[str, int] = {}
    for operation, names in uses:
        itemsize = element_of(operation.result.type).itemsize
        for name in [n for n in names if n in known] or names[:1]:
            if sizes.setdefault(name, itemsize) != itemsize:
                raise LoweringError(
                    f"{place(operation)}: argument %{name} is the address of elements of "
                    f"{sizes[name]} and of {itemsize} bytes; pass one argument for each"
                )
    return sizes


def view_arguments(function: Function) -> dict[Operation, frozenset[str] | None]:
    """The pointer arguments that the address of each memory view may come from.

    None where it may also be a literal, or a number that was loaded: then no argument says
    what the view may touch.
    """
    flow, pointers = _Flow(function), pointer_itemsizes(function).keys()
    found: dict[Operation, frozenset[str] | None] = {}
    for operation in walk(function.body.operations):
        if operation.name == "ktdp.construct_memory_view":
            sources = flow.sources(operation.operands[0])
            named = [pointers & set(names) for names in sources]
            known = frozenset().union(*named) if named and all(named) else None
            found[operation] = known
    return found


class _Flow:
    """Forward flow of arguments through scalar arithmetic and control flow, to a fixed point."""

    def __init__(self, function: Function) -> None:
        self._sources: dict[Value, Sources] = {}
        edges = list(chain.from_iterable(map(_edges, walk(function.body.operations))))
        # Values that edges define start from no alternative at all; every other value is
        # something that is no address.
        for _, target in edges:
            self._sources[target] = frozenset()
        for value in function.arguments:
            if value.type == INDEX:
                self._sources[value] = frozenset({(value.name,)})
        changed = True
        while changed:
            # Every edge in each pass: starting again after the first would be quadratic.
            changed = any([self._follow(*edge) for edge in edges])  # noqa: C419

    def sources(self, value: Value) -> Sources:
        return self._sources.get(value, _NOTHING)

    def _follow(self, origins: Sequence[Value], target: Value) -> bool:
        before = self._sources[target]
        parts = product(*map(self.sources, origins))
        sums = (tuple(dict.fromkeys(chain.from_iterable(part))) for part in parts)
        self._sources[target] = before.union(sums)
        return self._sources[target] != before


def _edges(operation: Operation) -> list[Edge]:
    if operation.name in _ADDS:
        return [(operation.operands, operation.result)]
    if operation.name in _CHOICES | _CASTS:
        return [((operand,), operation.result) for operand in operation.operands]
    if operation.name == "arith.select":
        return [((operand,), operation.result) for operand in operation.operands[1:]]
    pairs = chain.from_iterable(zip(a, b, strict=False) for a, b in control_edges(operation))
    return [((origin,), target) for origin, target in pairs]


def control_edges(operation: Operation) -> list[tuple[Sequence[Value], Sequence[Value]]]:
    regions = operation.regions
    match operation.name:
        case "scf.for":
            inits, carried = operation.operands[3:], regions[0].arguments[1:]
            yields = _yielded(regions[0])
            return [
                (inits, carried),
                (yields, carried),
                (inits, operation.results),
                (yields, operation.results),
            ]
        case "scf.if":
            return [(_yielded(region), operation.results) for region in regions]
        case "scf.while":
            before, after = regions
            passed = _yielded(before)[1:]
            return [
                (operation.operands, before.arguments),
                (_yielded(after), before.arguments),
                (passed, after.arguments),
                (passed, operation.results),
            ]
    return []


def _yielded(region: Region) -> Sequence[Value]:
    return region.operations[-1].operands if region.operations else ()
