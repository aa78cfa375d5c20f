"""Matrix products: mm, bmm, linear, addmm and their kin.

Operands of each operation, in order:

========================== ==========================================================
mm, bmm, matmul            a ``[..., m, k]``, b ``[..., k, n]``; batch extents broadcast
mv, dot                    a ``[m, k]`` or ``[k]``, b ``[k]``
linear                     x ``[..., k]``, the *turned* weight ``[k, n]``, perhaps bias
addmm, baddbmm             bias (broadcast to the result), a, b, perhaps beta and alpha
addmv                      bias, a ``[m, k]``, b ``[k]``, perhaps beta and alpha
addbmm                     bias ``[m, n]``, a ``[b, m, k]``, b ``[b, k, n]``; sums over b
addr                       bias ``[m, n]``, a ``[m]``, b ``[n]``: the outer product
========================== ==========================================================

beta and alpha are ``"f32"`` numbers given at launch. Sums are taken in f32 and rounded once;
with beta 0 the bias is not read into the result, as in torch.

A's sticks lie along k, those of B and the result along n; another operand is `Unsuitable`.
"""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import BF16, DF16, F16, F32, ScalarType
from spyrelab.layout.access import Axis
from spyrelab.opspec.contraction import Contraction, Index
from spyrelab.opspec.contraction_program import Finish
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.operand import Input, Operand, element_type
from spyrelab.opspec.registry import family
from spyrelab.opspec.spans import plain

__all__ = ["build_matmul", "build_scaled_matmul", "require_float"]

_FLOATS = (F16, BF16, DF16, F32)


