"""``spyrelab estimate CONFIG``: a language model's time on the card, from its dimensions."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spyrelab.commands.output import print_json, print_line, print_table
from spyrelab.errors import UsageError

__all__ = ["is_model", "run_model"]

_KERNELS = 10
"""Kinds of kernels that are listed; the others are summed up."""


def is_model(program: str) -> bool:
    """Whether a program named on the command line is a model: a preset, or a configuration."""
    path = Path(program)
    if path.suffix == ".json" or (path / "config.json").is_file():
        return True
    if path.exists():
        return False
    from spyrelab.models.presets import PRESETS

    return program in PRESETS


def run_model(args: argparse.Namespace) -> int:
    """Predict and print."""
    for option in ("function", "cores", "plot"):
        if getattr(args, option):
            raise UsageError(f"--{option} is for programs; {args.program} is a model")
    if args.sizes:
        raise UsageError(f"{args.program} is a model: give --batch, --prompt and --tokens")
    from spyrelab.models.prediction import predict
    from spyrelab.models.presets import load_config

    config = load_config(args.program)
    with _progress() as told:
        found = predict(config, args.batch, args.prompt, args.tokens, args.planner, told)
    error = _error()
    if args.json:
        print_json({"schema": 1, "model": args.program, "error": error, **found.to_dict()})
        return 0
    print_line(
        f"{args.program}: {found.parameters / 1e9:.2f} G parameters, {found.weight_bytes / 1e9:.1f}"
        f" GB of weights, {found.cache_bytes / 1e9:.2f} GB of keys and values, float16",
        "bold",
    )
    sequences = f"{args.batch} x {args.prompt} tokens"
    print_line(f"prefill of {sequences}: {_range(found.prefill_seconds, error)}")
    print_line(f"each further token: {_range(found.token_seconds, error)}")
    print_line(f"reading the weights alone takes {found.reading_seconds * 1e3:,.1f} ms")
    print_line(
        f"Error bar: matrix products are predicted within {error:.0%} in the median of the"
        " published measurements that ship with SpyreLab; other kernels were compared with few."
    )
    for phase in ("prefill", "decode"):
        print_line()
        shares = found.shares(phase)
        rows: list[tuple[Any, ...]] = [(name, f"{part:.1%}") for name, part in shares[:_KERNELS]]
        rest = sum(part for _, part in shares[_KERNELS:])
        if rest:
            rows.append((f"{len(shares) - _KERNELS} more", f"{rest:.1%}"))
        print_table((f"{phase}: kernel", "share of time"), rows, right=("share of time",))
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A line that changes on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console

    with Console(stderr=True).status("tracing the model ...") as status:

        def told(done: int, total: int) -> None:
            status.update(f"planning runs of operations: {done} of {total} ...")

        yield told


def _range(seconds: float, error: float) -> str:
    low, high = seconds / (1 + error), seconds * (1 + error)
    return f"{seconds * 1e3:,.1f} ms ({low * 1e3:,.1f} to {high * 1e3:,.1f})"


def _error() -> float:
    """Median relative error of predicted matrix products against published times."""
    from spyrelab.bench.published import measured_splits
    from spyrelab.timing import split_times

    ratios = []
    for shape, measured in measured_splits().items():
        predicted = {choice.split: choice.seconds for choice in split_times(*shape)}
        ratios += [
            abs(math.log(predicted[split] * 1e6 / row.microseconds))
            for split, row in measured.items()
            if split in predicted
        ]
    ratios.sort()
    return math.expm1(ratios[len(ratios) // 2])
