"""Doing something when a module of somebody else is imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["watch"]


class _Finder(MetaPathFinder):
    """Finds nothing by itself, but notices who looks for what."""

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}
        self.parts: dict[str, ModuleType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        ours = self.waiting.get(name)
        if ours is None:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((found for found in specs if found is not None), None)
        if spec is None or spec.loader is None:
            return spec
        execute: Any = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # Not sooner: whoever asks whether a module is installed looks for it, and stops there.
            self.waiting.pop(name, None)
            self.restore_parts(module)
            try:
                execute(module)
                import_module(ours).install()
            except BaseException:
                self.wait_again(name, ours)
                raise

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def wait_again(self, name: str, ours: str) -> None:
        """Make the next import of a module, or of a part of it, a new attempt."""
        self.waiting[name] = ours
        sys.modules.pop(name, None)
        for part in [part for part in sys.modules if part.startswith(f"{name}.")]:
            self.parts[part] = sys.modules.pop(part)

    def restore_parts(self, module: ModuleType) -> None:
        """Give a package the modules that an attempt has loaded: twice they may not register."""
        for name in [name for name in self.parts if name.startswith(f"{module.__name__}.")]:
            part = sys.modules[name] = self.parts.pop(name)
            if name.rpartition(".")[0] == module.__name__:
                setattr(module, name.rpartition(".")[2], part)


_finder = _Finder()


class _Arriving(ModuleSpec):
    """The spec of a module that is being imported: importing ends by saying so here."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            ours = self.__dict__.pop("_spyrelab", None)
            if ours is None or self.name not in sys.modules:
                return
            try:
                import_module(ours).install()
            except BaseException:
                _finder.wait_again(self.name, ours)
                raise


def watch(installers: Mapping[str, str]) -> None:
    """Enter our parts into modules of others when they arrive, or now if they are there.

    Where ``install`` raises, so does the import, and so does every later one until it succeeds: a
    module that was entered into in part is never left for use.

    Parameters
    ----------
    installers
        Module of somebody else: ours whose ``install`` runs once that is there.
    """
    for name, ours in installers.items():
        if name not in sys.modules:
            _finder.waiting[name] = ours
            continue
        spec = sys.modules[name].__spec__
        if getattr(spec, "_initializing", False):
            # It imports torch, which loads us, before it is there itself.
            spec.__class__, spec._spyrelab = _Arriving, ours  # type: ignore[union-attr]
        else:
            import_module(ours).install()
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
