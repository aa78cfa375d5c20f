"""Plausible wrong answers to ch07.7.  Docstrings: the status, and how the first hint begins."""

import triton
import triton.language as tl

TASK = "ch07.7"


def one_query_of_the_group():
    """wrong: Program k of the first axis"""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        kv_head = tl.program_id(0)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        held = token < tokens
        q = tl.load(query + kv_head * D + dim).to(tl.float32)
        at = (kv_head * tokens + token)[:, None] * D + dim[None, :]
        k = tl.load(keys + at, mask=held[:, None], other=0.0).to(tl.float32)
        tl.store(out + kv_head * tokens + token, tl.sum(k * q[None, :], axis=1), mask=held)

    return kernel


def heads_in_turn():
    """wrong: Program k of the first axis"""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        kv_head = tl.program_id(0)
        head = kv_head + tl.num_programs(0) * tl.arange(0, G)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        held = token < tokens
        q = tl.load(query + head[:, None] * D + dim[None, :])
        at = (kv_head * tokens + token)[:, None] * D + dim[None, :]
        k = tl.load(keys + at, mask=held[:, None], other=0.0)
        place = head[:, None] * tokens + token[None, :]
        tl.store(out + place, tl.dot(q, tl.trans(k)), mask=held[None, :])

    return kernel


def as_it_was():
    """wrong: Program k of the first axis"""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        head = tl.program_id(0)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        q = tl.load(query + head * D + dim).to(tl.float32)
        at = (head // G * tokens + token)[:, None] * D + dim[None, :]
        k = tl.load(keys + at, mask=(token < tokens)[:, None], other=0.0).to(tl.float32)
        tl.store(out + head * tokens + token, tl.sum(k * q[None, :], axis=1), mask=token < tokens)

    return kernel


def no_mask():
    """wrong: The last tile of tokens"""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        kv_head = tl.program_id(0)
        head = kv_head * G + tl.arange(0, G)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        q = tl.load(query + head[:, None] * D + dim[None, :])
        at = (kv_head * tokens + token)[:, None] * D + dim[None, :]
        scores = tl.dot(q, tl.trans(tl.load(keys + at)))
        tl.store(out + head[:, None] * tokens + token[None, :], scores)

    return kernel


def mask_of_the_keys_only():
    """wrong: The last tile of tokens"""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        kv_head = tl.program_id(0)
        head = kv_head * G + tl.arange(0, G)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        q = tl.load(query + head[:, None] * D + dim[None, :])
        at = (kv_head * tokens + token)[:, None] * D + dim[None, :]
        k = tl.load(keys + at, mask=(token < tokens)[:, None], other=0.0)
        tl.store(out + head[:, None] * tokens + token[None, :], tl.dot(q, tl.trans(k)))

    return kernel


def keys_in_the_loop():
    """over budget: The result is right; but the keys"""

    @triton.jit
    def kernel(
        query, keys, out, tokens,
        G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        kv_head = tl.program_id(0)
        token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        dim = tl.arange(0, D)
        held = token < tokens
        at = (kv_head * tokens + token)[:, None] * D + dim[None, :]
        for head in range(kv_head * G, kv_head * G + G):
            q = tl.load(query + head * D + dim).to(tl.float32)
            k = tl.load(keys + at, mask=held[:, None], other=0.0).to(tl.float32)
            tl.store(out + head * tokens + token, tl.sum(k * q[None, :], axis=1), mask=held)

    return kernel
