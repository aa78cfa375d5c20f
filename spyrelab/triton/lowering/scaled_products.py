"""Products of operands in microscaling formats: each is brought to 16 bits first.

Formats and scales as in the OCP Microscaling Formats (MX) Specification v1.0.
"""

from __future__ import annotations

import math

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.types import BF16, F16, F32, I32
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.floats import apply
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.products import product
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.shapes import concatenated
from spyrelab.triton.lowering.spread import spread
from spyrelab.triton.ttir import TtirOperation

__all__ = ["dot_scaled"]

_E2M3, _E3M2, _E2M1, _FP16 = 2, 3, 4, 6
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1 = (*_MAGNITUDES, *(-m for m in _MAGNITUDES))
"""Numbers of the 4-bit format by their bits."""

_NAN_BITS = 0x7FC00000
_LEAST_SCALE_BITS = 0x00400000
"""2**-127, what a scale of 0 means, as bits of f32."""


@lowers("tt.dot_scaled")
def dot_scaled(kernel: Kernel, operation: TtirOperation) -> None:
    """``c + (a * a_scale) @ (b * b_scale)``: factors in bf16 (f16 beside an f16 operand)."""
    attributes = operation.attributes
    left, right, into, *scales = kernel.elements(kernel.values(operation))
    formats = attributes["a_elem_type"], attributes["b_elem_type"]
    for kind in formats:
        if kind in (_E2M3, _E3M2):
            raise unsupported(
                "tl.dot_scaled of a 6-bit format", operation.location, "use e2m1, e4m3 or e5m2"
            )
    has_left, has_right = attributes["operandSegmentSizes"][3:]
    target = F16 if _FP16 in formats else BF16
    rank = left.rank
    inner, rows = rank - 1, rank - 2
    a = _numbers(kernel, left, formats[0], inner if attributes["lhs_k_pack"] else rows)
    c = _numbers(kernel, right, formats[1], rows if attributes["rhs_k_pack"] else inner)
    exact = not attributes["fastMath"]
    if has_left:
        a = _scaled(kernel, a, scales[0], exact, flips=False)
    if has_right:
        c = _scaled(kernel, c, scales[-1], exact, flips=True)
    x, y = (kernel.b.cast(tensor, target) for tensor in (a, c))
    kernel.define(operation.result, product(kernel, x, y, into))


def _numbers(kernel: Kernel, operand: Tensor, kind: int, axis: int) -> Tensor:
    """An operand as floats; two 4-bit numbers lie in each byte along ``axis``, low bits first."""
    if kind != _E2M1:
        return operand
    b = kernel.b
    wide = b.cast(operand, I32)
    shape = tuple(extent or 0 for extent in wide.shape)
    halves = []
    for shift in (0, 4):
        moved = apply(kernel, "arith.shrui", wide, b.full(shape, shift, I32)) if shift else wide
        codes = apply(kernel, "arith.andi", moved, b.full(shape, 15, I32))
        halves.append(b.reshape(codes, (*shape[: axis + 1], 1, *shape[axis + 1 :])))
    codes = concatenated(kernel, halves, axis + 1)
    count = 2 * math.prod(shape)
    found = b.take(b.constant_tensor(E2M1, F32), b.reshape(codes, (count,)), 0)
    return b.reshape(found, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))


def _scaled(kernel: Kernel, values: Tensor, scale: Tensor, exact: bool, flips: bool) -> Tensor:
    """Values times the scale of their group along the summed axis, which a scale has last."""
    b = kernel.b
    factor = _scale(kernel, scale, exact)
    *outer, groups = (extent or 0 for extent in factor.shape)
    rank = values.rank
    summed = values.shape[rank - 2 if flips else rank - 1] or 0
    wide = spread(b, factor, range(rank), (*outer, groups, summed // groups))
    wide = b.reshape(wide, (*outer, summed))
    if flips:
        wide = b.transpose(wide, (*range(rank - 2), rank - 1, rank - 2))
    result: Tensor = b.cast(values, F32) * wide
    return result


def _scale(kernel: Kernel, scale: Tensor, exact: bool) -> Tensor:
    """Scales in f32: e8m0 bytes are the exponents of powers of two, 255 is NaN."""
    if scale.dtype.is_float:
        wide: Tensor = kernel.b.cast(scale, F32)
        return wide
    b, shape = kernel.b, scale.shape

    def everywhere(number: int) -> Tensor:
        return b.full(shape, number, I32)

    code = apply(kernel, "arith.andi", b.cast(scale, I32), everywhere(255))
    bits = apply(kernel, "arith.shli", code, everywhere(23))
    bits = b.select(b.compare("eq", code, 0), everywhere(_LEAST_SCALE_BITS), bits)
    if exact:
        bits = b.select(b.compare("eq", code, 255), everywhere(_NAN_BITS), bits)
    made: Tensor = apply(kernel, "arith.bitcast", bits, to=F32)
    return made
