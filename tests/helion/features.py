"""Kernels that between them use the whole of Helion's language, written for these tests."""

from __future__ import annotations

from collections.abc import Callable

import helion
import helion.language as hl
import torch
import triton

kernel = helion.kernel(autotune_effort="none")
dynamic = helion.kernel(autotune_effort="none", static_shapes=False)


@dynamic
def broadcast_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x, y = torch.broadcast_tensors(x, y)
    out = torch.empty(x.shape, dtype=torch.promote_types(x.dtype, y.dtype), device=x.device)
    for tile in hl.tile(out.size()):
        out[tile] = x[tile] + y[tile]
    return out


@dynamic
def concatenate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0), x.size(1) + y.size(1)], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile(out.size()):
        from_x = (columns.index < x.size(1))[None, :]
        left = hl.load(x, [rows, columns], extra_mask=from_x)
        right = hl.load(y, [rows, columns.index - x.size(1)], extra_mask=~from_x)
        out[rows, columns] = torch.where(from_x, left, right)
    return out


@kernel
def product_with(
    x: torch.Tensor, y: torch.Tensor, epilogue: Callable[..., torch.Tensor]
) -> torch.Tensor:
    """A product, and what a function of the caller's makes of each tile of it."""
    m, k = x.size()
    n = y.size(1)
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = hl.dot(x[rows, inner], y[inner, columns], acc=acc)
        out[rows, columns] = epilogue(acc, [rows, columns]).to(x.dtype)
    return out


