"""The operations of a block, one after the other."""

from __future__ import annotations

from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.registry import lower_operation
from spyrelab.triton.ttir import TtirBlock, TtirOperation

__all__ = ["lower_body"]


def lower_body(kernel: Kernel, block: TtirBlock) -> tuple[TtirOperation, list[Value]]:
    """Append a block's operations; its terminator and that one's operands."""
    *body, last = block.operations
    for operation in body:
        lower_operation(kernel, operation)
    return last, kernel.values(last)
