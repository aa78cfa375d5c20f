"""`explain`: what becomes of a Helion kernel on its way to the card."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spyrelab.helion.source import Launches
    from spyrelab.triton.capturing import Caught

__all__ = ["STAGES", "explain"]

STAGES = ("launch", "triton", "ttir", "access", "ktir", "program", "timeline")
"""In order; ``"all"`` is every one of them."""


def explain(
    function: Callable[..., Any],
    *args: Any,
    stage: str = "all",
    html: str | Path | None = None,
    **kwargs: Any,
) -> Any:
    """Say what happens to a function, a module, a Triton or a Helion kernel, stage by stage.

    A kernel is compiled and its time predicted; it is not run. Anything else is compiled by
    torch.compile and called, see `spyrelab.inductor.explain`.

    Parameters
    ----------
    function
        With ``@helion.kernel``: its arguments follow, and ``config=``, a `helion.Config` or dict
        with what differs from the kernel's own. With ``@triton.jit`` or a
        tuner around it: its arguments follow, and ``grid=``.
    stage
        One of `STAGES` for a Helion kernel, or ``"all"``.
    html
        Where to write a page.

    Raises
    ------
    HelionError
        There is no such stage, a grid was given, or the kernel does not compile.
    """
    if _is_kernel(function):
        return _explain_kernel(function, stage, html, args, kwargs)
    from spyrelab.triton.explaining import explain as explain_others

    return explain_others(function, *args, stage=stage, html=html, **kwargs)


def _is_kernel(function: Any) -> bool:
    import sys

    if sys.modules.get("helion") is None:
        return False
    from helion import Kernel

    return isinstance(function, Kernel)


def _explain_kernel(
    kernel: Any, stage: str, html: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    from spyrelab import triton
    from spyrelab.helion.errors import HelionError
    from spyrelab.helion.installation import install
    from spyrelab.helion.source import launches_of
    from spyrelab.inductor.explanation import Explanation

    if stage != "all" and stage not in STAGES:
        raise HelionError(f"stage {stage!r}: choose one of {', '.join((*STAGES, 'all'))}")
    if "grid" in kwargs:
        raise HelionError(
            "a Helion kernel chooses its grid itself: leave out grid=, or set what it depends on,"
            ' as in config={"block_sizes": [64]}'
        )
    install()
    triton.install()
    config = kwargs.pop("config", None)
    values = getattr(config, "config", config)
    if values is not None and not isinstance(values, Mapping):
        raise HelionError(f"config={config!r}: a helion.Config or a dict")
    try:
        given = kernel.normalize_args(*args, **kwargs)
    except TypeError as error:
        raise HelionError(f"{kernel.name} does not take these arguments: {error}") from None
    made = launches_of(kernel, given, values)
    shown = STAGES if stage == "all" else (stage,)
    texts = Explanation({name: _TEXTS[name](made) for name in shown}, shown)
    if html is not None:
        texts.to_html(html)
    return texts


def _each(made: Launches, describe: Callable[[Caught], str]) -> str:
    """A text for each launch; where there are several, with its number."""
    texts = [describe(launch) for launch in made.launches]
    if len(texts) < 2:
        return "".join(texts) or "nothing is launched for arguments of these shapes"
    return "\n\n".join(
        f"launch {number}, {launch.kernel.name}:\n{text}"
        for number, (launch, text) in enumerate(zip(made.launches, texts, strict=True), 1)
    )


def _launch_text(made: Launches) -> str:
    return f"{_each(made, _one_launch)}\n{_config_text(made.config)}"


def _one_launch(launch: Caught) -> str:
    from spyrelab.helion.source import numbers_of

    programs = math.prod(launch.grid)
    rounds = math.ceil(programs / launch.cores)
    lines = [
        f"{launch.kernel.name} on a grid of {' x '.join(map(str, launch.grid))}: {programs}"
        f" program{'s' * (programs != 1)} on {min(programs, launch.cores)} of {launch.cores} cores,"
        f" at most {rounds} on each"
    ]
    lines += [f"  {name} = {value}" for name, value in numbers_of(launch).items()]
    return "\n".join(lines)


def _config_text(config: Mapping[str, Any]) -> str:
    lines = [f"  {name} = {value!r}" for name, value in config.items()]
    return "\n".join(["compiled with", *lines])


def _access(launch: Caught) -> str:
    from spyrelab.triton.explaining import access_text

    return access_text(launch.kernel.translation.notes)


def _program(launch: Caught) -> str:
    from spyrelab.triton.explaining import program_text

    return program_text(launch.kernel.program(launch.cores))


def _ttir(made: Launches) -> str:
    return "\n\n".join(made.ttir) or _each(made, str)


_TEXTS: dict[str, Callable[[Launches], str]] = {
    "launch": _launch_text,
    "triton": lambda made: made.text,
    "ttir": _ttir,
    "access": lambda made: _each(made, _access),
    "ktir": lambda made: _each(made, lambda launch: str(launch.kernel.module)),
    "program": lambda made: _each(made, _program),
    "timeline": lambda made: _each(made, lambda launch: launch.estimate().explain()),
}
