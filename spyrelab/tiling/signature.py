"""What the symbols of an operation's iteration space mean: which operand has them, how they cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any

from spyrelab.opspec import operation_names
from spyrelab.opspec.expressions import TABLE
from spyrelab.opspec.row_space import normal_axes
from spyrelab.opspec.spec import OpSpec

__all__ = [
    "ATTENTION",
    "GATHER",
    "Role",
    "Signature",
    "is_pointwise",
    "is_product",
    "signature",
    "signature_of",
    "space_of",
]


class Role(Enum):
    """What has to happen where cores share the range of a symbol.

    FREE: nothing. SUM: partial results are folded. ROW: what is known of a row is exchanged.
    WHOLE: cores cannot share it, and no loop takes it in steps.
    """

    FREE = "free"
    SUM = "sum"
    ROW = "row"
    WHOLE = "whole"


@dataclass(frozen=True)
class Signature:
    """The symbols of an operation.

    Attributes
    ----------
    operands : tuple of tuple of str
        The symbol along each dimension of every tensor, inputs first; where an operand
        broadcasts, none of its coordinates mentions the symbol.
    roles : mapping of str to Role
        Of each symbol, in the order of the iteration space.
    joined : mapping of int to int
        By operand: at which dimension this symbol and the next are one dimension of the tensor.
    """

    operands: tuple[tuple[str, ...], ...]
    roles: Mapping[str, Role]
    joined: Mapping[int, int] = field(default_factory=dict)

    @property
    def shared(self) -> tuple[str, ...]:
        """Symbols that cores cannot share without exchanging something."""
        return tuple(s for s, role in self.roles.items() if role is not Role.FREE)


_REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "nansum", "any", "all", "count_nonzero")
_SOFTMAX = ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")
_NORMS = ("layer_norm", "rms_norm")
_PRODUCTS = ("mm", "bmm", "matmul", "linear")
_BIASED_PRODUCTS = ("addmm", "baddbmm")
ATTENTION = "attention"
_ATTENTION_OPERANDS = ("BHMD", "BHND", "BHNE", "BHMN", "BHME", "BHM")
"""Queries, keys, values, perhaps a mask, result, logsumexp.  Where query heads share keys and
values, H are the heads of these, and G the query heads of each."""
GATHER = "all_gather"
"""Not an operation of PyTorch: cores of a group give each other what they hold of a tensor.
``gathered`` says which symbol counts all that the group holds, by the one that counts a part."""
_MOST_JOINED = 8
_LEAST_SHARED = 32
"""Rows of joined tensors: cores cannot share the dimension along which they are joined."""


@cache
def _pointwise() -> Mapping[str, Any]:
    """The table of pointwise operations, filled."""
    operation_names()
    return TABLE


def is_pointwise(op: str) -> bool:
    """Whether every element of the result depends on the same element of each operand."""
    return op in _pointwise() or op == "copy"


def is_product(op: str) -> bool:
    """Whether an operation runs on the matrix unit."""
    return op in _PRODUCTS or op in _BIASED_PRODUCTS


def space_of(
    op: str, sizes: Sequence[Sequence[int]], results: Sequence[Sequence[int]]
) -> dict[str, int] | None:
    """The iteration space of an operation on tensors of these sizes: extent by symbol.

    None for an operation that is only done whole.
    """
    if is_pointwise(op):
        return {f"d{axis}": extent for axis, extent in enumerate(results[0])}
    if op in (*_REDUCTIONS, *_SOFTMAX, *_NORMS):
        return {f"d{axis}": extent for axis, extent in enumerate(sizes[0])}
    if is_product(op):
        first = int(op in _BIASED_PRODUCTS)
        if min(len(sizes[first]), len(sizes[first + 1]), len(results[0])) < 2:
            return None
        *batch, rows, columns = results[0]
        space = {f"B{axis}" if len(batch) > 1 else "B": n for axis, n in enumerate(batch)}
        return {**space, "M": rows, "N": columns, "K": sizes[first][-1]}
    if op == "cat":
        return _joined_space(sizes, results[0])
    if op == ATTENTION:
        if len(sizes) < 3 or any(len(size) != 4 for size in sizes) or len(results) != 2:
            return None
        entries, heads, rows, depth = sizes[0]
        _, shared, keys, width = sizes[2]
        space = {"B": entries, "H": shared}
        if heads > shared > 0:
            space["G"] = heads // shared
        return {**space, "M": rows, "N": keys, "D": depth, "E": width}
    return None


def _joined_space(sizes: Sequence[Sequence[int]], result: Sequence[int]) -> dict[str, int] | None:
    """Dimensions that all tensors share, then that along which they are joined, of each."""
    along = [d for d, (a, b) in enumerate(zip(sizes[0], result, strict=True)) if a != b]
    if len(along) != 1 or len(sizes) > _MOST_JOINED:
        return None
    axis = along[0]
    space = {f"d{d}": extent for d, extent in enumerate(result) if d != axis}
    if math.prod(space.values()) < _LEAST_SHARED:
        return None
    own = {f"C{number}": size[axis] for number, size in enumerate(sizes)}
    return {**space, **own, "C": result[axis]}


def signature(
    op: str, symbols: Sequence[str], inputs: int, outputs: int, info: Mapping[str, Any]
) -> Signature | None:
    """The signature of an operation; None for one that is only done whole.

    Parameters
    ----------
    symbols
        Of its iteration space.
    inputs, outputs
        Numbers of tensors.
    info
        Attributes of the operation.
    """
    names = tuple(symbols)
    if is_pointwise(op):
        return _made([names] * (inputs + outputs), names, (), Role.FREE)
    if op in _REDUCTIONS:
        reduced = [names[axis] for axis in normal_axes(info.get("dims"), len(names))]
        kept = tuple(name for name in names if name not in reduced)
        return _made([names, kept], names, reduced, Role.SUM)
    if op in _SOFTMAX:
        row = [names[axis] for axis in normal_axes(info.get("dim", -1), len(names))]
        return _made([names] * (inputs + outputs), names, row, Role.ROW)
    if op in _NORMS:
        kept, own = _cut(names, len(names) - int(info.get("normalized_dims", 1)))
        operands = [names, *[own] * (inputs - 1), names, *[kept] * (outputs - 1)]
        return _made(operands, names, own, Role.ROW)
    if is_product(op):
        batch = names[:-3]
        rows, columns, depth = names[-3:]
        factors = [(*batch, rows, depth), (*batch, depth, columns)]
        result = (*batch, rows, columns)
        bias = [result] * (inputs - 2)
        operands = [*bias, *factors] if op in _BIASED_PRODUCTS else [*factors, *bias]
        return _made([*operands, result], names, [depth], Role.SUM)
    if op == GATHER:
        joined: Mapping[str, str] = info["gathered"]
        parts = tuple(name for name in names if name not in joined.values())
        whole = tuple(joined.get(name, name) for name in parts)
        return _made([parts, whole], names, tuple(joined.values()), Role.WHOLE)
    if op == "cat":
        at, kept = int(info.get("dim", 0)), names[: -inputs - 1]
        lines = [(*kept[:at], own, *kept[at:]) for own in names[-inputs - 1 :]]
        return _made(lines, names, names[-inputs - 1 :], Role.WHOLE)
    if op == ATTENTION:
        operands = [tuple(own) for own in _ATTENTION_OPERANDS]
        if "G" in names:
            queries = [0, *range(3, len(operands))]
            for n in queries:
                operands[n] = ("B", "H", "G", *operands[n][2:])
        if inputs == 3:
            del operands[3]
        made = _made(operands, names, names[-3:], Role.WHOLE)
        if "G" not in names:
            return made
        return replace(made, joined={n: 1 for n in range(len(operands)) if n not in (1, 2)})
    return None


def signature_of(spec: OpSpec) -> Signature | None:
    """The signature of a spec."""
    symbols = tuple(spec.iteration_space)
    return signature(spec.op, symbols, len(spec.inputs), len(spec.outputs), spec.op_info)


def _cut(names: tuple[str, ...], at: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return names[:at], names[at:]


def _made(
    operands: Sequence[tuple[str, ...]], names: Sequence[str], shared: Sequence[str], role: Role
) -> Signature:
    roles = {name: role if name in shared else Role.FREE for name in names}
    return Signature(tuple(operands), roles)
