"""`explain`: what becomes of a function on its way to the card, stage by stage."""

from __future__ import annotations

import html as markup
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from spyrelab.emulator.opcodes import Op
from spyrelab.inductor.errors import CompileError
from spyrelab.inductor.graphs import touches_device
from spyrelab.inductor.observing import Seen, observed

__all__ = ["STAGES", "Explanation", "explain"]

STAGES = ("fx", "requests", "passes", "opspec", "plan", "ktir", "program", "timeline", "code")
"""In order; ``"all"`` is every one of them."""

_WHAT = {
    "fx": "the graph: operations of ATen, one node each",
    "requests": "what every operation asks of the card",
    "passes": "what each pass over these requests changed",
    "opspec": "the same with iteration spaces, splits and places",
    "plan": "what was decided, and the time that it is predicted to take",
    "launch": "what Helion launches, on which grid, with which numbers, how configured",
    "triton": "the Python that Helion generated",
    "ttir": "the kernel in Triton's own form, simplified",
    "access": "how every access to memory was understood",
    "ktir": "programs of the card",
    "program": "instructions of the emulated cores",
    "timeline": "time on the emulated clock",
    "code": "the module that Inductor wrote",
}


@dataclass(frozen=True)
class Explanation:
    """Every stage as text.

    Attributes
    ----------
    stages : dict
        Stage: its text.
    shown : tuple of str
        Those that ``print`` shows.
    """

    stages: dict[str, str]
    shown: tuple[str, ...]

    def __str__(self) -> str:
        if len(self.shown) == 1:
            return self.stages[self.shown[0]]
        titled = (f"== {s}: {_WHAT[s]} ==\n{self.stages[s]}" for s in self.shown)
        return "\n\n".join(titled)

    def __repr__(self) -> str:
        return str(self)

    def to_html(self, path: str | Path) -> None:
        """Write a page with a foldable section for each stage."""
        Path(path).write_text(self._repr_html_(), encoding="utf-8")

    def _repr_html_(self) -> str:
        sections = "".join(
            f"<details open><summary><b>{stage}</b>: {_WHAT[stage]}</summary>"
            f"<pre>{markup.escape(self.stages[stage])}</pre></details>\n"
            for stage in self.shown
        )
        head = '<meta charset="utf-8"><title>spyrelab.explain</title>'
        return f"<!doctype html><html><head>{head}</head><body>\n{sections}</body></html>\n"


def explain(
    function: Callable[..., Any],
    *args: Any,
    stage: str = "all",
    html: str | Path | None = None,
    **kwargs: Any,
) -> Explanation:
    """Compile a function or module afresh, call it, and say what happened at a stage.

    Parameters
    ----------
    function
        Takes ``*args`` and ``**kwargs``, of which some are on the device.
    stage
        One of `STAGES`, or ``"all"``.
    html
        Where to write a page.

    Raises
    ------
    CompileError
        There is no such stage, or nothing was compiled for the device.
    """
    if stage != "all" and stage not in STAGES:
        raise CompileError(f"stage {stage!r}: choose one of {', '.join((*STAGES, 'all'))}")
    seen = _run(function, args, kwargs)
    if not seen.graphs:
        raise CompileError(
            "nothing was compiled for device 'spyre': does the function get a tensor of it?"
        )
    shown = STAGES if stage == "all" else (stage,)
    made = Explanation({name: _TEXTS[name](seen) for name in shown}, shown)
    if html is not None:
        made.to_html(html)
    return made


_lock = threading.RLock()


def _run(function: Callable[..., Any], args: Any, kwargs: Any) -> Seen:
    from torch._functorch import config as autograd
    from torch._inductor import compile_fx as inductor
    from torch._inductor import config

    from spyrelab.device.timeline import record

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    # A code object and a backend of its own: Dynamo has compiled nothing for them yet.
    call.__code__ = call.__code__.replace()

    def backend(graph: Any, inputs: Any) -> Any:
        # What is the host's alone stays eager: compiling it would take a C++ compiler.
        return inductor.compile_fx(graph, inputs) if touches_device(graph, inputs) else graph

    compiled = torch.compile(call, backend=backend)
    whole = autograd.patch(force_non_lazy_backward_lowering=True)
    with _lock, whole, config.patch(force_disable_caches=True), observed() as seen:
        with warnings.catch_warnings():
            # Dynamo says once that it remembers no sizes without caches.
            warnings.filterwarnings("ignore", message="dynamo_pgo")
            compiled(*args, **kwargs)
        with record() as recording:
            compiled(*args, **kwargs)
    seen.timeline = recording.timeline
    return seen


def _graphs(seen: Seen) -> str:
    return "\n\n".join(seen.graphs)


def _requests(seen: Seen) -> str:
    lines = []
    for number, (before, _) in enumerate(seen.bundles):
        lines.append(f"bundle {number}")
        lines += [f"  {step!r}" for step in before.steps]
    lines += [f"call, not native: {op}: {reason}" for op, reason in seen.others]
    return "\n".join(lines)


def _passes(seen: Seen) -> str:
    lines = []
    for number, outcomes in enumerate(seen.passes):
        lines.append(f"bundle {number}" if outcomes else f"bundle {number}: not planned, no passes")
        for name, changed in outcomes:
            lines.append(f"  {name}" if changed else f"  {name}: nothing to do")
            lines += [f"    {line}" for line in changed]
    return "\n".join(lines)


def _specs(seen: Seen) -> str:
    parts = [repr(part) for _, after in seen.bundles for part in after.parts]
    return "\n".join(parts)


def _plans(seen: Seen) -> str:
    texts = []
    for _, after in seen.bundles:
        texts += [
            part.explain() if hasattr(part, "explain") else f"{part.op}: launched by itself"
            for part in after.parts
        ]
    return "\n".join(texts)


def _modules(seen: Seen) -> str:
    from spyrelab.tiling import lower_bundle

    bundles = [b for _, after in seen.bundles for plan in after.plans for b in plan.bundles]
    return "\n".join(str(lower_bundle(bundle.items).module) for bundle in bundles)


def _programs(seen: Seen) -> str:
    texts = []
    for kernel in seen.programs:
        names = Counter(Op(int(row[0])).name.lower() for row in kernel.code)
        texts.append(
            f"{kernel.function.name}: {kernel.cores} cores, {len(kernel.code)} instructions,"
            f" at most {int(kernel.lx_peaks.max()):,} B of scratchpad"
        )
        texts += [f"  {count:4} {name}" for name, count in names.most_common()]
    return "\n".join(texts)


def _timeline(seen: Seen) -> str:
    lines = [f"{seen.timeline.seconds * 1e6:.2f} us on the card"]
    lines += [
        f"  {kernel.start * 1e6:9.2f} us  {kernel.seconds * 1e6:9.2f} us  {kernel.op}"
        for kernel in seen.timeline.kernels
    ]
    return "\n".join(lines)


def _code(seen: Seen) -> str:
    return "\n\n".join(seen.codes)


_TEXTS: dict[str, Callable[[Seen], str]] = {
    "fx": _graphs,
    "requests": _requests,
    "passes": _passes,
    "opspec": _specs,
    "plan": _plans,
    "ktir": _modules,
    "program": _programs,
    "timeline": _timeline,
    "code": _code,
}
