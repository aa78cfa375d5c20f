"""Real Helion kernels on the emulated card.

Helion turns a kernel into Triton, and `spyrelab.triton` runs that. What is here tells Helion about
the card when Helion is imported, and lets its tuners ask for predicted time instead of running
anything. Nothing here imports Helion until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "HelionError": "errors",
    "HelionVersionError": "errors",
    "TuningError": "errors",
    "Trial": "history",
    "Tuning": "history",
    "install": "installation",
    "tune": "tuning",
}

__all__ = ["HelionError", "HelionVersionError", "Trial", "Tuning", "TuningError", "install", "tune"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"spyrelab.helion.{_HOME[name]}"), name)
    raise AttributeError(f"module 'spyrelab.helion' has no attribute {name!r}")
