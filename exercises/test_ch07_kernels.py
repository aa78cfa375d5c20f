"""Graded tests of chapter 7: pages, blocks that fit, and bytes that need not move."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from spyrelab.grade import WrongError, expect_at_most, expect_close, expect_equal, task
from spyrelab.grade.kernels import access_kinds, launch_kernel, moved_bytes, predict_kernel

SECONDS = 120.0
"""Triton is imported and kernels are compiled meanwhile, perhaps on a busy machine."""

JIT = ("torch",)
"""What ``@triton.jit`` looks at.  A kernel itself cannot call torch."""

page_sum = partial(task, "ch07.6", "page_sum", may_use=JIT, seconds=SECONDS)
blocks = partial(task, "ch07.5", "blocks", seconds=SECONDS)
grouped_scores = partial(task, "ch07.7", "grouped_scores", may_use=JIT, seconds=SECONDS)

STRANGER = -77.0
"""What lies where a kernel must not write."""


def floats(rng: Any, *size: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(size).astype(np.float32))


# ---- 5: blocks that fit -------------------------------------------------------------------------

BEST = (
    (64, 64, 256), (64, 128, 256), (64, 256, 256), (128, 64, 256), (128, 128, 256),
    (128, 256, 256), (256, 128, 256), (256, 256, 256), (64, 64, 64), (128, 128, 128),
    (64, 64, 1024), (128, 128, 512), (256, 256, 128),
)  # fmt: skip
"""Among these the best blocks of the tests' products are found."""


