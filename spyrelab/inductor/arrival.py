"""Doing something when a module of torch is imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["watch"]

_INSTALLERS = {
    "torch._dynamo.device_interface": "spyrelab.inductor.interface",
    "torch._dynamo.guards": "spyrelab.inductor.guards",
    "torch._dynamo.trace_rules": "spyrelab.inductor.tracing",
    "torch._inductor.codecache": "spyrelab.inductor.cache",
    "torch._inductor.compile_fx": "spyrelab.inductor.context",
}
"""Module of torch: ours whose ``install`` runs once that is there."""


class _Finder(MetaPathFinder):
    """Finds nothing by itself, but notices who looks for what."""

    def __init__(self) -> None:
        self.waiting = dict(_INSTALLERS)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        ours = self.waiting.pop(name, None)
        if ours is None:
            return None
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute: Any = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            import_module(ours).install()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def watch() -> None:
    """Enter our parts into each module of torch when it arrives, or now if it is there."""
    finder = _Finder()
    for name in [name for name in _INSTALLERS if name in sys.modules]:
        import_module(finder.waiting.pop(name)).install()
    sys.meta_path.insert(0, finder)
