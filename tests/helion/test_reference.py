"""Helion's reference mode: the kernel's Python is run, nothing is compiled."""

from __future__ import annotations

import helion
import pytest
import torch

from spyrelab import record
from tests.helion.cases import CASES

NAMES = ["matmul", "softmax", "rms_norm", "softmax_two_passes", "attention", "bmm"]


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_kernels_are_interpreted(monkeypatch, device):
    monkeypatch.setenv("HELION_INTERPRET", "1")
    for name in NAMES if device == "cpu" else NAMES[:2]:
        case = CASES[name]
        kernel = helion.kernel(autotune_effort="none")(case.kernel.fn)
        given = case.make(torch.Generator().manual_seed(3), torch.float16)
        moved = tuple(x.to(device) for x in given)
        assert kernel.bind(moved).host_function is None
        with record() as seen:
            found = kernel(*moved)
        assert not any("helion" in launch.op for launch in seen.kernels)
        assert found.device.type == device
        # Sums of 136 products of float16 at most; weights of attention are rounded before use.
        assert (found.cpu().float() - case.reference(*given)).abs().max() < 2e-2, name
