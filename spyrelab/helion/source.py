"""Compiling a Helion kernel for given shapes without running it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.errors import SpyreLabError, UsageError
from spyrelab.helion.errors import HelionError
from spyrelab.triton.arguments import Role, Translation

if TYPE_CHECKING:
    from spyrelab.triton.capturing import Caught

__all__ = [
    "Launches",
    "Translated",
    "launches_of",
    "numbers_of",
    "read_config",
    "translate_kernel",
]


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
        found = json.loads(text if text.lstrip().startswith(("{", "[")) else Path(text).read_text())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--config {text}: {error}; give a JSON object such as '{{\"block_sizes\": [64]}}',"
            " a file with one, or a history of spyrelab.helion.tune (.jsonl)"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"--config {text}: a configuration is a JSON object, not {found!r}")
    return found


@dataclass(frozen=True)
class Launches:
    """What a call of a kernel would launch.

    Attributes
    ----------
    config : mapping
        The configuration that it was compiled in.
    text : str
        The Python that Helion has generated: the kernels in Triton, and what launches them.
    launches : tuple of Caught
        In order.
    ttir : tuple of str
        Of each, its kernel in Triton's own form.
    """

    config: Mapping[str, Any]
    text: str
    launches: tuple[Caught, ...]
    ttir: tuple[str, ...]


def launches_of(
    kernel: Any, args: tuple[Any, ...], config: Mapping[str, Any] | None = None
) -> Launches:
    """Compile a kernel and collect what it launches; only the Python around its loops is run.

    Parameters
    ----------
    kernel : helion.Kernel
    args
        What it would be called with, on the card.
    config
        What differs from the kernel's configuration: the one found by tuning, else the only one
        that it brings, else Helion's default.

    Raises
    ------
    HelionError
        Helion does not compile it for these arguments.
    UnsupportedKernelError
        It uses something that has no meaning on the card.
    """
    from helion import Config
    from helion.runtime import default_launcher

    from spyrelab.triton.capturing import capture
    from spyrelab.triton.explaining import ttir_text

    _check_compiled(kernel)
    ttir: list[str] = []

    def launch(*args: Any, **settings: Any) -> Any:
        compiled = default_launcher(*args, **settings)
        if compiled is not None:
            ttir.append(ttir_text(compiled))
        return compiled

    try:
        bound = kernel.bind(args)
        own = getattr(bound, "_config", None) or _own_config(kernel, bound)
        chosen = Config(**{**own.config, **(config or {})})
        function = bound.compile_config(chosen, allow_print=False)
        with capture() as caught:
            function(*args, _launcher=launch)
        text = bound.to_triton_code(chosen)
    except SpyreLabError:
        raise
    except Exception as error:
        raise HelionError(f"{kernel.name} does not compile: {_cause(error)}") from error
    return Launches(dict(chosen.config), text, tuple(caught), tuple(ttir))


def _check_compiled(kernel: Any) -> None:
    from helion.runtime.ref_mode import RefMode
    from triton import knobs

    modes = {
        "HELION_INTERPRET": kernel.settings.ref_mode is not RefMode.OFF,
        "TRITON_INTERPRET": knobs.runtime.interpret,
    }
    for name, is_on in modes.items():
        if is_on:
            raise HelionError(f"{kernel.name} is interpreted, not compiled: unset {name}")


def _own_config(kernel: Any, bound: Any) -> Any:
    if len(kernel.configs) == 1:
        return kernel.configs[0]
    return bound.config_spec.default_config()


def translate_kernel(
    kernel: Any, args: tuple[Any, ...], config: Mapping[str, Any] | None = None
) -> Translated:
    """The KTIR of a kernel; parameters as `launches_of` has them.

    Raises
    ------
    HelionError
        Helion does not compile it for these arguments, or it launches not exactly one kernel.
    UnsupportedKernelError
        It uses something that has no meaning on the card.
    """
    made = launches_of(kernel, args, config)
    if len(made.launches) != 1:
        raise HelionError(
            f"{kernel.name} launches {len(made.launches) or 'nothing'}"
            f"{' kernels' if made.launches else ''} for arguments of these shapes: one is printed"
        )
    (launch,) = made.launches
    return Translated(launch.kernel.translation, launch.grid, numbers_of(launch), made.config)


def numbers_of(launch: Caught) -> dict[str, int | float]:
    """KTIR arguments that are numbers, as a launch gives them."""
    roles = {argument.name: argument.role for argument in launch.kernel.arguments}
    return {k: v for k, v in launch.values.items() if roles[k] is not Role.POINTER}


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
