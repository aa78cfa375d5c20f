"""One model on the card against the CPU: errors, operations that left the card, time, traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from spyrelab.device import counts
from spyrelab.device.timeline import Recording, record
from spyrelab.models.families import FAMILIES, build
from spyrelab.models.running import Results, compiled, graph_breaks, moved, round_to, run
from spyrelab.models.traffic import device_bytes, least_bytes, watch

__all__ = ["TOLERANCES", "Fallback", "Report", "report", "report_all", "table"]

TOLERANCES = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}
"""Largest error allowed, as a share of the largest result on the CPU in float32.

Weights and inputs are rounded to the type before both runs, so what differs is arithmetic. A
result of two layers passes some forty operations that each round to 2**-24, 2**-11 or 2**-8 of
its size. Half types keep their sums in float32, so twenty such roundings are allowed there: 1e-2
and 8e-2. In float32 sums of up to 256 terms run in another order than the CPU's: 170 roundings."""


@dataclass(frozen=True)
class Fallback:
    """An operation that ran on the CPU.

    Attributes
    ----------
    op : str
        ``aten::...``
    count : int
    reasons : tuple of str
    """

    op: str
    count: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.op} x{self.count} ({'; '.join(self.reasons)})"


@dataclass(frozen=True)
class Report:
    """What one run of a model showed.

    Attributes
    ----------
    model : str
        Family and, unless it is 0, seed.
    dtype : torch.dtype
    is_compiled, backward : bool
        By `torch.compile`; with the gradients of all parameters.
    error, tolerance : float
        Largest difference of a result from the CPU's, and what is allowed, both as a share of
        the largest result. With ``backward`` the gradients count too, each as a share of the
        largest gradient.
    graph_breaks : int
        0 for eager runs.
    native : int
        Runs of operations on the card (in a compiled model those outside of bundles).
    launches : int
        Programs started on the card.
    fallbacks : tuple of Fallback
    seconds : float
        Predicted device time.
    port_bytes, least_bytes : int
        Bytes across the memory port, and inputs, outputs and weights once each. For
        ``backward`` the least is that of the forward run, plus the weights' gradients.
    """

    model: str
    dtype: torch.dtype
    is_compiled: bool
    backward: bool
    error: float
    tolerance: float
    graph_breaks: int
    native: int
    launches: int
    fallbacks: tuple[Fallback, ...]
    seconds: float
    port_bytes: int
    least_bytes: int

    @property
    def is_right(self) -> bool:
        """Whether the error is within the tolerance."""
        return self.error <= self.tolerance

    @property
    def fallback_count(self) -> int:
        """Runs of operations on the CPU."""
        return sum(fallback.count for fallback in self.fallbacks)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **self.__dict__,
            "dtype": str(self.dtype).removeprefix("torch."),
            "fallbacks": [fallback.__dict__ for fallback in self.fallbacks],
        }

    def __str__(self) -> str:
        return table([self])


def report(
    name: str,
    dtype: torch.dtype = torch.float32,
    *,
    compile: bool = False,
    backward: bool = False,
    seed: int = 0,
) -> Report:
    """Run a small model of a family on the CPU and on the card, and compare.

    Parameters
    ----------
    dtype
        Of weights and inputs on the card; the CPU computes in float32 with the same values.
    compile
        Run ``torch.compile(model)`` on the card, with its default options.
    backward
        Also the gradients of all parameters.
    seed
        Of sizes, weights and inputs; see `families.build`.

    Raises
    ------
    UnknownModelError, MissingTransformersError
    FallbackError
        An operation left the card while ``torch.spyre.fallback("error")`` holds.
    """
    sample = build(name, seed)
    round_to(sample, dtype)
    model = sample.model
    with watch(model) as seen:
        expected = _detached(run(model, model, sample.inputs, backward))
    model.zero_grad()
    model.to("spyre", dtype)
    inputs = moved(sample.inputs, dtype)
    call = compiled(model) if compile else model
    counts.reset_op_counts()
    with record() as recording:
        found = run(model, call, inputs, backward)
    ledger = counts.op_counts()
    least = least_bytes(model, seen, list(inputs.values()), found.outputs)
    return Report(
        model=name if seed == 0 else f"{name}, seed {seed}",
        dtype=dtype,
        is_compiled=compile,
        backward=backward,
        error=max(_errors(found, expected)),
        tolerance=TOLERANCES[dtype],
        graph_breaks=graph_breaks().total() if compile else 0,
        native=sum(entry["native"] for entry in ledger.values()),
        launches=len(recording.kernels),
        fallbacks=_fallbacks(),
        seconds=recording.seconds,
        port_bytes=_port_bytes(recording),
        least_bytes=least + sum(map(device_bytes, found.gradients.values())),
    )


def report_all(names: Sequence[str] = (), **how: Any) -> list[Report]:
    """Reports of several families; default all of them. Takes what `report` takes."""
    return [report(name, **how) for name in names or FAMILIES]


def _detached(results: Results) -> Results:
    """Copies, because moving a model to the card moves its gradients too."""
    kept = {name: grad.clone() for name, grad in results.gradients.items()}
    return Results([output.detach() for output in results.outputs], kept)


def _errors(found: Results, expected: Results) -> list[float]:
    """Largest differences, each as a share of the largest number of its kind."""
    errors = [
        _difference(mine, theirs) / max(float(theirs.abs().max()), 1e-6)
        for mine, theirs in zip(found.outputs, expected.outputs, strict=True)
    ]
    largest = max((float(g.abs().max()) for g in expected.gradients.values()), default=1.0)
    for name, grad in expected.gradients.items():
        errors.append(_difference(found.gradients[name], grad) / largest)
    return errors


def _difference(mine: torch.Tensor, theirs: torch.Tensor) -> float:
    difference = (mine.detach().cpu().float() - theirs).abs().max()
    return float(difference.nan_to_num(nan=float("inf")))


def _fallbacks() -> tuple[Fallback, ...]:
    reasons = counts.fallback_reasons()
    return tuple(
        Fallback(op, entry["fallback"], tuple(reasons.get(op, ())))
        for op, entry in counts.op_counts().items()
        if entry["fallback"]
    )


def _port_bytes(recording: Recording) -> int:
    return round(sum(kernel.estimate.port_bytes for kernel in recording.kernels))


def table(reports: Sequence[Report]) -> str:
    """Reports as lines of text, one each, and one for every operation that left the card."""
    lines = [
        f"{'model':<18}{'type':<10}{'error':>9}{'allowed':>9}{'breaks':>7}{'native':>7}"
        f"{'launches':>9}{'CPU':>5}{'time/us':>10}{'DDR/KiB':>9}{'least/KiB':>10}{'ratio':>7}"
    ]
    for made in reports:
        kind = str(made.dtype).removeprefix("torch.")
        lines.append(
            f"{made.model:<18}{kind:<10}{made.error:>9.1e}{made.tolerance:>9.0e}"
            f"{made.graph_breaks:>7}{made.native:>7}{made.launches:>9}{made.fallback_count:>5}"
            f"{made.seconds * 1e6:>10.1f}{made.port_bytes / 1024:>9.0f}"
            f"{made.least_bytes / 1024:>10.0f}{made.port_bytes / made.least_bytes:>7.2f}"
        )
        lines += [f"    on the CPU: {fallback}" for fallback in made.fallbacks]
    return "\n".join(lines)
