"""What Dynamo must not look into: the device itself, which is Python too.

Around a graph break Dynamo sees every frame that runs, and so every kernel that torch calls.
"""

from __future__ import annotations

from torch._dynamo import trace_rules

__all__ = ["install"]

_DEVICE: tuple[str, ...] = ("device", "emulator", "errors", "kernels", "ktir", "layout", "machine")
_DEVICE += ("opspec", "tiling", "timing", "viz")


def install() -> None:
    """Leave these packages alone."""
    for name in _DEVICE:
        trace_rules.add(f"spyrelab.{name}")
