"""Triton kernels of the user in code that torch.compile compiles.

torch asks once whether any device can run Triton, and knows only its own by name; Inductor's
tuner times with GPU events what it has no timer for.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch.utils._triton as torch_triton

__all__ = ["install", "predicted"]


def install() -> None:
    """Let torch know that the card runs Triton kernels, also where it has asked before."""
    known: Callable[[], bool] = torch_triton.has_triton

    @functools.cache
    def has_triton() -> bool:
        return known() or _has_card()

    for module in list(sys.modules.values()):
        if vars(module).get("has_triton") is known:
            module.has_triton = has_triton  # type: ignore[attr-defined]


def _has_card() -> bool:
    """Whether Triton is installed and has the card among its backends."""
    if not torch_triton.has_triton_package():
        return False
    from triton.backends import backends

    return "spyre" in backends


def predicted(benchmarker: Any, call: Callable[[], Any], **ignored: Any) -> float:
    """Milliseconds that the launches of a call are predicted to take; they are not run."""
    from triton.runtime.driver import driver

    return float(driver.active.get_benchmarker()(call))
