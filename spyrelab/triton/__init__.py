"""Real Triton kernels on the emulated card.

Triton finds the backend by its entry point when SpyreLab is installed; `install` makes it the
active one where another driver is present too. Nothing here imports Triton until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "AccessNote": "arguments",
    "Dry": "dry_runs",
    "TritonError": "errors",
    "UnsupportedKernelError": "errors",
    "dry": "dry_runs",
    "explain": "explaining",
    "install": "installation",
    "is_installed": "installation",
}

__all__ = [
    "AccessNote",
    "Dry",
    "TritonError",
    "UnsupportedKernelError",
    "dry",
    "explain",
    "install",
    "is_installed",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"spyrelab.triton.{_HOME[name]}"), name)
    raise AttributeError(f"module 'spyrelab.triton' has no attribute {name!r}")
