"""SpyreLab: a PyTorch backend for the Spyre dataflow card, built chapter by chapter.

Subpackages load when they are first used, so ``import spyrelab`` costs almost nothing. The torch
device "spyre" is registered by torch itself, which loads the installed entry point, or here if
torch was imported before.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = (
    "bench",
    "device",
    "emulator",
    "grade",
    "helion",
    "kernels",
    "ktir",
    "layout",
    "machine",
    "models",
    "opspec",
    "timing",
    "triton",
    "viz",
)

__all__ = [
    "__version__",
    "bench",
    "check",
    "device",
    "emulator",
    "explain",
    "grade",
    "helion",
    "hint",
    "inductor",
    "kernels",
    "ktir",
    "last_timeline",
    "layout",
    "machine",
    "models",
    "name_dims",
    "opspec",
    "record",
    "sanitize",
    "timing",
    "triton",
    "viz",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return _load(name)
    if name == "check":
        return _load("grade").check
    if name == "explain":
        return import_module("spyrelab.helion.explaining").explain
    if name in ("hint", "name_dims"):
        return getattr(_load("inductor"), name)
    if name in ("last_timeline", "record"):
        return getattr(import_module("spyrelab.device.timeline"), name)
    if name == "sanitize":
        return _load("emulator").sanitize
    raise AttributeError(f"module 'spyrelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _load(name: str) -> ModuleType:
    return import_module(f"spyrelab.{name}")


if "torch" in sys.modules:
    _load("device")
