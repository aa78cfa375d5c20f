"""Every Helion kernel on small batches against the reference, on the emulated card."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from spyrelab.attention import Scenario, reference
from spyrelab.attention.implementations import IMPLEMENTATIONS, implementation
from tests.attention.conftest import BATCHES, TOLERANCE, small

NAMES = [i.name for i in IMPLEMENTATIONS if i.language == "helion"]

CASES = {
    "fp16": {"dtype": torch.float16},
    "bf16-window": {"dtype": torch.bfloat16, "window": 8},
    "fp16-window-cap": {"dtype": torch.float16, "window": 20, "soft_cap": 3.0},
}
"""Each is a compilation of some seconds."""


def check(name: str, device: str, scenario: Scenario, config: Any = None) -> None:
    batch = scenario.build()
    placed = batch.to(device)
    out = placed.empty_output().fill_(float("nan"))
    assert implementation(name).load()(placed, out, config) is out
    want = reference.paged_attention(batch)
    tolerance = TOLERANCE[scenario.dtype]
    torch.testing.assert_close(out.cpu().float(), want, atol=tolerance, rtol=0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_matches_the_reference(helion_device: str, name: str, case: str) -> None:
    for batch in BATCHES:
        check(name, helion_device, small(batch, **CASES[case]))


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "heads", "page"), [(80, 6, 16), (256, 4, 16), (128, 8, 128)])
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_takes_other_shapes(
    helion_device: str, name: str, dim: int, heads: int, page: int
) -> None:
    check(name, helion_device, small("prefix", head_dim=dim, heads=heads, page=page))


@pytest.mark.parametrize("pid_type", ["flat", "persistent_interleaved"])
def test_blocks_take_other_configurations(helion_device: str, pid_type: str) -> None:
    config = {"block_sizes": [4, 1], "pid_type": pid_type}
    check("helion-blocks", helion_device, small("prefix"), config)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_tokens_launches_nothing(helion_device: str, name: str) -> None:
    batch = Scenario(query_lens=(0, 0), kv_lens=(0, 20), heads=4, kv_heads=2, head_dim=64).build()
    found = implementation(name).load()(batch.to(helion_device))
    assert found.shape == (0, 4, 64)
