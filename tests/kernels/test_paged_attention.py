"""Paged attention: ragged contexts, shared heads, pages of any size."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.kernels import KernelError, paged_attention

CASES = [
    {"queries": 1, "heads": 1, "kv_heads": 1, "head_dim": 8, "page_size": 1, "max_pages": 3},
    {"queries": 5, "heads": 4, "kv_heads": 2, "head_dim": 64, "page_size": 16, "max_pages": 9},
    {"queries": 3, "heads": 8, "kv_heads": 1, "head_dim": 40, "page_size": 7, "max_pages": 30},
    {"queries": 9, "heads": 6, "kv_heads": 6, "head_dim": 128, "page_size": 32, "max_pages": 2},
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("block", [1, 2, None])
def test_ragged_contexts(check, case, block):
    # The weights are rounded to f16 before they meet the values.
    check("paged_attention", **case, block_pages=block, scale=4)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 32, 48])
def test_context_lengths_round_a_page(check, length):
    case = {**CASES[1], "max_pages": 3}
    check("paged_attention", **case, context=length, scale=4, block_pages=2)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_types(check, dtype):
    check("paged_attention", **CASES[1], dtype=dtype, scale=4)


def test_what_lies_beyond_the_context_does_not_matter(check):
    case = {**CASES[1], "queries": 1, "max_pages": 2}
    shape = (4, 16, 2, 64)
    rng = np.random.default_rng(0)
    keys, values = (rng.standard_normal(shape).astype(np.float16) for _ in "kv")
    table = np.array([[2, 99999]], np.int32)
    keys[2, 5:] = np.nan
    values[2, 5:] = np.inf
    given = {"keys": keys, "values": values, "page_table": table}
    check("paged_attention", **case, num_pages=4, context=5, scale=4, inputs=given)


def test_heads_that_do_not_group_are_rejected():
    with pytest.raises(KernelError, match="kv_heads"):
        paged_attention(**{**CASES[1], "kv_heads": 3})
