"""One core's part of an operation, appended to a program that is being built.

A program that divides work its own way (a bundle of operations, say) computes where each core's
slices begin, and lets an operation be done on these::

    x, y = Given(b.pointers("x")[0] + first, operand), Given(b.constant(0), compact, LX)
    emit(b, "exp", [x], [y], lx_bytes=256 << 10)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar
from spyrelab.ktir.types import F32, I64
from spyrelab.layout.access import Access
from spyrelab.opspec.errors import OpSpecError, Unsuitable, Unsupported
from spyrelab.opspec.operand import UNSIGNED, Input
from spyrelab.opspec.registry import builder_of, takes_unsigned
from spyrelab.opspec.target import Given, Partners, Target, emitting

__all__ = ["WORK_BYTES", "Given", "Partners", "emit"]

WORK_BYTES = 256 << 10
"""Scratchpad bytes for the tiles of one operation, where nobody says otherwise."""


def emit(
    b: Builder,
    op: str,
    inputs: Sequence[Given | Scalar],
    outputs: Sequence[Given],
    *,
    lx_bytes: int = WORK_BYTES,
    partners: Partners | None = None,
    **attributes: Any,
) -> None:
    """Append the code by which the running core does ``op`` on its slices.

    The arithmetic is that of `spyrelab.opspec.compile`.  An output may be an input in place:
    the same address and access, of a pointwise operation.

    Parameters
    ----------
    inputs
        Slices of tensors, and numbers of type f32 or i64.
    lx_bytes
        What tiles that are alive at once may take, beside slices that lie in the scratchpad.
    partners
        Given where the slices hold a part only of what the operation reduces; parts have one
        extent.  Operations that fold a row exchange what they folded; sums of products are
        exchanged before anything is done with them.
    **attributes
        As for `spyrelab.opspec.compile`.

    Raises
    ------
    Unsuitable
        A slice lies in a way that cannot be used.
    Unsupported
        Slices cannot be worked on by themselves, or not within ``lx_bytes``.
    """
    for position, entry in enumerate((*inputs, *outputs)):
        if isinstance(entry, Given):
            _check(op, position, entry)
    names = [f"in{n}" for n in range(len(inputs))] + [f"out{n}" for n in range(len(outputs))]
    entries = dict(zip(names, (*inputs, *outputs), strict=True))
    scalars = {n: e.pointer if isinstance(e, Given) else e for n, e in entries.items()}
    given = {name: entry for name, entry in entries.items() if isinstance(entry, Given)}
    described = tuple(e.operand if isinstance(e, Given) else _number_type(e) for e in inputs)
    results = tuple(entry.operand for entry in outputs)
    with emitting(Target(b, scalars, given, lx_bytes, partners)):
        whole = builder_of(op)(op, described, results, **attributes)
    if whole.functions:
        raise Unsupported(f"{op} as one core's part of a program")


def _check(op: str, position: int, given: Given) -> None:
    if not isinstance(given.operand.access, Access):
        raise Unsuitable(position, "no plain access")
    if given.space.core is not None:
        raise OpSpecError(f"{op}: operand {position} lies on core {given.space.core} only")
    if given.operand.dtype == UNSIGNED and not takes_unsigned(op):
        raise Unsupported(f"{op} of bytes without sign")


def _number_type(number: Scalar) -> Input:
    if number.dtype not in (F32, I64):
        raise OpSpecError(f"a number is f32 or i64, not {number.dtype}")
    return number.dtype.name
