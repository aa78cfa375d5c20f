"""`explain`: what becomes of a Triton kernel on its way to the card."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from spyrelab.triton.arguments import AccessNote

__all__ = ["STAGES", "access_text", "explain", "own_operations", "program_text", "ttir_text"]

STAGES = ("ttir", "access", "ktir", "program", "timeline")
"""In order; ``"all"`` is every one of them."""


def explain(
    function: Callable[..., Any],
    *args: Any,
    stage: str = "all",
    html: str | Path | None = None,
    grid: Any = None,
    **kwargs: Any,
) -> Any:
    """Say what happens to a function, a module or a Triton kernel, stage by stage.

    A Triton kernel is compiled and its time predicted; it is not run. Anything else is compiled
    by torch.compile and called, see `spyrelab.inductor.explain`.

    Parameters
    ----------
    function
        With ``@triton.jit`` or a tuner around it: its arguments follow, and ``grid=``.
    stage
        One of `STAGES` for a kernel, or ``"all"``.
    html
        Where to write a page.
    grid
        Programs of the kernel, as in ``kernel[grid](...)``.

    Raises
    ------
    TritonError
        There is no such stage, or no grid was given.
    """
    if not _is_kernel(function):
        from spyrelab.inductor.explanation import explain as explain_compiled

        if grid is not None:
            kwargs["grid"] = grid
        return explain_compiled(function, *args, stage=stage, html=html, **kwargs)
    return _explain_kernel(function, grid, stage, html, args, kwargs)


def _is_kernel(function: Any) -> bool:
    import sys

    if sys.modules.get("triton") is None:
        return False
    from triton import KernelInterface

    return isinstance(function, KernelInterface)


def _explain_kernel(
    kernel: Any, grid: Any, stage: str, html: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    from spyrelab.inductor.explanation import Explanation
    from spyrelab.triton.dry_runs import dry
    from spyrelab.triton.errors import TritonError
    from spyrelab.triton.installation import install

    if stage != "all" and stage not in STAGES:
        raise TritonError(f"stage {stage!r}: choose one of {', '.join((*STAGES, 'all'))}")
    if grid is None:
        raise TritonError("a kernel is explained for a grid: explain(kernel, ..., grid=(32,))")
    install()
    with dry() as asked:
        compiled = kernel[grid](*args, **kwargs)
    ours = compiled.function
    texts: dict[str, Callable[[], str]] = {
        "ttir": lambda: ttir_text(compiled),
        "access": lambda: access_text(ours.translation.notes),
        "ktir": lambda: str(ours.module),
        "program": lambda: program_text(ours.program()),
        "timeline": lambda: asked.launches[-1].estimate.explain(),
    }
    shown = STAGES if stage == "all" else (stage,)
    made = Explanation({name: texts[name]() for name in shown}, shown)
    if html is not None:
        made.to_html(html)
    return made


def ttir_text(compiled: Any) -> str:
    """A compiled kernel in Triton's own form; tuners may have had it kept as a binary only."""
    if "ttir" in compiled.asm:
        return str(compiled.asm["ttir"])
    from spyrelab.triton.source import front_end
    from spyrelab.triton.stages import simplify

    return str(simplify(front_end(compiled.src), {}))


def access_text(notes: Iterable[AccessNote]) -> str:
    """One paragraph for each access to memory: where, how, and what would be better."""
    lines: list[str] = []
    for note in notes:
        of = f" of {note.argument}" if note.argument else ""
        lines.append(f"{note.place}: {note.operation}{of}: {note.kind}")
        source = _source_line(note.place)
        lines += [f"    {source}"] if source else []
        lines += [f"    {text}" for text in (note.why, note.advice) if text]
    return "\n".join(lines) or "the kernel does not access memory"


def _source_line(place: str) -> str:
    file, _, rest = place.partition(":")
    line = rest.partition(":")[0]
    return linecache.getline(file, int(line)).strip() if line.isdigit() else ""


def own_operations(module: Any) -> Counter[str]:
    """Operations of SpyreLab's own dialect, which no other KTIR tool knows, and how many."""
    from spyrelab.ktir import walk

    return Counter(
        operation.name
        for function in module.functions
        for operation in walk(function.body.operations)
        if operation.name.startswith("spyrelab.")
    )


def program_text(program: Any) -> str:
    """What a program consists of, and what it needs of the scratchpad."""
    from spyrelab.emulator.opcodes import Op

    names = Counter(Op(int(row[0])).name.lower() for row in program.code)
    head = (
        f"{program.function.name}: {program.cores} cores, {len(program.code)} instructions,"
        f" at most {int(program.lx_peaks.max()):,} B of scratchpad"
    )
    return "\n".join([head, *(f"  {count:4} {name}" for name, count in names.most_common())])
