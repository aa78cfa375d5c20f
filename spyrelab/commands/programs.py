"""A program named on the command line: a KTIR file, a kernel with sizes, or a bench case."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from spyrelab.errors import UsageError
from spyrelab.ktir import Module

__all__ = ["add_program_arguments", "load_program"]


def add_program_arguments(parser: Any) -> None:
    """Arguments that `load_program` reads."""
    parser.add_argument(
        "program",
        metavar="FILE|KERNEL|CASE",
        help="KTIR file, a kernel's name, or a case of 'spyrelab bench --list'",
    )
    parser.add_argument(
        "sizes",
        nargs="*",
        metavar="NAME=VALUE",
        help="a kernel's parameters (m=512 split=1,4,8,1), or a file's launch arguments: integers,"
        " or NAME=FILE.npy for index arrays",
    )
    parser.add_argument("--function", help="function of the file (default: the first public one)")
    parser.add_argument("--lx-backend-fraction", type=float, metavar="F", help="0 to 1")
    parser.add_argument("--cores", type=int, help="cores of a file's function without a grid")


def load_program(args: Any) -> tuple[Module, dict[str, Any]]:
    """The module, and the launch arguments that its trip counts depend on.

    Raises
    ------
    UsageError
        Neither a file nor a kernel nor a case, or parameters that it does not take.
    """
    from spyrelab import kernels
    from spyrelab.ktir import parse

    given = dict(_pair(text) for text in args.sizes)
    if Path(args.program).is_file():
        module = parse(Path(args.program).read_text(encoding="utf-8"))
        return module, {name: _argument(value) for name, value in given.items()}
    kernel = kernels.CATALOGUE.get(args.program)
    if kernel is None:
        return _load_case(args, given)
    known = inspect.signature(kernel.builder).parameters
    for name in given:
        if name not in known:
            raise UsageError(f"{args.program} takes no {name!r}; its parameters: {_names(known)}")
    missing = [name for name, p in known.items() if p.default is p.empty and name not in given]
    if missing:
        raise UsageError(f"{args.program} needs {', '.join(missing)} as NAME=VALUE")
    parameters = {name: _parameter(value) for name, value in given.items()}
    module = kernel.build(**parameters)
    return module, _index_arrays(kernel, parameters)


def _load_case(args: Any, given: dict[str, str]) -> tuple[Module, dict[str, Any]]:
    """The program of a bench case."""
    from spyrelab.bench.predictions import traced
    from spyrelab.bench.registry import all_cases
    from spyrelab.kernels import CATALOGUE

    cases = all_cases()
    case = cases.get(args.program)
    if case is None:
        raise UsageError(
            f"no file, kernel or bench case is called {args.program!r};"
            f" {_near(args.program, CATALOGUE, cases)}"
        )
    if given or args.function or args.cores:
        raise UsageError(f"the bench case {case.name} is fixed: it takes no sizes or function")
    workload = traced(case)
    return workload.module, workload.indices


def _near(name: str, catalogue: Iterable[str], cases: Iterable[str]) -> str:
    close = get_close_matches(name, [*catalogue, *cases], n=3)
    longer = [case for case in cases if name and name in case and case not in close]
    found = [repr(known) for known in [*close, *longer][:3]]
    if found:
        return f"did you mean {' or '.join(found)}?"
    return f"kernels: {_names(catalogue)}; 'spyrelab bench --list' shows the cases"


def _names(names: Sequence[str] | Any) -> str:
    return ", ".join(names)


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name or not value:
        raise UsageError(f"{text!r} is not NAME=VALUE")
    return name, value


def _parameter(text: str) -> Any:
    parts = [_number(part) for part in text.split(",") if part]
    return tuple(parts) if "," in text else parts[0]


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _argument(text: str) -> Any:
    if text.endswith(".npy"):
        import numpy as np

        return np.load(text, allow_pickle=False)
    value = _number(text)
    if isinstance(value, str):
        raise UsageError(f"{text!r} is neither a number nor a .npy file")
    return value


def _index_arrays(kernel: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Page tables and lengths of a kernel, as its own generator makes them."""
    made = kernel.arguments(**parameters)
    return {name: array for name, array in made.items() if array.dtype.kind == "i"}
