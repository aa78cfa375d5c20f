"""Pages of results, made from committed data: the op ledger and the benches."""

from __future__ import annotations

import csv
import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from spyrelab.book.chapters import BookError

__all__ = ["bench_page", "ledger_page", "plans_page"]

KINDS = {
    "op": "Operations",
    "module": "Modules",
    "opcheck": "Registrations",
    "gradcheck": "Gradients",
}
"""Kinds of cases in the ledger, in the order in which they are shown."""


def ledger_page(file: Path) -> str:
    """Markdown of the op ledger: totals, then every case.

    Parameters
    ----------
    file : Path
        CSV with columns kind, op, dtype, status, reason.
    """
    rows = list(csv.DictReader(_text(file).splitlines()))
    totals = Counter((row["kind"], row["status"]) for row in rows)
    states = ("native", "fallback", "xfail")
    table = [
        [name, *(str(totals[kind, state]) for state in states)] for kind, name in KINDS.items()
    ]
    parts = [
        "# The op ledger",
        "What PyTorch's own tests of operations, modules and gradients found on the device."
        " *Native*: computed by emulated kernels. *Fallback*: at least one step was computed by the"
        " CPU; the remark names it. *xfail*: fails for a reason that is known. A test runs every"
        " case and fails when one does better or worse than its line.",
        _table(("kind", *states), table),
    ]
    for kind, name in KINDS.items():
        parts += [f"## {name}", _cases([row for row in rows if row["kind"] == kind])]
    return "\n\n".join(parts) + "\n"


def _cases(rows: list[dict[str, str]]) -> str:
    """One line an operation, its dtypes side by side."""
    dtypes = sorted({row["dtype"] for row in rows})
    by_op: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for row in rows:
        by_op[row["op"]][row["dtype"]] = row
    lines = []
    for op, found in by_op.items():
        states = [found[dtype]["status"] if dtype in found else "" for dtype in dtypes]
        remarks = dict.fromkeys(row["reason"] for row in found.values() if row["reason"])
        lines.append([_code(op), *states, "; ".join(map(_code, remarks))])
    return _table(("case", *dtypes, "remark"), lines)


def bench_page(file: Path) -> str:
    """Markdown of the committed rows of ``spyrelab bench ch07``: a table a scenario class.

    Predicted microseconds of each kernel as it was written, and tuned.
    """
    document = json.loads(_text(file))
    rows = document["rows"]
    classes = list(dict.fromkeys(row["extra"]["parameters"]["class"] for row in rows))
    parts = [
        "# Bench: paged attention",
        "Predicted microseconds on the card of each kernel as it was written, then tuned. The bound"
        " is the least time that any kernel needs; the second column says which share of it the"
        " fastest reaches. Every row was compared with a reference before it was priced. Made"
        f" with torch {document['environment']['torch']}; `spyrelab bench ch07` makes the numbers"
        " again.",
    ]
    for name in classes:
        own = [row for row in rows if row["extra"]["parameters"]["class"] == name]
        parts += [f"## {name.capitalize()}", _scenarios(own)]
    return "\n\n".join(parts) + "\n"


def _scenarios(rows: list[dict[str, Any]]) -> str:
    kernels = list(dict.fromkeys(row["impl"].removesuffix("-tuned") for row in rows))
    cases: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        cases[row["case"]][row["impl"]] = row
    lines = []
    for case, own in cases.items():
        best = min(own.values(), key=lambda row: float(row["device_us"]))
        pairs = [f"{_time(own, kernel)} / {_time(own, f'{kernel}-tuned')}" for kernel in kernels]
        lines.append([_code(case), f"{best['impl']}, {best['extra']['bound_share']:.0%}", *pairs])
    return _table(("scenario", "fastest", *kernels), lines, right=("fastest", *kernels))


def _time(own: dict[str, dict[str, Any]], impl: str) -> str:
    return f"{own[impl]['device_us']:,.1f}" if impl in own else "–"


def plans_page(file: Path) -> str:
    """Markdown of the plans of whole blocks that chapter 5 draws."""
    plans = tomllib.loads(_text(file))["plans"]
    lines = [
        [
            _code(plan["block"]),
            str(plan["rows"]),
            f"{plan['per_op_us']:,.1f}",
            f"{plan['joint_us']:,.1f}",
            f"{plan['ceiling_us']:,.1f}",
            f"{plan['per_op_us'] / plan['joint_us']:.2f}",
            f"{plan['per_op_launches']} to {plan['joint_launches']}",
        ]
        for plan in plans
    ]
    columns = ("block", "rows", "apart, µs", "together, µs", "bound, µs", "ratio", "launches")
    return (
        "# Bench: plans of whole blocks\n\nPredicted time of a block whose operations are planned"
        " one by one, and decided together as in chapter 5; the bound is the least time that memory"
        " and units allow.\n\n" + _table(columns, lines, right=columns[1:]) + "\n"
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> str:
    rule = ["---:" if column in right else "---" for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, rule, *rows])


def _code(text: str) -> str:
    return f"`{text.replace('|', '/')}`"


def _text(file: Path) -> str:
    if not file.is_file():
        raise BookError(f"{file} is missing: the site is built from a checkout of SpyreLab")
    return file.read_text(encoding="utf-8")
