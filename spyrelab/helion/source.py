"""Compiling a Helion kernel for given shapes without running it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spyrelab.errors import SpyreLabError, UsageError
from spyrelab.helion.errors import HelionError
from spyrelab.triton.arguments import Role, Translation

__all__ = ["Translated", "read_config", "translate_kernel"]


@dataclass(frozen=True)
class Translated:
    """A kernel in KTIR, as it would be launched.

    Attributes
    ----------
    translation : Translation
    grid : tuple of int
        Programs along x, y and z.
    numbers : mapping
        KTIR arguments that are numbers, as the launch gives them: sizes, extents, the grid.
    config : mapping
        The configuration that it was compiled in.
    """

    translation: Translation
    grid: tuple[int, ...]
    numbers: Mapping[str, int | float]
    config: Mapping[str, Any]


def read_config(text: str) -> Mapping[str, Any]:
    """A configuration from JSON, or the winner in a history that `tune` has kept.

    Parameters
    ----------
    text
        ``{"block_sizes": [64, 64]}``, or the name of a file that holds either.

    Raises
    ------
    UsageError
        It is neither.
    """
    from spyrelab.helion.history import Tuning

    if text.endswith(".jsonl"):
        return Tuning.read(text).config
    try:
        found = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--config {text}: {error}; give a JSON object such as '{{\"block_sizes\": [64]}}',"
            " a file with one, or a history of spyrelab.helion.tune (.jsonl)"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"--config {text}: a configuration is a JSON object, not {found!r}")
    return found


def translate_kernel(
    kernel: Any, args: tuple[Any, ...], config: Mapping[str, Any] | None = None
) -> Translated:
    """The KTIR of a kernel; nothing is run but the Python around its loops.

    Parameters
    ----------
    kernel : helion.Kernel
    args
        What it would be called with, on the card.
    config
        What differs from the kernel's own configuration, or from Helion's default where it has
        none or several.

    Raises
    ------
    HelionError
        Helion does not compile it for these arguments, or it launches not exactly one kernel.
    UnsupportedKernelError
        It uses something that has no meaning on the card.
    """
    from helion import Config

    from spyrelab.triton.capturing import capture

    name = kernel.name
    try:
        bound = kernel.bind(args)
        own = kernel.configs[0] if len(kernel.configs) == 1 else bound.config_spec.default_config()
        chosen = Config(**{**own.config, **(config or {})})
        function = bound.compile_config(chosen, allow_print=False)
        with capture() as caught:
            function(*args)
    except SpyreLabError:
        raise
    except Exception as error:
        raise HelionError(f"{name} does not compile: {_cause(error)}") from error
    if len(caught) != 1:
        raise HelionError(
            f"{name} launches {len(caught) or 'nothing'}"
            f"{' kernels' if caught else ''} for arguments of these shapes: one is printed"
        )
    (launch,) = caught
    places = {argument.name: argument.role for argument in launch.kernel.arguments}
    numbers = {k: v for k, v in launch.values.items() if places[k] is not Role.POINTER}
    return Translated(launch.kernel.translation, launch.grid, numbers, dict(chosen.config))


def _cause(error: BaseException) -> str:
    """What was wrong, of an error that others have wrapped."""
    from triton import CompilationError

    found: BaseException | None = error
    while found is not None:
        if isinstance(found, CompilationError) and found.__cause__ is not None:
            error = found.__cause__
        found = found.__cause__
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