@family("mm", "bmm", "matmul", "mv", "dot", "linear")
def build_matmul(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """The product of two operands, with a bias for ``linear``."""
    tensors = _tensors(op, inputs, attributes)
    bias = 2 if op == "linear" and len(tensors) == 3 else None
    if len(tensors) != 2 and bias is None:
        raise OpSpecError(f"{op} takes two operands, not {len(tensors)}")
    product = _contraction(op, tensors, outputs[0], (0, 1), bias)
    arguments = [(f"in{i}", None) for i in range(len(inputs))] + [("out0", None)]
    if bias is None:
        return product.build(arguments)

    def finish(scalars: dict[str, Scalar]) -> Finish:
        return lambda b, total, extra: (total + extra).to(outputs[0].element)

    return product.build(arguments, finish)


@family("addmm", "baddbmm", "addmv", "addbmm", "addr")
def build_scaled_matmul(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """``beta * bias + alpha * (a @ b)``; both factors are one where they are not given."""
    tensors = _tensors(op, inputs[:3], attributes)
    if len(tensors) != 3 or len(inputs) not in (3, 5) or not {"f32", "i64"}.issuperset(inputs[3:]):
        raise OpSpecError(f"{op} takes bias, a, b and perhaps beta and alpha")
    product = _contraction(op, tensors, outputs[0], (1, 2), 0)
    arguments: list[tuple[str, ScalarType | None]] = [
        (f"in{i}", None if isinstance(entry, Operand) else element_type(entry))
        for i, entry in enumerate(inputs)
    ]

    def finish(scalars: dict[str, Scalar]) -> Finish:
        def combine(b: Builder, total: Tensor, bias: Tensor | None) -> Tensor:
            assert bias is not None
            if len(inputs) == 5:
                beta, alpha = scalars["in3"].to(F32), scalars["in4"].to(F32)
                scaled = bias * beta
                bias = b.select(beta.equals(0.0), b.full(scaled.shape, 0.0, F32), scaled)
                total = total * alpha
            return (bias + total).to(outputs[0].element)

        return combine

    return product.build([*arguments, ("out0", None)], finish)


def require_float(op: str, *operands: Operand) -> None:
    """Raise Unsupported for anything but the 16- and 32-bit floats."""
    for operand in operands:
        if operand.element not in _FLOATS:
            raise Unsupported(f"{op} of {operand.dtype}")


def _tensors(op: str, inputs: tuple[Input, ...], attributes: dict[str, Any]) -> list[Operand]:
    if attributes:
        raise Unsupported(f"{op} with {', '.join(attributes)}")
    found = [operand for operand in inputs if isinstance(operand, Operand)]
    if len(found) != len(inputs):
        raise OpSpecError(f"{op} multiplies tensors")
    require_float(op, *found)
    return found


def _contraction(
    op: str, tensors: list[Operand], out: Operand, factors: tuple[int, int], bias: int | None
) -> Contraction:
    left, right = (tensors[i] for i in factors)
    require_float(op, out)
    if left.dtype != right.dtype:
        raise Unsupported(f"{op} of {left.dtype} and {right.dtype}")
    extra = [tensors[bias]] if bias is not None else []
    order = (*factors, *([bias] if bias is not None else []))
    find = {"addbmm": _summed_roles, "addr": _outer_roles}.get(op, _roles)
    return Contraction(
        op,
        find(op, left, right, out, extra),
        tuple(operand.element for operand in (left, right, out, *extra)),
        (f"in{order[0]}", f"in{order[1]}", "out0", *(f"in{i}" for i in order[2:])),
        (order[0], order[1], len(tensors), *order[2:]),
    )


def _roles(
    op: str, left: Operand, right: Operand, out: Operand, extra: list[Operand]
) -> tuple[tuple[Index, ...], ...]:
    """Indices by role; a batch index that one factor lacks is a row or a column."""
    depth = left.size[-1]
    has_rows, has_cols = left.rank > 1, right.rank > 1
    if right.size[-2 if has_cols else -1] != depth:
        raise OpSpecError(f"{op} of {left.size} and {right.size}: the depths differ")
    size = out.size
    lead = len(size) - has_rows - has_cols
    roles: dict[str, list[Index]] = {name: [] for name in ("batch", "rows", "cols", "depth")}
    others = [out, *extra]

    def index(from_end: int, a: Axis | None, b: Axis | None) -> Index:
        extent = size[len(size) - from_end]
        axes = [a or plain(extent), b or plain(extent)]
        return Index(extent, (*axes, *(_axis(o, from_end, extent) for o in others)))

    for position in range(lead):
        from_end = len(size) - position
        extent = size[position]
        a = _axis(left, lead - position + 1 + has_rows, extent)
        b = _axis(right, lead - position + 1 + has_cols, extent)
        made = index(from_end, a, b)
        roles[made.role()].append(made)
    if has_rows:
        roles["rows"].append(index(1 + has_cols, left.axes[-2], None))
    if has_cols:
        roles["cols"].append(index(1, None, right.axes[-1]))
    summed = (left.axes[-1], right.axes[-2 if has_cols else -1])
    roles["depth"].append(Index(depth, (*summed, *(plain(depth) for _ in others))))
    return tuple(tuple(roles[name]) for name in ("batch", "rows", "cols", "depth"))


def _summed_roles(
    op: str, left: Operand, right: Operand, out: Operand, extra: list[Operand]
) -> tuple[tuple[Index, ...], ...]:
    """The batch is summed too."""
    if left.rank != 3 or right.rank != 3 or left.size[::2] != right.size[:2]:
        raise OpSpecError(f"{op} of {left.size} and {right.size}")
    (batch, m, k), n = left.size, right.size[2]
    a, b, others = left.axes, right.axes, [out, *extra]
    depth = [
        Index(extent, (a[i], b[j], *(plain(extent) for _ in others)))
        for extent, i, j in ((batch, 0, 0), (k, 2, 1))
    ]
    rows = Index(m, (a[1], plain(m), *(_axis(o, 2, m) for o in others)))
    cols = Index(n, (plain(n), b[2], *(_axis(o, 1, n) for o in others)))
    return (), (rows,), (cols,), tuple(depth)


def _outer_roles(
    op: str, left: Operand, right: Operand, out: Operand, extra: list[Operand]
) -> tuple[tuple[Index, ...], ...]:
    """A sum of one product."""
    if left.rank != 1 or right.rank != 1:
        raise OpSpecError(f"{op} of {left.size} and {right.size}")
    (m,), (n,), others = left.size, right.size, [out, *extra]
    rows = Index(m, (left.axes[0], plain(m), *(_axis(o, 2, m) for o in others)))
    cols = Index(n, (plain(n), right.axes[0], *(_axis(o, 1, n) for o in others)))
    return (), (rows,), (cols,), (Index(1, tuple(plain(1) for _ in range(2 + len(others)))),)


def _axis(operand: Operand, from_end: int, extent: int) -> Axis:
    """An axis counted from the end; one that is missing or of extent 1 is repeated."""
    if from_end > operand.rank or operand.size[-from_end] == 1:
        return plain(extent)
    if operand.size[-from_end] != extent:
        raise OpSpecError(f"an operand of size {operand.size} does not broadcast to {extent}")
    return operand.axes[-from_end]
