"""Rotary position embedding: rotate pairs of a head's elements by a position's angles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, KernelError, element_type, random_array, to_memory, zeros
from spyrelab.kernels.division import TILE_ELEMENTS, ceil_div, positive, steps
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts, known_layouts
from spyrelab.kernels.operands import Operand
from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32, TensorType


def rotary(
    seq: int,
    heads: int,
    head_dim: int,
    dtype: str = "f16",
    cores: int = 32,
    layouts: Layouts | None = None,
) -> Module:
    """Element i of a head pairs with element i + head_dim / 2, computed in f32::

        out[s, h, i]        = x[s, h, i] * cos[s, i] - x[s, h, i + half] * sin[s, i]
        out[s, h, i + half] = x[s, h, i + half] * cos[s, i] + x[s, h, i] * sin[s, i]

    Positions go over the cores, and heads too where there are fewer positions than cores.

    Arguments of the kernel: x, out ``[seq, heads, head_dim]``; cos, sin
    ``[seq, head_dim / 2]``.
    Bytes moved: ``itemsize * seq * head_dim * (2 * heads + head_parts)``, where head_parts
    is the number of cores that share a position.
    """
    positive(seq=seq, heads=heads, head_dim=head_dim, cores=cores)
    if head_dim % 2:
        raise KernelError(f"head_dim = {head_dim} is odd: rotary embedding pairs elements")
    half, element = head_dim // 2, element_type(dtype)
    seq_parts = min(seq, cores)
    head_parts = min(heads, cores // seq_parts)
    height = min(ceil_div(heads, head_parts), max(1, TILE_ELEMENTS // half))
    head_tiles = ceil_div(ceil_div(heads, head_parts), height)
    length = min(ceil_div(seq, seq_parts), max(1, TILE_ELEMENTS // (half * height)))
    seq_tiles = ceil_div(ceil_div(seq, seq_parts), length)

    b = Builder("rotary", grid=(seq_parts * head_parts,))
    whole, angles = (seq, heads, head_dim), (seq, half)
    chosen = known_layouts(layouts, ("x", "cos", "sin", "out"))
    x_at, cos_at, sin_at, out_at = b.pointers("x", "cos", "sin", "out")
    x, out = (Operand.of(b, p, whole, element, chosen) for p in (x_at, out_at))
    cos, sin = (Operand.of(b, p, angles, element, chosen) for p in (cos_at, sin_at))
    core = b.compute_tile_id()
    first_s = core // head_parts * (length * seq_tiles)
    first_h = core % head_parts * (height * head_tiles)
    shape = (length, height, half)
    with steps(b, first_s, length, seq_tiles, seq, "position") as s:
        c, d = (v.load((s, 0), (length, half)).to(F32) for v in (cos, sin))
        c, d = b.broadcast(c, shape, 1), b.broadcast(d, shape, 1)
        with steps(b, first_h, height, head_tiles, heads, "head") as h:
            lower, upper = _halves(b, x, (s, h), shape)
            first = (lower * c - upper * d).to(element)
            if half % out.stick == 0:
                out.store(first, (s, h, 0))
            second = (upper * c + lower * d).to(element)
            if half % out.stick == 0:
                out.store(second, (s, h, half))
            else:  # both halves share a stick
                room = b.empty(TensorType((length, height, head_dim), element))
                both = b.insert_slice(first, room, (0, 0, 0))
                out.store(b.insert_slice(second, both, (0, 0, half)), (s, h, 0))
    return b.build()


def _halves(
    b: Builder, x: Operand, at: Sequence[Scalar], shape: tuple[int, int, int]
) -> list[Tensor]:
    half = shape[-1]
    if half % x.stick == 0:
        return [x.load((*at, low), shape).to(F32) for low in (0, half)]
    whole = x.load((*at, 0), (*shape[:-1], 2 * half))
    return [b.extract_slice(whole, (0, 0, low), shape).to(F32) for low in (0, half)]


def spec(x: Array, cos: Array, sin: Array, **_: Any) -> Array:
    """The rotation in float32."""
    half = x.shape[-1] // 2
    lower, upper = x[..., :half], x[..., half:]
    c, s = cos[:, None, :], sin[:, None, :]
    return np.concatenate([lower * c - upper * s, upper * c + lower * s], axis=-1)


def arguments(
    seq: int, heads: int, head_dim: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random x, the usual angles (base 10000), and room for out."""
    rng = np.random.default_rng(seed)
    half = head_dim // 2
    angles = np.arange(seq)[:, None] * 10000.0 ** (-np.arange(half) / half)
    return {
        "x": random_array(rng, (seq, heads, head_dim), dtype),
        "cos": to_memory(np.cos(angles), dtype),
        "sin": to_memory(np.sin(angles), dtype),
        "out": zeros((seq, heads, head_dim), dtype),
    }


ROTARY = Kernel("rotary", rotary, spec, arguments)
