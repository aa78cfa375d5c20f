"""The Triton kernels on the card and in Triton's own interpreter: how far apart, how much faster.

``python -m spyrelab.attention.interpreted`` prints a line per kernel, for the longest contexts
that the interpreter finishes in the time it is given.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from spyrelab.attention.errors import AttentionError
from spyrelab.attention.implementations import IMPLEMENTATIONS, implementation
from spyrelab.attention.scenarios import Scenario
from spyrelab.errors import SpyreLabError

__all__ = ["KERNELS", "Agreement", "compare", "largest", "main", "ulps_apart"]

KERNELS = tuple(i.name for i in IMPLEMENTATIONS if i.language == "triton")
LENGTHS = (64, 128, 256, 512, 1024, 2048)
"""Longest contexts in tokens, tried in this order."""

_ROUNDS = 3


@dataclass(frozen=True)
class Agreement:
    """One kernel on one scenario, on the card and interpreted.

    Attributes
    ----------
    kernel, scenario : str
    identical : float
        Share of the elements with the same bits.
    ulps : float
        Largest difference in units in the last place of fp16; see `ulps_apart`.
    close : float
        Share of the elements that differ by at most two units of their own size.
    interpreted, emulated : float
        Wall seconds of a launch: the interpreter's one, and the card's best of three once the
        kernel is compiled.
    """

    kernel: str
    scenario: str
    identical: float
    ulps: float
    close: float
    interpreted: float
    emulated: float

    @property
    def speedup(self) -> float:
        """How many times faster the card is emulated than the interpreter runs."""
        return self.interpreted / self.emulated

    def __str__(self) -> str:
        return (
            f"{self.kernel:<17} {self.scenario:<24} {self.identical:>8.2%} identical, at most"
            f" {self.ulps:.2f} ulp of the row apart ({self.close:.3%} within 2 of their own);"
            f" {self.interpreted:.2f} s interpreted, {self.emulated:.4f} s here:"
            f" {self.speedup:.0f}x"
        )


def ulps_apart(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Differences of two fp16 tensors ``[..., D]`` in units in the last place.

    An output is a weighted sum over D columns of values: where one cancels to nearly nothing, the
    errors of its terms are still those of a row of that size.  So the unit is that of the row's
    largest magnitude.
    """
    size = expected.float().abs().amax(-1, keepdim=True).clamp(min=2.0**-14)
    unit = torch.exp2(torch.floor(torch.log2(size)) - 10)
    return (found.float() - expected.float()).abs() / unit


def scenario_of(length: int) -> Scenario:
    """Four sequences, two of them decoding, in fp16."""
    return Scenario.of(4, length, 0.5)


def compare(kernel: str, length: int, seconds: float) -> Agreement | None:
    """Run a kernel both ways; nothing if the interpreter does not finish in time.

    Raises
    ------
    AttentionError
        There is no such kernel, or the interpreter fails.
    """
    if kernel not in KERNELS:
        raise AttentionError(f"'{kernel}' is none of {', '.join(KERNELS)}")
    scenario = scenario_of(length)
    known = _interpreted(kernel, length, seconds)
    if known is None:
        return None
    expected, slow = known
    found, fast = _emulated(kernel, scenario)
    same = (found.view(torch.int16) == expected.view(torch.int16)).float().mean()
    ulps = ulps_apart(found, expected).max()
    own = ulps_apart(found[..., None], expected[..., None])
    close = float((own <= 2).float().mean())
    return Agreement(kernel, scenario.name, float(same), float(ulps), close, slow, fast)


def largest(kernel: str, seconds: float) -> Agreement | None:
    """The comparison on the longest contexts that the interpreter finishes in time."""
    best: Agreement | None = None
    for length in LENGTHS:
        found = compare(kernel, length, seconds)
        if found is None:
            break
        best = found
    return best


def _emulated(kernel: str, scenario: Scenario) -> tuple[torch.Tensor, float]:
    from spyrelab.triton import install

    install()
    attend, batch = implementation(kernel).load(), scenario.build("spyre")
    out = attend(batch)
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        attend(batch, out)
        times.append(time.perf_counter() - start)
    return out.cpu(), min(times)


def _interpreted(kernel: str, length: int, seconds: float) -> tuple[torch.Tensor, float] | None:
    """A run in a process of its own: Triton reads the switch when it is imported."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.pt")
        command = [sys.executable, "-m", __spec__.name, "--inside", kernel, str(length), str(path)]
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode or not path.exists():
            reason = (done.stderr.strip() or "no output").splitlines()[-1]
            raise AttentionError(f"Triton's interpreter fails on {kernel}: {reason}")
        out, taken = torch.load(path)
        return out, taken


def _inside(kernel: str, length: str, path: str) -> None:
    attend, batch = implementation(kernel).load(), scenario_of(int(length)).build()
    start = time.perf_counter()
    out = attend(batch)
    torch.save((out, time.perf_counter() - start), path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how each kernel compares; 1 for a mistake in the arguments or a failing run."""
    parser = argparse.ArgumentParser(
        "python -m spyrelab.attention.interpreted", description=__doc__
    )
    parser.add_argument("kernels", nargs="*", help=f"of {', '.join(KERNELS)}; by default all")
    parser.add_argument("--seconds", type=float, default=120, help="for the interpreter (120)")
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    given: Any = parser.parse_args(arguments)
    if given.inside:
        _inside(*given.inside)
        return 0
    try:
        for kernel in given.kernels or KERNELS:
            found = largest(kernel, given.seconds)
            print(found or f"{kernel}: nothing was finished in {given.seconds} s", flush=True)
    except SpyreLabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
