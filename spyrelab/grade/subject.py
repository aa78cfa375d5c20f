"""The answers under test: they are called by name, and what they call is watched."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from spyrelab.grade.expect import WrongError
from spyrelab.grade.tree import GradeError, load_module

SHORTCUTS = {
    "torch": "the answer computes with torch; the card has to do the work",
    "spyrelab.kernels": "the answer calls spyrelab.kernels; write the kernel yourself",
    "spyrelab.emulator": "the answer runs the emulator; work the result out without it",
    "spyrelab.timing": "the answer asks the timing model; work the time out without it",
    "spyrelab.layout": "the answer asks spyrelab.layout; work the layout out without it",
    "spyrelab.tiling": "the answer asks spyrelab.tiling; work the plan out without it",
    "solutions": "the answer calls the model answers",
}
"""Packages that an answer does not call, and what to say if it does."""


class AnswerError(Exception):
    """An answer raised: the original is ``__cause__``."""


class Subject:
    """Answers by name: the functions of a file, or one function for every name.

    Attributes
    ----------
    seed : int
        Follows from the source, so the same answers meet the same inputs, and edited ones do not.
    """

    def __init__(
        self, find: Callable[[str], Any], seed: int, may_use: tuple[str, ...] = ()
    ) -> None:
        self._find = find
        self._may_use = may_use
        self.seed = seed

    @classmethod
    def of_file(cls, path: Path) -> Subject:
        """The functions of a file; it is loaded when the first one is asked for."""
        loaded: list[ModuleType] = []

        def find(name: str) -> Any:
            if not loaded:
                loaded.append(load_module(path))
            if not hasattr(loaded[0], name):
                raise GradeError(f"{path.name} has no function {name!r}")
            return getattr(loaded[0], name)

        return cls(find, zlib.crc32(path.read_bytes()))

    @classmethod
    def of_function(cls, function: Callable[..., Any]) -> Subject:
        """One function, whatever name is asked for."""
        code = getattr(function, "__code__", None)
        source = repr(_contents(code)) if code else repr(function)
        return cls(lambda name: function, zlib.crc32(source.encode()))

    def allowing(self, packages: tuple[str, ...]) -> Subject:
        """The same answers, which may also call ``packages``."""
        return Subject(self._find, self.seed, packages)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def answer(*arguments: Any) -> Any:
            entered: set[str] = set()
            try:
                function = self._find(name)
                with watch(entered):
                    result = function(*arguments)
            except Exception as error:
                raise AnswerError(name) from error
            for package in sorted(entered - set(self._may_use)):
                raise WrongError(SHORTCUTS[package])
            return result

        return answer


def _contents(code: CodeType) -> tuple[object, ...]:
    """What a function does, without the addresses that code objects inside it are printed with."""
    constants = code.co_consts
    nested = tuple(_contents(c) if isinstance(c, CodeType) else c for c in constants)
    return code.co_code, nested


@contextmanager
def watch(entered: set[str]) -> Iterator[None]:
    """Add to ``entered`` the packages of `SHORTCUTS` whose functions are called meanwhile."""

    def note(module: object) -> None:
        if isinstance(module, str):
            entered.update(p for p in SHORTCUTS if module == p or module.startswith(f"{p}."))

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            note(frame.f_globals.get("__name__"))
        elif event == "c_call":
            note(getattr(argument, "__module__", None))
            note(type(getattr(argument, "__self__", None)).__module__)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
