"""Model answers of chapter 7."""

from __future__ import annotations

from math import isfinite
from typing import Any

import triton
import triton.language as tl


def vector_add() -> Any:
    """A program for each block, and a mask for the last."""

    @triton.jit
    def kernel(x, y, out, alpha, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        total = alpha * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
        tl.store(out + at, total, mask=inside)

    return kernel


def row_softmax() -> Any:
    """What is not there must not win the maximum, nor count in the sum."""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        inside = at < columns
        values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=inside)

    return kernel


def by_descriptor() -> Any:
    """The shape says where the matrix ends."""

    @triton.jit
    def kernel(
        x, out, rows, columns, factor,
        ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
        place = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
        target.store(place, source.load(place) * factor)

    return kernel


def online_logsumexp() -> Any:
    """The largest value so far, and the sum relative to it."""

    @triton.jit
    def kernel(x, out, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        top = tl.full([], -float("inf"), tl.float32)
        total = tl.full([], 0.0, tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
            higher = tl.maximum(top, tl.max(values, axis=0))
            total = total * tl.exp(top - higher) + tl.sum(tl.exp(values - higher), axis=0)
            top = higher
        tl.store(out + row, top + tl.log(total))

    return kernel


def blocks(m: int, n: int, k: int) -> tuple[int, int, int]:
    """As large as they can be with work for all cores; a step of k that keeps operands small."""
    bm, bn = min(m & -m, 512), min(n & -n, 512)
    while (m // bm) * (n // bn) < 32 and max(bm, bn) > 64:
        if bm >= bn:
            bm //= 2
        else:
            bn //= 2
    return bm, bn, min(k & -k, 256)


def page_sum() -> Any:
    """One number of the table for each page, and a mask in the last."""

    @triton.jit
    def kernel(cache, table, lens, out, row, PAGE: tl.constexpr, D: tl.constexpr):
        sequence = tl.program_id(0)
        length = tl.load(lens + sequence)
        token, dim = tl.arange(0, PAGE)[:, None], tl.arange(0, D)[None, :]
        total = tl.zeros([D], tl.float32)
        for page in range(tl.cdiv(length, PAGE)):
            block = tl.load(table + sequence * row + page)
            held = page * PAGE + token < length
            values = tl.load(cache + block * PAGE * D + token * D + dim, mask=held, other=0.0)
            total += tl.sum(values, axis=0)
        tl.store(out + sequence * D + tl.arange(0, D), total)

    return kernel


def grouped_scores() -> Any:
    """The G queries of a KV head are the rows of a matrix."""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        kv_head = tl.program_id(0)
        head = kv_head * G + tl.arange(0, G)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        held = token < tokens
        q = tl.load(query + head[:, None] * D + dim[None, :])
        at = (kv_head * tokens + token)[:, None] * D + dim[None, :]
        k = tl.load(keys + at, mask=held[:, None], other=0.0)
        place = head[:, None] * tokens + token[None, :]
        tl.store(out + place, tl.dot(q, tl.trans(k)), mask=held[None, :])

    return kernel


def decisive(trials: list[tuple[dict[str, Any], float]]) -> dict[str, float]:
    """Neighbours of the winner, by the setting in which they differ."""
    winner, best = min(trials, key=lambda trial: trial[1])
    found: dict[str, float] = {}
    for config, time in trials:
        changed = [name for name in winner if config[name] != winner[name]]
        if len(changed) == 1 and isfinite(time):
            ratio = time / best
            found[changed[0]] = min(ratio, found.get(changed[0], ratio))
    return found
