"""What the symbols of an operation's iteration space mean: which operand has them, how they cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from spyrelab.opspec import operation_names
from spyrelab.opspec.expressions import TABLE
from spyrelab.opspec.row_space import normal_axes
from spyrelab.opspec.spec import OpSpec

__all__ = ["Role", "Signature", "is_product", "signature", "signature_of", "space_of"]


class Role(Enum):
    """What has to happen where cores share the range of a symbol.

    FREE: nothing. SUM: partial results are folded. ROW: what is known of a row is exchanged.
    """

    FREE = "free"
    SUM = "sum"
    ROW = "row"


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
    """

    operands: tuple[tuple[str, ...], ...]
    roles: Mapping[str, Role]

    @property
    def shared(self) -> tuple[str, ...]:
        """Symbols whose cores have to exchange something."""
        return tuple(s for s, role in self.roles.items() if role is not Role.FREE)


_REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "nansum", "any", "all", "count_nonzero")
_SOFTMAX = ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")
_NORMS = ("layer_norm", "rms_norm")
_PRODUCTS = ("mm", "bmm", "matmul", "linear")
_BIASED_PRODUCTS = ("addmm", "baddbmm")


def _pointwise() -> Mapping[str, Any]:
    """The table of pointwise operations, filled."""
    operation_names()
    return TABLE


def is_product(op: str) -> bool:
    """Whether an operation runs on the matrix unit."""
    return op in _PRODUCTS or op in _BIASED_PRODUCTS


def space_of(
    op: str, sizes: Sequence[Sequence[int]], results: Sequence[Sequence[int]]
) -> dict[str, int] | None:
    """The iteration space of an operation on tensors of these sizes: extent by symbol.

    None for an operation that is only done whole.
    """
    if op in _pointwise() or op == "copy":
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
    return None


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
    if op in _pointwise() or op == "copy":
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
