"""Doing something when a module of somebody else is imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["watch"]


class _Finder(MetaPathFinder):
    """Finds nothing by itself, but notices who looks for what."""

    def __init__(self, installers: Mapping[str, str]) -> None:
        self.waiting = dict(installers)

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


class _Arriving(ModuleSpec):
    """The spec of a module that is being imported: importing ends by saying so here."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            ours = self.__dict__.pop("_spyrelab", None)
            if ours is not None and self.name in sys.modules:
                import_module(ours).install()


def watch(installers: Mapping[str, str]) -> None:
    """Enter our parts into modules of others when they arrive, or now if they are there.

    Parameters
    ----------
    installers
        Module of somebody else: ours whose ``install`` runs once that is there.
    """
    finder = _Finder(installers)
    for name in [name for name in installers if name in sys.modules]:
        spec, ours = sys.modules[name].__spec__, finder.waiting.pop(name)
        if getattr(spec, "_initializing", False):
            # It imports torch, which loads us, before it is there itself.
            spec.__class__, spec._spyrelab = _Arriving, ours  # type: ignore[union-attr]
        else:
            import_module(ours).install()
    sys.meta_path.insert(0, finder)
