"""Kernels in the style of Helion's examples, written for these tests."""

from __future__ import annotations

import math

import helion
import helion.language as hl
import torch

kernel = helion.kernel(autotune_effort="none")


@kernel
def softmax_two_passes(x: torch.Tensor) -> torch.Tensor:
    """Softmax with running maximum and sum: a row need not fit."""
    m, n = x.size()
    out = torch.empty_like(x)
    block_m = hl.register_block_size(m)
    block_n = hl.register_block_size(n)
    for tile_m in hl.tile(m, block_size=block_m):
        top = hl.full([tile_m], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile_m], dtype=torch.float32)
        for tile_n in hl.tile(n, block_size=block_n):
            values = x[tile_m, tile_n].to(torch.float32)
            best = torch.maximum(top, torch.amax(values, dim=1))
            grown = torch.exp(values - best[:, None])
            total = total * torch.exp(top - best) + torch.sum(grown, dim=1)
            top = best
        for tile_n in hl.tile(n, block_size=block_n):
            values = x[tile_m, tile_n].to(torch.float32)
            out[tile_m, tile_n] = (torch.exp(values - top[:, None]) / total[:, None]).to(x.dtype)
    return out


@kernel
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Softmax(q k^T / sqrt(d)) v for [batch, rows, d], one pass over the keys."""
    batch, rows, _ = q.size()
    keys = k.size(1)
    d = hl.specialize(q.size(2))
    out = torch.empty_like(q)
    scale = 1.0 / math.sqrt(d)
    for tile_b, tile_m in hl.tile([batch, rows], block_size=[1, None]):
        top = hl.full([tile_b, tile_m], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile_b, tile_m], dtype=torch.float32)
        acc = hl.zeros([tile_b, tile_m, d], dtype=torch.float32)
        queries = q[tile_b, tile_m, :]
        for tile_n in hl.tile(keys):
            scores = torch.bmm(queries, k[tile_b, tile_n, :].transpose(1, 2)).to(torch.float32)
            scores = scores * scale
            best = torch.maximum(top, torch.amax(scores, -1))
            weights = torch.exp(scores - best[:, :, None])
            shrink = torch.exp(top - best)
            total = total * shrink + torch.sum(weights, -1)
            acc = torch.baddbmm(acc * shrink[:, :, None], weights.to(v.dtype), v[tile_b, tile_n, :])
            top = best
        out[tile_b, tile_m, :] = (acc / total[:, :, None]).to(out.dtype)
    return out


@kernel
def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        values = x[tile, :].to(torch.float32)
        mean = torch.sum(values, dim=-1) / n
        centred = values - mean[:, None]
        spread = torch.sum(centred * centred, dim=-1) / n
        normed = centred * torch.rsqrt(spread + 1e-5)[:, None]
        out[tile, :] = (normed * weight[:].float() + bias[:].float()).to(x.dtype)
    return out


@kernel
def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    n, classes = logits.size()
    losses = torch.empty([n], dtype=torch.float32, device=logits.device)
    flat = logits.view(-1)
    for tile in hl.tile(n):
        chosen = hl.load(flat, [tile.index * classes + labels[tile]]).to(torch.float32)
        rows = logits[tile, :].to(torch.float32)
        top = torch.amax(rows, dim=-1)
        total = torch.sum(torch.exp(rows - top[:, None]), dim=-1)
        losses[tile] = torch.log(total) + top - chosen
    return losses


@kernel
def embedding(indices: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    (n,) = indices.size()
    _, d = table.size()
    out = torch.empty([n, d], dtype=table.dtype, device=table.device)
    for tile_n, tile_d in hl.tile([n, d]):
        out[tile_n, tile_d] = table[indices[tile_n], tile_d]
    return out


@kernel
def jagged_sum(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Sums of runs of rows of ``data [rows, m]``; run i is offsets[i] to offsets[i + 1]."""
    m = data.size(1)
    runs = offsets.size(0) - 1
    out = torch.zeros([runs, m], dtype=data.dtype, device=data.device)
    flat = data.view(-1)
    for tile_b in hl.tile(runs):
        starts = offsets[tile_b]
        lengths = offsets[tile_b.index + 1] - starts
        longest = torch.amax(lengths)
        for tile_m in hl.tile(m):
            acc = hl.zeros([tile_b, tile_m], dtype=torch.float32)
            for tile_k in hl.tile(longest):
                at = starts[:, None] + tile_k.index[None, :]
                place = at[:, :, None] * m + tile_m.index[None, None, :]
                there = tile_k.index[None, :] < lengths[:, None]
                mask = there[:, :, None] & (tile_m.index < m)[None, None, :]
                acc = acc + hl.load(flat, [place], extra_mask=mask).to(torch.float32).sum(dim=1)
            out[tile_b, tile_m] = acc.to(data.dtype)
    return out


@kernel
def matmul_split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Parts of k in programs of their own, which add to the result."""
    m, k = a.size()
    _, n = b.size()
    out = torch.zeros([m, n], dtype=torch.float32, device=a.device)
    block_k = hl.register_block_size(k)
    for tile_m, tile_n, outer in hl.tile([m, n, k], block_size=[None, None, block_k]):
        acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            acc = torch.addmm(acc, a[tile_m, inner], b[inner, tile_n])
        hl.atomic_add(out, [tile_m, tile_n], acc)
    return out


@kernel
def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(gate)
    total = gate.numel()
    flat_gate, flat_up, flat_out = gate.view(-1), up.view(-1), out.view(-1)
    for tile in hl.tile(total):
        x = flat_gate[tile].to(torch.float32)
        flat_out[tile] = (x * torch.sigmoid(x)).to(gate.dtype) * flat_up[tile]
    return out


@kernel
def long_sum(x: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty([m], dtype=x.dtype, device=x.device)
    for tile_m in hl.tile(m):
        acc = hl.zeros([tile_m], dtype=torch.float32)
        for tile_n in hl.tile(n):
            acc = acc + x[tile_m, tile_n].to(torch.float32).sum(dim=1)
        out[tile_m] = acc.to(x.dtype)
    return out


@kernel
def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    batch, m, k = a.size()
    n = b.size(2)
    out = torch.empty([batch, m, n], dtype=a.dtype, device=a.device)
    for tile_b, tile_m, tile_n in hl.tile([batch, m, n]):
        acc = hl.zeros([tile_b, tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            acc = torch.baddbmm(acc, a[tile_b, tile_m, tile_k], b[tile_b, tile_k, tile_n])
        out[tile_b, tile_m, tile_n] = acc.to(a.dtype)
    return out


@kernel
def centre_columns(x: torch.Tensor) -> torch.Tensor:
    """Each column less its mean: all sums are there before the first is taken away."""
    m, n = x.size()
    means = torch.empty([n], dtype=torch.float32, device=x.device)
    out = torch.empty_like(x)
    for tile_n in hl.tile(n):
        acc = hl.zeros([tile_n], dtype=torch.float32)
        for tile_m in hl.tile(m):
            acc = acc + x[tile_m, tile_n].to(torch.float32).sum(dim=0)
        means[tile_n] = acc / m
    hl.barrier()
    for tile_m, tile_n in hl.tile([m, n]):
        values = x[tile_m, tile_n].to(torch.float32)
        out[tile_m, tile_n] = (values - means[tile_n][None, :]).to(x.dtype)
    return out
