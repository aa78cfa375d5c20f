"""What the tests of attention share: small batches, and the backends where they are installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
import torch

from spyrelab.attention import Scenario

SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 64}
"""Two query heads for each KV head."""

BATCHES = {
    "prefill": ((1, 17, 0, 40), (1, 17, 0, 40)),
    "decode": ((1, 1, 0, 1), (1, 17, 0, 40)),
    "mixed": ((1, 9, 0, 1), (1, 17, 0, 40)),
    "prefix": ((3, 1, 20), (50, 300, 33)),
}
"""New tokens and contexts: one token, an empty sequence, last pages filled in part; chunks of
prompts behind a prefix that the cache holds, beside a context that is long enough to be split."""

FEATURES = {
    "plain": {},
    "window": {"window": 8},
    "long-window": {"window": 20, "soft_cap": 3.0},
    "cap": {"soft_cap": 5.0},
}

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3.2e-2}
"""Values reach about 4.  Weights round to the element's type before they meet the values, and the
result rounds once: 4 * 2**-11 for each in float16, 4 * 2**-8 in bfloat16."""


def small(batch: str, **fields: object) -> Scenario:
    """A scenario of a few tokens; whatever no query sees is NaN."""
    query_lens, kv_lens = BATCHES[batch]
    known = {"query_lens": query_lens, "kv_lens": kv_lens, **SMALL, **fields}
    return Scenario(**known)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def triton_device() -> str:
    """The device that Triton kernels run on, with our backend active."""
    pytest.importorskip("triton", reason="Triton is not installed")
    importlib.import_module("spyrelab.triton").install()
    return "spyre"


@pytest.fixture(scope="module")
def helion_device(triton_device: str) -> Iterator[str]:
    """The device that Helion kernels run on; tuners stay off, whatever the environment says."""
    pytest.importorskip("helion", reason="Helion is not installed")
    importlib.import_module("spyrelab.helion").install()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELION_AUTOTUNE_EFFORT", "none")
        patch.setenv("HELION_SKIP_CACHE", "1")
        yield triton_device
