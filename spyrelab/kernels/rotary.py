"""Rotary position embedding: rotate pairs of a head's elements by a position's angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, KernelError, element_type, random_array, to_memory, zeros
from spyrelab.kernels.division import TILE_ELEMENTS, ceil_div, positive, steps
from spyrelab.kernels.kernel import Kernel
from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32


def rotary(seq: int, heads: int, head_dim: int, dtype: str = "f16", cores: int = 32) -> Module:
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
    x_at, cos_at, sin_at, out_at = b.pointers("x", "cos", "sin", "out")
    x, out = (b.view(p, sizes=(seq, heads, head_dim), dtype=element) for p in (x_at, out_at))
    cos, sin = (b.view(p, sizes=(seq, half), dtype=element) for p in (cos_at, sin_at))
    core = b.compute_tile_id()
    first_s = core // head_parts * (length * seq_tiles)
    first_h = core % head_parts * (height * head_tiles)
    shape = (length, height, half)
    with steps(b, first_s, length, seq_tiles, seq, "position") as s:
        c, d = (b.load(v[s, 0], shape=(length, half)).to(F32) for v in (cos, sin))
        c, d = b.broadcast(c, shape, 1), b.broadcast(d, shape, 1)
        with steps(b, first_h, height, head_tiles, heads, "head") as h:
            lower = b.load(x[s, h, 0], shape=shape).to(F32)
            upper = b.load(x[s, h, half], shape=shape).to(F32)
            b.store((lower * c - upper * d).to(element), out[s, h, 0])
            b.store((upper * c + lower * d).to(element), out[s, h, half])
    return b.build()


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
