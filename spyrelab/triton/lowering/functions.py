"""Function bodies: blocks with early returns, and calls, which are lowered in place."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.triton.lowering.barriers import grid_barrier, is_barrier
from spyrelab.triton.lowering.control import branch
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.meeting import meeting_point
from spyrelab.triton.lowering.registry import lower_operation, lowers
from spyrelab.triton.ttir import TtirBlock, TtirOperation

__all__ = ["lower_blocks"]


def lower_blocks(kernel: Kernel, blocks: Sequence[TtirBlock]) -> list[Value]:
    """Append the blocks of a function from the first on; what it returns.

    A branch becomes ``scf.if``. Where its sides meet again, what follows is appended once; where
    one side returns, it is appended to the other.
    """
    return _from(kernel, blocks[0], None)


def _from(kernel: Kernel, block: TtirBlock, stop: TtirBlock | None) -> list[Value]:
    """Append a block and what follows; what is returned, or passed on to ``stop``."""
    *body, last = block.operations
    for operation in body:
        lower_operation(kernel, operation)
    values = kernel.values(last)
    if last.name == "cf.br":
        return _jump(kernel, last.successors[0], values, stop)
    if last.name != "cf.cond_br":
        return values
    _, count, _ = last.attributes["operandSegmentSizes"]
    then, otherwise = last.successors
    meeting = meeting_point(then, otherwise)
    goal = meeting or stop
    sides = (
        lambda: _jump(kernel, then, values[1 : 1 + count], goal),
        lambda: _jump(kernel, otherwise, values[1 + count :], goal),
    )
    with kernel.b.at(last.location):
        passed = branch(kernel, values[0], sides)
    return passed if meeting is None else _jump(kernel, meeting, passed, stop)


def _jump(
    kernel: Kernel, block: TtirBlock, values: Sequence[Value], stop: TtirBlock | None
) -> list[Value]:
    if block is stop:
        return list(values)
    for argument, value in zip(block.arguments, values, strict=True):
        kernel.define(argument, value)
    return _from(kernel, block, stop)


@lowers("tt.call")
def call(kernel: Kernel, operation: TtirOperation) -> None:
    """The called function's body in place of the call."""
    name = operation.attributes["callee"]
    if is_barrier(name):
        grid_barrier(kernel, operation)
        return
    callee = kernel.functions.get(name)
    if callee is None:
        raise unsupported(f"there is no function {name}", operation.location)
    if name in kernel.calls:
        raise unsupported(f"{name} calls itself", operation.location, "write it as a loop")
    blocks = callee.regions[0]
    for argument, value in zip(blocks[0].arguments, kernel.values(operation), strict=True):
        kernel.define(argument, value)
    kernel.calls.append(name)
    outer = kernel.callers
    if operation.location is not None:
        kernel.callers = (*outer, operation.location)
    results = lower_blocks(kernel, blocks)
    kernel.callers = outer
    kernel.calls.pop()
    for result, value in zip(operation.results, results, strict=True):
        kernel.define(result, value)
