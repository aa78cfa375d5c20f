"""Kernels by the name of their file: ``FILE:KERNEL``."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spyrelab.errors import UsageError
from spyrelab.ktir.errors import did_you_mean

__all__ = ["find_in"]


def find_in(place: str, kind: type, language: str) -> tuple[Any, Mapping[str, Any]]:
    """The kernel that ``FILE:KERNEL`` names, and all that its file defines.

    Parameters
    ----------
    kind
        Class of the kernels that are meant.
    language
        What messages call them.

    Raises
    ------
    UsageError
        There is no such file, it cannot be loaded, or there is no such kernel in it.
    """
    name, _, wanted = place.rpartition(":")
    path = Path(name)
    if not name or not wanted.isidentifier():
        raise UsageError(f"{place}: give FILE:KERNEL, such as kernels.py:softmax")
    if not path.is_file():
        raise UsageError(f"{name}: no such file; give FILE:KERNEL, such as kernels.py:softmax")
    names = _load(path)
    kernels = {key: value for key, value in names.items() if isinstance(value, kind)}
    if wanted not in kernels:
        raise UsageError(_absent(name, wanted, names, kernels, language))
    return kernels[wanted], names


def _absent(
    name: str, wanted: str, names: Mapping[str, Any], kernels: Mapping[str, Any], language: str
) -> str:
    known = ", ".join(kernels) or "none"
    text = f"{name} has no {language} kernel {wanted!r}; its kernels: {known}"
    if wanted not in names:
        hint = did_you_mean(wanted, kernels)
        return f"{text}; {hint}" if hint else text
    maker = type(names[wanted]).__module__.partition(".")[0]
    other = {"helion": "Helion", "triton": "Triton"}.get(maker)
    if other is not None and other != language:
        return f"{name}: {wanted!r} is a kernel in {other}: take --from-{other.lower()}"
    return f"{text} ({wanted!r} is a {type(names[wanted]).__name__}: is its decorator missing?)"


def _load(path: Path) -> Mapping[str, Any]:
    """What a file defines; it may import its neighbours, as when Python runs it."""
    name = f"_given_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by name.
    sys.modules[name] = module
    try:
        with _neighbours(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script without a guard ends the process
        raise UsageError(f"{path}{_line(path, error)} cannot be loaded: {_text(error)}") from error
    return vars(module)


@contextmanager
def _neighbours(path: Path) -> Iterator[None]:
    directory = str(path.resolve().parent)
    sys.path.insert(0, directory)
    try:
        yield
    finally:
        sys.path.remove(directory)


def _line(path: Path, error: BaseException) -> str:
    """The last line of the file itself that led to an error."""
    file = str(path.resolve())
    if isinstance(error, SyntaxError) and error.filename == file:
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f":{lines[-1]}" if lines else ""


def _text(error: BaseException) -> str:
    said = str(error).strip()
    return f"{type(error).__name__}: {said.splitlines()[0]}" if said else type(error).__name__