def expect_fast(impl: Any, given: Any, m: int, n: int, k: int) -> None:
    chosen = impl.blocks(m, n, k)
    text = f"blocks({m}, {n}, {k}) = {chosen}"
    for size in chosen if isinstance(chosen, tuple) and len(chosen) == 3 else (0,):
        if not isinstance(size, int) or size < 16 or size & (size - 1):
            raise WrongError(f"{text}: expected three powers of two from 16 up")
    sizes = (m, k), (k, n), (m, n)
    tensors = [torch.empty(size, dtype=torch.float16, device="spyre") for size in sizes]

    def cycles(sizes: tuple[int, int, int]) -> int:
        grid = (min(32, -(-m // sizes[0]) * -(-n // sizes[1])),)
        launch = predict_kernel(given.product, grid, *tensors, m, n, k, *sizes)
        return round(launch.estimate.cycles)

    found = cycles(chosen)
    best = min(cycles(sizes) for sizes in BEST if sizes[0] <= m and sizes[1] <= n)
    expect_at_most(found, round(1.3 * best), f"{text}: cycles")


@blocks(
    hints=[
        "Three powers of two. Large blocks need few bytes, but how many cores have one then, and "
        "do the operands and the f32 sums fit 2 MiB, with some for what is loaded ahead?",
        "Halve the larger of BM and BN until (m // BM) * (n // BN) is at least 32; 256 will do "
        "for BK.",
    ]
)
def test_square_products(impl: Any, given: Any) -> None:
    """512 and 1024 squared."""
    expect_fast(impl, given, 512, 512, 512)
    expect_fast(impl, given, 1024, 1024, 1024)


@blocks(
    hints=[
        "With few rows there are few blocks of rows: where does the work for 32 cores come from?",
        "Start from the largest powers of two that divide m and n (at most 512), and halve the "
        "larger one while there are fewer than 32 tiles.",
    ]
)
def test_products_of_few_rows(impl: Any, given: Any) -> None:
    """64 and 128 rows."""
    expect_fast(impl, given, 64, 2048, 1024)
    expect_fast(impl, given, 128, 1024, 2048)


# ---- 6: the loop over pages ---------------------------------------------------------------------

PAGE, D = 16, 64


def cached(rng: Any, lens: list[int], most: int) -> tuple[tuple[Any, ...], Any]:
    """Arguments of the kernel, and what it should find; NaN is where no token is."""
    needed = [-(-n // PAGE) for n in lens]
    blocks = sum(needed) + 3
    cache = torch.full((blocks, PAGE, D), float("nan"))
    order = [int(i) for i in rng.permutation(blocks)]
    table = torch.zeros(len(lens), most, dtype=torch.int32)
    wanted = np.zeros((len(lens), D))
    for sequence, length in enumerate(lens):
        values = floats(rng, length, D)
        wanted[sequence] = values.double().sum(0).numpy()
        for page in range(needed[sequence]):
            block = order.pop()
            table[sequence, page] = block
            part = values[page * PAGE : (page + 1) * PAGE]
            cache[block, : len(part)] = part
    out = torch.full((len(lens), D), STRANGER, device="spyre")
    lengths = torch.tensor(lens, dtype=torch.int32)
    on_card = cache.to("spyre"), table.to("spyre"), lengths.to("spyre"), out
    return (*on_card, most, PAGE, D), wanted


def expect_sums(impl: Any, rng: Any, lens: list[int], most: int) -> None:
    kernel = impl.page_sum()
    arguments, wanted = cached(rng, lens, most)
    launch_kernel(kernel, (len(lens),), *arguments)
    text = f"sums of sequences of {lens} tokens, pages of {PAGE}"
    expect_close(arguments[3].cpu().numpy(), wanted, rtol=1e-4, atol=1e-4, what=text)


@page_sum(
    hints=[
        "Page p of a sequence is not block p of the cache. Where does it say which it is?",
        "block = tl.load(table + sequence * row + page), in a loop over the pages of the "
        "sequence; the values begin at cache + block * PAGE * D.",
    ]
)
def test_whole_pages(impl: Any, rng: Any) -> None:
    """Sequences that fill their pages, which lie in random order."""
    expect_sums(impl, rng, [PAGE], 1)
    expect_sums(impl, rng, [3 * PAGE, PAGE, int(rng.integers(2, 6)) * PAGE], 6)


@page_sum(
    hints=[
        "How many tokens has the last page? What lies behind them may be NaN, and 0 * NaN is NaN.",
        "held = page * PAGE + tl.arange(0, PAGE) < length as the mask of the load; "
        "tl.cdiv(length, PAGE) pages, which is none for an empty sequence.",
    ]
)
def test_last_pages(impl: Any, rng: Any) -> None:
    """Sequences that end within a page, and empty ones."""
    expect_sums(impl, rng, [2 * PAGE + int(rng.integers(1, PAGE)), 0, 1], 4)
    expect_sums(impl, rng, [int(n) for n in rng.integers(0, 6 * PAGE, 9)], 7)


@page_sum(
    hints=[
        "It is right, but reads more than the sequences have, or element by element.",
        "Stop at the last page of the sequence, not at the end of its row of the table, and read a "
        "page with one load whose offsets are plain sums of ranges.",
    ]
)
def test_only_what_there_is(impl: Any, rng: Any) -> None:
    """Bytes that are read, and how."""
    arguments, _ = cached(rng, [PAGE, 5, 3 * PAGE, 0], 64)
    kernel = impl.page_sum()
    launch = predict_kernel(kernel, (4,), *arguments)
    # Five pages, and a few numbers of tables and lengths for each sequence.
    expect_at_most(moved_bytes(launch), 5 * PAGE * D * 4 + 512, "bytes read")
    gathered = [
        name for name, _, kind in access_kinds(kernel, (4,), *arguments) if kind == "gather"
    ]
    expect_equal(gathered, [], "arguments that are read element by element")


# ---- 7: bytes -----------------------------------------------------------------------------------


def scored(rng: Any, kv_heads: int, group: int, tokens: int, block: int) -> tuple[Any, ...]:
    query, keys = floats(rng, kv_heads * group, 64).half(), floats(rng, kv_heads, tokens, 64).half()
    out = torch.full((kv_heads * group * tokens + 2 * block,), STRANGER, device="spyre")
    grouped = query.view(kv_heads, group, 64).float()
    wanted = (grouped @ keys.float().transpose(1, 2)).view(kv_heads * group, tokens)
    arguments = query.to("spyre"), keys.to("spyre"), out, tokens, group, 64, block
    return (kv_heads, -(-tokens // block)), arguments, wanted.numpy()


def expect_scores(impl: Any, rng: Any, *sizes: int) -> None:
    kernel = impl.grouped_scores()
    grid, arguments, wanted = scored(rng, *sizes)
    launch_kernel(kernel, grid, *arguments)
    found = arguments[2].cpu().numpy()
    text = "scores of {} KV heads, groups of {}, {} tokens, BLOCK {}".format(*sizes)
    got = found[: wanted.size].reshape(wanted.shape)
    expect_close(got, wanted, rtol=2e-3, atol=2e-3, what=text)
    rest = found[wanted.size :]
    expect_close(rest, np.full(len(rest), STRANGER), what=f"what lies behind the {text}")


@grouped_scores(
    hints=[
        "Program k of the first axis has KV head k, and with it the query heads k * G to k * G + "
        "G - 1.",
        "Load all G queries as a matrix [G, D] and the keys as [BLOCK, D]; tl.dot(q, tl.trans(k)) "
        "has the scores.",
    ]
)
def test_scores_of_whole_tiles(impl: Any, rng: Any) -> None:
    """Tokens that fill their tiles."""
    expect_scores(impl, rng, 2, 4, 64, 64)
    expect_scores(impl, rng, int(rng.integers(2, 5)), 8, 256, 64)


@grouped_scores(
    hints=[
        "The last tile of tokens runs into the keys of the next head, and its scores into the "
        "next row.",
        "held = token < tokens masks the rows of the keys and the columns of the scores.",
    ]
)
def test_scores_of_the_last_tile(impl: Any, rng: Any) -> None:
    """Any number of tokens."""
    expect_scores(impl, rng, 3, 4, 64 * int(rng.integers(1, 4)) + int(rng.integers(1, 63)), 64)


@grouped_scores(
    hints=[
        "The result is right; but the keys are still read once for each query head.",
        "One tl.load of keys in a program, before anything that goes over the heads of the group.",
    ]
)
def test_keys_are_read_once(impl: Any, rng: Any) -> None:
    """Bytes that all cores ask for."""
    grid, arguments, _ = scored(rng, 4, 8, 512, 64)
    launch = predict_kernel(impl.grouped_scores(), grid, *arguments)
    keys, queries = 4 * 512 * 64 * 2, 4 * 8 * 64 * 2 * grid[1]
    expect_at_most(moved_bytes(launch), keys + queries, "bytes read")
