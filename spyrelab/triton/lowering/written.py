"""Which arguments of a kernel point to memory that the kernel may write."""

from __future__ import annotations

from itertools import pairwise

from spyrelab.triton.ttir import DescriptorType, PointerType, TtirOperation, TtirValue

__all__ = ["written_arguments"]

_WRITES = {
    "tt.store": 0,
    "tt.atomic_rmw": 0,
    "tt.atomic_cas": 0,
    "tt.descriptor_store": 0,
    "tt.descriptor_reduce": 0,
    "tt.descriptor_scatter": 0,
}
"""Operations that write, and which operand says where."""


def written_arguments(
    function: TtirOperation, functions: dict[str, TtirOperation]
) -> set[TtirValue]:
    """Arguments whose memory may be written: pointers that meet anywhere count as one."""
    groups = _Groups()
    for body in (function, *functions.values()):
        for operation in body.walk():
            _join(groups, operation, functions)
    written = {groups.leader(value) for value in groups.written}
    if written & {groups.leader(value) for value in groups.anywhere}:
        return set(function.regions[0][0].arguments)
    return {a for a in function.regions[0][0].arguments if groups.leader(a) in written}


class _Groups:
    """Values that may point to the same memory."""

    def __init__(self) -> None:
        self._parent: dict[TtirValue, TtirValue] = {}
        self.written: list[TtirValue] = []
        self.anywhere: list[TtirValue] = []
        """Pointers made from numbers: they may point to what any argument does."""

    def leader(self, value: TtirValue) -> TtirValue:
        while (parent := self._parent.get(value, value)) is not value:
            value = parent
        return value

    def join(self, left: TtirValue, right: TtirValue) -> None:
        if _points(left) and _points(right):
            self._parent[self.leader(left)] = self.leader(right)


def _points(value: TtirValue) -> bool:
    return isinstance(value.type, PointerType | DescriptorType)


def _join(groups: _Groups, operation: TtirOperation, functions: dict[str, TtirOperation]) -> None:
    place = _WRITES.get(operation.name)
    if place is not None:
        groups.written.append(operation.operands[place])
        return
    if operation.name == "tt.int_to_ptr":
        groups.anywhere += operation.results
    if operation.name == "tt.call":
        callee = functions.get(operation.attributes["callee"])
        if callee is not None:
            for argument, value in zip(
                callee.regions[0][0].arguments, operation.operands, strict=True
            ):
                groups.join(argument, value)
    linked = [value for value in (*operation.operands, *operation.results) if _points(value)]
    if operation.name.startswith(("scf.", "cf.")) or operation.regions:
        linked = []
        _join_regions(groups, operation)
    for left, right in pairwise(linked):
        groups.join(left, right)


def _join_regions(groups: _Groups, operation: TtirOperation) -> None:
    """Operands of loops and branches meet the arguments and results they become."""
    if operation.name == "scf.for":
        inits, skip = operation.operands[3:], 1
    else:
        inits, skip = operation.operands, 0
    ends = [block.operations[-1] for region in operation.regions for block in region]
    for region in operation.regions:
        for block in region[:1]:
            for argument, value in zip(block.arguments[skip:], inits, strict=False):
                groups.join(argument, value)
    for end in ends:
        values = end.operands[1:] if end.name == "scf.condition" else end.operands
        for block in (region[0] for region in operation.regions if region):
            for argument, value in zip(block.arguments[skip:], values, strict=False):
                groups.join(argument, value)
        for result, value in zip(operation.results, values, strict=False):
            groups.join(result, value)
    if operation.name == "cf.br":
        for argument, value in zip(
            operation.successors[0].arguments, operation.operands, strict=True
        ):
            groups.join(argument, value)
    if operation.name == "cf.cond_br":
        _, count, _ = operation.attributes["operandSegmentSizes"]
        parts = (operation.operands[1 : 1 + count], operation.operands[1 + count :])
        for block, part in zip(operation.successors, parts, strict=True):
            for argument, value in zip(block.arguments, part, strict=True):
                groups.join(argument, value)
