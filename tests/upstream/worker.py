"""Runs ledger cases in a process of its own: one JSON line before and after each.

Usage: python -m tests.upstream.worker [--samples N] < cases (one "kind:name:dtype" a line)
"""

from __future__ import annotations

import faulthandler
import json
import sys
import traceback
import warnings
from typing import Any

import torch

import spyrelab.device  # noqa: F401  registers the device before torch's lists of devices are made
from tests.upstream.cases import Case, run, run_backward


def main(arguments: list[str]) -> int:
    """Read cases from standard input until it ends."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    limit = int(arguments[arguments.index("--samples") + 1]) if "--samples" in arguments else None
    out = sys.stdout
    sys.stdout = sys.stderr  # operators may print; the pipe is for results only
    for line in sys.stdin:
        case = Case(*line.strip().split(":"))
        print(json.dumps({"started": str(case)}), file=out, flush=True)
        print(json.dumps({"case": str(case), **judge(case, limit)}), file=out, flush=True)
    return 0


def judge(case: Case, limit: int | None) -> dict[str, Any]:
    """How a case went: status, the operators that left the device, and the reason of a failure."""
    torch.spyre.reset_op_counts()  # type: ignore[attr-defined]
    try:
        run(case, limit)
    except (Exception, SystemExit) as error:
        return {"status": "fail", "reason": _reason(error)}
    forward = _left_the_device()
    try:
        if case.kind == "op":
            run_backward(case)
    except (Exception, SystemExit) as error:
        return {"status": "fail", "reason": f"backward: {_reason(error)}"}
    backward = _left_the_device() - forward
    reason = " ".join(sorted(forward))
    if backward:
        reason = f"{reason} backward: {' '.join(sorted(backward))}".strip()
    return {"status": "fallback" if forward else "native", "reason": reason}


def _left_the_device() -> set[str]:
    counts: dict[str, dict[str, int]] = torch.spyre.op_counts()  # type: ignore[attr-defined]
    return {name for name, count in counts.items() if count["fallback"]}


def _reason(error: BaseException) -> str:
    first = str(error).strip().splitlines()[:1] or [""]
    notes = " ".join(getattr(error, "__notes__", []))
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.filename.rsplit('/', 1)[-1]}:{where.lineno}"
    return f"{type(error).__name__}: {first[0]} ({place}) {notes}"[:300]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
