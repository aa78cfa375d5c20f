"""Loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spyrelab.ktir.builder import Scalar
from spyrelab.ktir.builder_emit import Block
from spyrelab.ktir.builder_values import Element
from spyrelab.ktir.ir import Region
from spyrelab.ktir.ir import Value as KtirValue
from spyrelab.ktir.types import I1
from spyrelab.triton.lowering.addresses import chosen
from spyrelab.triton.lowering.bodies import lower_body
from spyrelab.triton.lowering.carriers import LOOSEST, Carrier, carrier_for, made_in
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lane_loops import lane_while, widened_inits
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.spins import check_spin
from spyrelab.triton.ttir import TtirBlock, TtirOperation

__all__ = ["branch"]

_HINTS = ("tt.num_stages", "tt.loop_unroll_factor", "tt.flatten", "tt.warp_specialize")


def _until_it_fits(
    kernel: Kernel,
    operation: TtirOperation,
    inits: list[Value],
    attempt: Callable[[list[Carrier]], list[int]],
) -> None:
    """Lower a loop again while it does not leave what its carriers keep as it is.

    ``attempt`` gives the numbers of the carriers that do not fit.
    """
    levels = [0] * len(inits)
    blocks, notes = kernel.b.stack(), list(kernel.notes)
    while True:
        carriers = [carrier_for(kernel, v, n) for v, n in zip(inits, levels, strict=True)]
        misfits = attempt(carriers)
        if not misfits:
            return
        kernel.b.unwind(blocks)
        kernel.notes = list(notes)
        for number in misfits:
            if levels[number] == LOOSEST:
                raise unsupported("a loop changes what a pointer points to", operation.location)
            levels[number] += 1


# ---- scf.for ---------------------------------------------------------------------------


@lowers("scf.for")
def counted_loop(kernel: Kernel, operation: TtirOperation) -> None:
    """Carries the base of sums only, where the loop leaves their terms as they are."""
    inits = kernel.values(operation)[3:]
    if kernel.mapped is not None:
        inits = widened_inits(kernel, inits, kernel.elements(kernel.values(operation)[:3]))
    _until_it_fits(kernel, operation, inits, lambda c: _loop(kernel, operation, inits, c))


def _loop(
    kernel: Kernel, operation: TtirOperation, inits: list[Value], carriers: list[Carrier]
) -> list[int]:
    """Append the loop; or, unfinished, the numbers of carriers that do not fit."""
    b = kernel.b
    bounds = kernel.elements(kernel.values(operation)[:3])
    (block,) = operation.regions[0]
    carried = _packed(carriers, inits)
    names = [value.name.partition("#")[0] for value in block.arguments[:1]]
    lower, upper, step = bounds
    loop = b.loop(lower, upper, step, carried, names)
    opened = loop.__enter__()
    index, *inner = opened if carried else (opened,)
    if b.is_not_negative(bounds[0]):
        b.never_negative(index)
    kernel.define(block.arguments[0], index)
    for argument, value in zip(block.arguments[1:], _unpacked(carriers, inner), strict=True):
        kernel.define(argument, value)
    kernel.loops += 1
    _, yielded = lower_body(kernel, block)
    kernel.loops -= 1
    misfits = _misfits(carriers, yielded)
    if misfits:
        return misfits
    loop.yield_(*_packed(carriers, yielded))
    loop.__exit__(None, None, None)
    b.block.region.operations[-1].attributes |= _hints(kernel, operation)
    for result, value in zip(operation.results, _unpacked(carriers, loop.results), strict=True):
        kernel.define(result, value)
    return []


def _hints(kernel: Kernel, operation: TtirOperation) -> dict[str, Any]:
    """What the kernel says about how a loop should run; buffers by the launch's default."""
    known = operation.attributes
    hints = {f"spyrelab.{key.removeprefix('tt.')}": known[key] for key in _HINTS if key in known}
    if kernel.stages > 1:
        hints.setdefault("spyrelab.num_stages", kernel.stages)
    return hints


def _packed(carriers: Sequence[Carrier], values: Sequence[Value]) -> list[Element]:
    return [e for c, v in zip(carriers, values, strict=True) for e in c.packed(v)]


def _unpacked(carriers: Sequence[Carrier], elements: Sequence[Any]) -> list[Value]:
    left = list(elements)
    values: list[Value] = []
    for carrier in carriers:
        count = carrier.width
        values.append(carrier.unpacked(left[:count]))
        left = left[count:]
    return values


def _misfits(carriers: Sequence[Carrier], values: Sequence[Value]) -> list[int]:
    pairs = enumerate(zip(carriers, values, strict=True))
    return [number for number, (carrier, value) in pairs if not carrier.accepts(value)]


# ---- scf.if ----------------------------------------------------------------------------