@kernel
def split_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Parts of k in programs of their own; how many is for the tuner to choose."""
    m, k = x.size()
    n = y.size(1)
    out = torch.zeros([m, n], dtype=torch.float32, device=x.device)
    parts = hl.register_tunable("parts", helion.autotuner.PowerOfTwoFragment(1, 64))
    part = helion.next_power_of_2(helion.cdiv(k, parts))
    for rows, columns, outer in hl.tile([m, n, k], block_size=[None, None, part]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        if outer.begin == 0:
            acc = acc + 1
        hl.atomic_add(out, [rows, columns], acc)
    return out


@kernel
def half_bytes(x: torch.Tensor, packed: torch.Tensor) -> torch.Tensor:
    """``x [m, k]`` times weights of 4 bits, two to a byte: ``packed [k / 2, n]``."""
    m, k = x.size()
    n = packed.size(1)
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    block = hl.register_block_size(k // 2)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for pairs in hl.tile(k // 2, block_size=block):
            both = packed[pairs, columns]
            low, high = ((both << 4) >> 4).to(x.dtype), (both >> 4).to(x.dtype)
            weights = hl.join(low, high).permute(0, 2, 1).reshape([block * 2, columns])
            begin = pairs.begin * 2
            acc = hl.dot(x[rows, begin : begin + block * 2], weights, acc=acc)
        out[rows, columns] = acc
    return out


@kernel
def grouped_product(x: torch.Tensor, y: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """As many workers as there are cores, each with its share of the tiles of every group."""
    workers = 32
    block_m, block_n = hl.register_block_size(32, 64), hl.register_block_size(32, 64)
    k, n = y.shape
    out = torch.zeros(x.size(0), n, dtype=x.dtype, device=x.device)
    groups = offsets.size(0) - 1
    for worker in hl.grid(workers):
        for group in hl.grid(groups):
            start, end = offsets[group], offsets[group + 1]
            if end > start:
                down = (end - start + block_m - 1) // block_m
                count = down * helion.cdiv(n, block_n)
                for number in hl.grid(count):
                    mine = number * workers + worker
                    if mine < count:
                        rows = start + mine % down * block_m + hl.arange(block_m)
                        columns = mine // down * block_n + hl.arange(block_n)
                        real_rows, real_columns = rows < end, columns < n
                        acc = hl.zeros([block_m, block_n], dtype=torch.float32)
                        for inner in hl.tile(k):
                            a = hl.load(x, [rows, inner], extra_mask=real_rows[:, None])
                            b = hl.load(y, [inner, columns], extra_mask=real_columns[None, :])
                            acc = torch.addmm(acc, a, b)
                        real = real_rows[:, None] & real_columns[None, :]
                        hl.store(out, [rows, columns], acc.to(out.dtype), extra_mask=real)
    return out


def _add_within(left, left_key, right, right_key):
    return torch.where(left_key == right_key, left + right, right), right_key


@kernel
def sums_of_runs(keys: torch.Tensor, x: torch.Tensor, count: int) -> torch.Tensor:
    """Sums of the rows of equal keys, which are sorted."""
    n, m = x.shape
    out = torch.zeros((count, m), dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([n, m]):
        values = x[rows, columns]
        own = keys[rows].float().unsqueeze(1).expand_as(values)
        sums, _ = hl.associative_scan(_add_within, (values, own), dim=0)
        last = rows.index == n - 1
        after = hl.load(keys, [torch.where(last, rows.index, rows.index + 1)])
        ends = last | ((rows.index + 1) % rows.block_size == 0) | (keys[rows] != after)
        hl.atomic_add(out, [keys[rows], columns], torch.where(ends[:, None], sums, 0.0))
    return out


def _larger(left, left_at, right, right_at):
    return torch.where(left > right, left, right), torch.where(left > right, left_at, right_at)


@kernel
def largest(x: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.empty([x.size(0)], dtype=x.dtype, device=x.device)
    places = torch.empty([x.size(0)], dtype=torch.int64, device=x.device)
    for rows in hl.tile(x.size(0)):
        numbers = at[:][None, :].expand(rows.block_size, x.size(1)).float()
        value, place = hl.reduce(_larger, (x[rows, :], numbers), dim=1, other=(-1e30, 0.0))
        values[rows] = value
        places[rows] = place.to(torch.int64)
    return values, places


@kernel
def scans(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    sums, backward, products = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        sums[rows, :] = torch.cumsum(x[rows, :], dim=1)
        backward[rows, :] = hl.cumsum(x[rows, :], dim=1, reverse=True)
        products[rows, :] = hl.cumprod(x[rows, :], dim=1)
    return sums, backward, products


@dynamic
def ragged_sums(x: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    runs = offsets.size(0) - 1
    out = torch.zeros([runs], dtype=x.dtype, device=x.device)
    for run in hl.tile(runs):
        starts = offsets[run]
        lengths = offsets[run.index + 1] - starts
        acc = hl.zeros([run], dtype=torch.float32)
        for part in hl.jagged_tile(lengths):
            acc = acc + x[starts[:, None] + part.index[None, :]].sum(1)
        out[run] = acc
    return out


@triton.jit
def _three_times(a, b):
    return a + b * 3


@kernel
def with_triton(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.shape):
        left = x[tile]
        written = hl.inline_triton(
            "{lhs} * 2 + tl.abs({rhs})", args={"lhs": left, "rhs": y[tile]}, output_like=left
        )
        out[tile] = hl.triton_kernel("_three_times", args=(written, y[tile]), output_like=left)
    return out


@kernel
def butterfly(x: torch.Tensor) -> torch.Tensor:
    """Differences and sums of the pairs of ``x [m, n, 2]``."""
    m, n, _ = x.size()
    out = torch.empty_like(x)
    for rows, columns in hl.tile([m, n]):
        left, right = hl.split(x[rows, columns, :])
        out[rows, columns, :] = hl.join(left - right, left + right)
    return out


@kernel
def tile_facts(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros([x.size(0), 5], dtype=torch.int64, device=x.device)
    for tile in hl.tile(x.size(0), block_size=16):
        out[tile, 0] = tile.index.to(torch.int64)
        out[tile, 1] = hl.full([tile], tile.begin, dtype=torch.int64)
        out[tile, 2] = hl.full([tile], tile.end, dtype=torch.int64)
        out[tile, 3] = hl.full([tile], tile.id, dtype=torch.int64)
        out[tile, 4] = hl.full([tile], tile.block_size, dtype=torch.int64)
    return out


@kernel
def tallies(x: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    sums = torch.zeros([10], dtype=torch.int32, device=x.device)
    most = torch.full([10], -100, dtype=torch.int32, device=x.device)
    swapped = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        hl.atomic_add(sums, [at[tile]], x[tile])
        hl.atomic_max(most, [at[tile]], x[tile])
        swapped[tile] = hl.atomic_cas(x, [tile], 3, 7)
    return sums, most, swapped


@kernel
def outer_powers(x: torch.Tensor, powers: hl.constexpr, mode: str) -> torch.Tensor:
    out = torch.empty([x.size(0), x.size(0)], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([x.size(0), x.size(0)]):
        left = hl.subscript(x[rows], [slice(None), None])
        acc = left * hl.subscript(x[columns], [None, slice(None)])
        for power in hl.static_range(powers):
            acc = acc + left * power
        if mode == "negative":
            acc = -acc
        out[rows, columns] = acc
    return out


@kernel
def drop_out(x: torch.Tensor, seed: int) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = torch.where(hl.rand([tile], seed=seed) > 0.25, x[tile], 0.0)
    return out


@kernel
def gated_states(
    k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, chunk: hl.constexpr
) -> torch.Tensor:
    """States before each chunk of a linear recurrence: of ``k [t, h, d]``, ``v [t, h, n]``."""
    steps, heads, width = k.shape
    width = hl.specialize(width)
    count = v.shape[-1]
    out = torch.empty([steps // chunk, heads, width, count], dtype=k.dtype, device=k.device)
    for head, columns in hl.tile([heads, count], block_size=[1, None]):
        state = hl.zeros([width, columns], dtype=torch.float32)
        for part in hl.tile(steps, block_size=chunk):
            out[part.id, head.id, :, columns] = state.to(k.dtype)
            last = g[part.begin + chunk - 1, head.id]
            decay = torch.exp(last - g[part, head.id])
            values = v[part, head.id, columns] * decay[:, None]
            state = hl.dot(k[part, head.id, :].T, values, acc=state * torch.exp(last))
    return out


@kernel
def routed(x: torch.Tensor, w: torch.Tensor, rows: torch.Tensor, offsets: torch.Tensor,
           most: torch.Tensor) -> torch.Tensor:  # fmt: skip
    """Each row by the matrix of its expert; ``rows`` sorted by expert."""
    n = w.size(2)
    longest = most.numel()
    out = torch.zeros(x.size(0), n, dtype=x.dtype, device=x.device)
    for expert in hl.grid(w.size(0)):
        start = offsets[expert]
        count = offsets[expert + 1] - start
        if count != 0:
            for tokens, columns in hl.tile([longest, n]):
                real = tokens.index < count
                own = rows[start + torch.where(real, tokens.index, 0)]
                acc = hl.zeros([tokens, columns], dtype=torch.float32)
                for inner in hl.tile(x.size(1)):
                    acc = torch.addmm(acc, x[own, inner], w[expert, inner, columns])
                hl.store(out, [own, columns], acc.to(x.dtype), extra_mask=real[:, None])
    return out
