"""What Dynamo must not look into: the device itself, which is Python too.

Around a graph break Dynamo sees every frame that runs, and so every kernel that torch calls.
"""

from __future__ import annotations

from torch._dynamo import trace_rules

__all__ = ["install"]

_DEVICE: tuple[str, ...] = ("arrival", "device", "emulator", "errors", "helion", "kernels", "ktir")
_DEVICE += ("layout", "machine", "opspec", "tiling", "timing", "triton", "viz")


def install() -> None:
    """Leave these packages alone."""
    for name in _DEVICE:
        trace_rules.add(f"spyrelab.{name}")