@lowers("scf.if")
def if_operation(kernel: Kernel, operation: TtirOperation) -> None:
    condition = kernel.values(operation)[0]
    sides: list[Callable[[], list[Value]]] = []
    for region in operation.regions:
        blocks = region
        sides.append(lambda blocks=blocks: lower_body(kernel, blocks[0])[1] if blocks else [])  # type: ignore[misc]
    results = branch(kernel, condition, sides)
    for result, value in zip(operation.results, results, strict=True):
        kernel.define(result, value)


def branch(
    kernel: Kernel, condition: Value, sides: Sequence[Callable[[], list[Value]]]
) -> list[Value]:
    """``scf.if``: both sides, and what either of them yields.

    Where the condition is a tensor (in functions of elements) both sides are computed.
    """
    b = kernel.b
    if not isinstance(condition, Scalar):
        left, right = _both_sides(kernel, kernel.element(condition), sides)
        return [chosen(kernel, condition, x, y) for x, y in zip(left, right, strict=True)]
    opened: list[Block] = []
    yielded: list[list[Value]] = []
    for side in sides:
        b.begin()
        yielded.append(side())
        opened.append(b.suspend())
    if len(yielded) > 1 and yielded[0]:
        carriers = [_common(kernel, x, y) for x, y in zip(*yielded, strict=True)]
    else:
        carriers, yielded = [], [[] for _ in sides]
    kinds: list[Any] = []
    for block, values in zip(opened, yielded, strict=True):
        b.resume(block)
        elements = _packed(carriers, values)
        b.emit("scf.yield", elements)
        kinds = [element.type for element in elements]
        b.suspend()
    regions = [block.region for block in opened]
    if len(regions) == 2 and not kinds and len(regions[1].operations) == 1:
        regions.pop()
    made = b.emit("scf.if", [condition], kinds, {}, regions, hint="chosen")
    return _unpacked(carriers, [b.element(value) for value in made])


def _both_sides(
    kernel: Kernel, condition: Any, sides: Sequence[Callable[[], list[Value]]]
) -> list[list[Value]]:
    """What both sides give, each with the elements that take it active."""
    outer, b = kernel.active, kernel.b
    found = []
    rest = b.pure("arith.xori", (condition, b.full(condition.shape, 1, I1)), condition.type)
    for side, taken in zip(sides, (condition, rest), strict=True):
        kernel.active = taken if outer is None else outer & taken
        found.append(side())
    kernel.active = outer
    return found


def _common(kernel: Kernel, left: Value, right: Value) -> Carrier:
    """What carries either of two values."""
    for level in range(LOOSEST + 1):
        carrier = carrier_for(kernel, left, level)
        if carrier.accepts(left) and carrier.accepts(right):
            return carrier
    raise unsupported("the two sides of a branch give pointers that cannot be joined")


# ---- scf.while -------------------------------------------------------------------------


@lowers("scf.while")
def while_loop(kernel: Kernel, operation: TtirOperation) -> None:
    if kernel.mapped is not None:
        lane_while(kernel, operation, kernel.mapped)
        return
    check_spin(operation)
    inits = kernel.values(operation)
    _until_it_fits(kernel, operation, inits, lambda c: _while(kernel, operation, inits, c))


def _while(
    kernel: Kernel, operation: TtirOperation, inits: list[Value], carriers: list[Carrier]
) -> list[int]:
    """Append the loop; or, unfinished, the numbers of carriers that do not fit."""
    b = kernel.b
    (before,), (after,) = operation.regions
    packed = _packed(carriers, inits)
    test = _enter(kernel, before, carriers, [element.type for element in packed])
    kernel.loops += 1
    _, (condition, *passed) = lower_body(kernel, before)
    inner = b.block
    outward = [
        carrier_for(kernel, value, LOOSEST if made_in(value, inner) else 0) for value in passed
    ]
    elements = _packed(outward, passed)
    b.emit("scf.condition", [kernel.element(condition), *elements])
    b.suspend()
    kinds = [element.type for element in elements]
    body = _enter(kernel, after, outward, kinds)
    _, yielded = lower_body(kernel, after)
    kernel.loops -= 1
    misfits = _misfits(carriers, yielded)
    if misfits:
        return misfits
    b.emit("scf.yield", _packed(carriers, yielded))
    b.suspend()
    made = b.emit("scf.while", packed, kinds, {}, [test, body], hint="after")
    values = _unpacked(outward, [b.element(value) for value in made])
    for result, value in zip(operation.results, values, strict=True):
        kernel.define(result, value)
    return []


def _enter(
    kernel: Kernel, block: TtirBlock, carriers: Sequence[Carrier], kinds: Sequence[Any]
) -> Region:
    """Open a region whose arguments are what carriers pass."""
    b = kernel.b
    arguments = [KtirValue(b.unique("carried"), kind) for kind in kinds]
    region = b.begin(arguments)
    elements = [b.element(argument) for argument in arguments]
    for argument, value in zip(block.arguments, _unpacked(carriers, elements), strict=True):
        kernel.define(argument, value)
    return region
