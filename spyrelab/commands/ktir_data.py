"""Arrays that ``spyrelab ktir`` reads and writes: npz files, scalars, summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.emulator import Program

__all__ = ["numbers", "read_inputs", "save_outputs", "summarize"]

MEMORY = "mem_"
EXPECTED = "out_"


def read_inputs(path: str, program: Program) -> tuple[dict[str, Any], dict[int, NDArray]]:
    """Arguments by name, and arrays at literal element addresses.

    Keys that start with ``out_`` and name no argument hold expected results and are passed over.

    Raises
    ------
    UsageError
        Not an npz file, or a key that names nothing in the function.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            data = {key: file[key] for key in file.files}
    except (ValueError, BadZipFile, EOFError, AttributeError, KeyError):
        raise UsageError(f"{path} is not an npz file of plain arrays") from None
    names = {argument.name for argument in program.arguments}
    arguments: dict[str, Any] = {}
    memory: dict[int, NDArray] = {}
    for key, array in data.items():
        if key in names:
            arguments[key] = array if array.ndim else array.item()
        elif key.startswith(MEMORY) and key.removeprefix(MEMORY).isdecimal():
            memory[int(key.removeprefix(MEMORY))] = array
        elif not key.startswith(EXPECTED):
            raise UsageError(
                f"{path}: key {key!r} is no argument of @{program.function.name}"
                f" ({', '.join(sorted(names)) or 'it has none'}) and not {MEMORY}ADDRESS"
            )
    return arguments, memory


def numbers(settings: Sequence[str], program: Program) -> dict[str, int | float]:
    """Scalar arguments from ``NAME=NUMBER`` texts."""
    names = [argument.name for argument in program.arguments if argument.itemsize is None]
    found: dict[str, int | float] = {}
    for text in settings:
        name, _, number = text.partition("=")
        if name not in names:
            raise UsageError(f"--set {text}: the scalar arguments are {', '.join(names) or 'none'}")
        try:
            found[name] = int(number, 0)
        except ValueError:
            try:
                found[name] = float(number)
            except ValueError:
                raise UsageError(f"--set {text}: {number!r} is no number") from None
    return found


def save_outputs(path: str, outputs: Mapping[Any, NDArray]) -> None:
    """Write arrays under the keys that `read_inputs` takes."""
    np.savez(path, **{_key(name): array for name, array in outputs.items()})  # type: ignore[arg-type]


def summarize(outputs: Mapping[Any, NDArray], before: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """For each array: name, type, shape, elements that changed, range, first values."""
    return [_summary(_key(name), array, before[name]) for name, array in outputs.items()]


def _summary(name: str, array: NDArray, before: Any) -> dict[str, Any]:
    old = np.asarray(before)
    same = (array == old) | ((array != array) & (old != old))
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    return {
        "name": name,
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "changed": int(array.size - np.count_nonzero(same)),
        "least": _text(finite.min()) if finite.size else "",
        "most": _text(finite.max()) if finite.size else "",
        "begins": " ".join(map(_text, array.ravel()[:4])),
    }


def _key(name: Any) -> str:
    return f"{MEMORY}{name}" if isinstance(name, int) else str(name)


def _text(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, np.floating) else str(value)
