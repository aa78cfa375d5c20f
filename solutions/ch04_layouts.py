"""Model answers of chapter 4."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from spyrelab.ktir import F16, Builder, Module

LANES = 64


def default_layout(size: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The middle dimensions, the sticks of a row, the first dimension, the lanes."""
    strides = [prod(size[d + 1 :]) for d in range(len(size))]
    tiles = -(-size[-1] // LANES)
    middle = range(1, len(size) - 1)
    first = range(min(1, len(size) - 1))
    device_size = [*(size[d] for d in middle), tiles, *(size[d] for d in first), LANES]
    stride_map = [*(strides[d] for d in middle), LANES, *(strides[d] for d in first), 1]
    return device_size, stride_map


def unpack(
    elements: Any, device_size: tuple[int, ...], stride_map: tuple[int, ...], size: tuple[int, ...]
) -> Any:
    """Offsets taken apart, the largest stride first; a dimension of one element takes nothing."""
    levels = []
    for d, (extent, stride) in enumerate(zip(device_size, stride_map, strict=True)):
        if extent > 1 and stride > 0:
            levels.append((stride, prod(device_size[d + 1 :])))
    rest = np.arange(prod(size))
    place = np.zeros_like(rest)
    for stride, step in sorted(levels, reverse=True):
        at, rest = np.divmod(rest, stride)
        place += at * step
    return elements[place].reshape(size)


def to_df16(bits: Any) -> Any:
    """By way of f32, in which every f16 has an exponent and a fraction: round, then rebias."""
    sign, magnitude = bits & 0x8000, bits & 0x7FFF
    wide = magnitude.view(np.float16).astype(np.float32).view(np.uint32)
    rounded = (wide + (1 << 13)) >> 14
    code = (rounded - ((127 - 31) << 9)).astype(np.uint16)
    code = np.where(magnitude == 0, 0, code) | sign
    return np.where(magnitude >= 0x7C00, 0x7FFF, code).astype(np.uint16)


def needs_gather(start: int, stop: int, step: int) -> bool:
    """Within one stick anything goes; beyond it, each stick has to look like the one before."""
    last = start + (stop - start - 1) // step * step
    if start // LANES == last // LANES or step % LANES == 0:
        return False
    return LANES % step != 0 or start % LANES >= step


def choose_orders(
    order: tuple[int, ...], weight_order: tuple[int, int], reduced: int
) -> tuple[list[int], list[int]] | None:
    """Sticks of x along what the product takes for k, of w along what it takes for n."""
    k, n = order[-1], weight_order[-1]
    if reduced == k:
        return None
    return [*(d for d in range(len(order)) if d != k), k], [1 - n, n]


def turn(rows: int, cols: int) -> Module:
    """Blocks of 64 sticks become 64 other sticks; each core takes every 32nd block."""
    across, down = -(-cols // LANES), -(-rows // LANES)
    b = Builder("turn", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(across, rows, LANES), dtype=F16)
    out = b.view(out_at, sizes=(down, cols, LANES), dtype=F16)
    with b.loop(b.compute_tile_id(), across * down, 32, names="block") as block:
        tile, strip = block % across, block // across
        values = b.load(x[tile, strip * LANES, 0], shape=(1, LANES, LANES))
        b.store(b.transpose(values, [0, 2, 1]), out[strip, tile * LANES, 0])
    return b.build()


def cheapest_layouts(comes: list[int], costs: list[int], stream_cost: int) -> list[int]:
    """For each layout of the stream, the least cost so far and the choices that lead there."""
    best: list[tuple[int, list[int]]] = [(0, []), (stream_cost, [])]
    for arrives, cost in zip(comes, costs, strict=True):
        done = []
        for layout in (0, 1):
            total, path = best[layout]
            done.append((total + cost * (layout != arrives), [*path, layout]))
        turned = [(total + stream_cost, path) for total, path in reversed(done)]
        best = [min(pair) for pair in zip(done, turned, strict=True)]
    return best[0][1]
