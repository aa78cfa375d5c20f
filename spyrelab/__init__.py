"""SpyreLab: a PyTorch backend for the Spyre dataflow card, built chapter by chapter.

Subpackages load when they are first used, so ``import spyrelab`` costs almost nothing.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = ("bench", "emulator", "grade", "kernels", "ktir", "machine", "timing", "viz")

__all__ = [
    "__version__",
    "bench",
    "check",
    "emulator",
    "grade",
    "kernels",
    "ktir",
    "machine",
    "sanitize",
    "timing",
    "viz",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return _load(name)
    if name == "check":
        return _load("grade").check
    if name == "sanitize":
        return _load("emulator").sanitize
    raise AttributeError(f"module 'spyrelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _load(name: str) -> ModuleType:
    return import_module(f"spyrelab.{name}")
