"""Helion's own helpers for tests and examples, which choose among the devices they know.

``run_example`` compares and times on whatever tensors it is given; scripts make those on
``helion._testing.DEVICE``.
"""

from __future__ import annotations

from typing import Any

from spyrelab.helion.devices import is_card

__all__ = ["install"]


def install() -> None:
    """Let them take the card where Triton compiles for it."""
    import sys

    import torch

    from spyrelab.helion.benchmarking import patch_benchmarks

    patch_benchmarks()
    if not is_card():
        return
    helpers: Any = sys.modules["helion._testing"]
    helpers.DEVICE = torch.device("spyre")
    # The card has descriptors, which the helper believes of one vendor's devices only.
    helpers.skipUnlessTensorDescriptor = lambda reason: helpers.skipIfFn(lambda: False, reason)
