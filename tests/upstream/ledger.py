"""The op ledger: what torch's own databases say about our device, and a check both ways.

``native`` says that no operator of the case left the device in its forward samples; operators
that do so only in the gradient stand behind "backward:" in the reason. ``fallback`` names those
that ran on the CPU. ``xfail`` is a known failure with its reason.

Usage
-----
python -m tests.upstream.ledger                 run everything, compare with ledger.csv
python -m tests.upstream.ledger --write         run everything, write ledger.csv
python -m tests.upstream.ledger --only NAME     cases whose name contains NAME, printed
python -m tests.upstream.ledger --totals        print the totals of ledger.csv
python -m tests.upstream.ledger --list          print the cases that apply
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.upstream.exemptions import REASONS

LEDGER = Path(__file__).with_name("ledger.csv")
COLUMNS = ("kind", "op", "dtype", "status", "reason")
PASSING = ("native", "fallback")


def read(path: Path = LEDGER) -> dict[str, tuple[str, str]]:
    """Status and reason of every case, by its text."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            f"{row['kind']}:{row['op']}:{row['dtype']}": (row["status"], row["reason"])
            for row in csv.DictReader(file)
        }


def write(entries: Mapping[str, tuple[str, str]], path: Path = LEDGER) -> None:
    """Write entries in a stable order."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for case, (status, reason) in sorted(entries.items()):
            writer.writerow([*case.split(":"), status, reason])


def entry(case: str, result: Mapping[str, Any]) -> tuple[str, str]:
    """A result as the ledger puts it: whatever fails is an expected failure, with its reason."""
    status = result["status"]
    if status in PASSING:
        return status, result["reason"]
    return "xfail", REASONS.get(case, "")


def disagreements(
    found: Mapping[str, Mapping[str, Any]], ledger: Mapping[str, tuple[str, str]]
) -> list[str]:
    """Lines that say where results and ledger differ, in either direction."""
    lines = []
    for case, result in sorted(found.items()):
        status = result["status"]
        if case not in ledger:
            lines.append(f"{case}: not in the ledger, came out as {status}: {result['reason']}")
            continue
        expected, reason = ledger[case]
        if status == "crash":
            lines.append(f"{case}: crashed: {result['reason']}")
        elif (status in PASSING) != (expected in PASSING):
            lines.append(f"{case}: {expected} in the ledger, now {status}: {result['reason']}")
        elif expected == "native" and status == "fallback":
            lines.append(f"{case}: native in the ledger, now leaves the device: {result['reason']}")
        elif expected == "xfail" and not reason:
            lines.append(f"{case}: xfail without a reason")
    return lines


def totals(ledger: Mapping[str, tuple[str, str]]) -> dict[str, Counter[str]]:
    """How many cases of each kind have each status."""
    counts: dict[str, Counter[str]] = {}
    for case, (status, _) in ledger.items():
        counts.setdefault(case.split(":")[0], Counter())[status] += 1
    return counts


def native_both_ways(ledger: Mapping[str, tuple[str, str]]) -> int:
    """Operators whose gradient does not leave the device either."""
    return sum(
        case.startswith("op:") and status == "native" and "backward:" not in reason
        for case, (status, reason) in ledger.items()
    )


def _print_totals(ledger: Mapping[str, tuple[str, str]]) -> None:
    for kind, count in totals(ledger).items():
        passing = sum(count[status] for status in PASSING)
        also = f" ({native_both_ways(ledger)} in the gradient too)" if kind == "op" else ""
        print(
            f"{kind}: {passing} of {count.total()} pass, {count['native']} of them without leaving"
            f" the device{also}; {count['xfail']} expected failures"
        )


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.ledger", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--write", action="store_true", help="write ledger.csv")
    parser.add_argument("--only", default="", help="cases whose text contains this")
    parser.add_argument("--totals", action="store_true", help="print the totals and stop")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--samples", type=int, help="first samples of each operator only")
    asked = parser.parse_args(arguments)
    if asked.totals:
        _print_totals(read())
        return 0
    from tests.upstream.cases import applicable
    from tests.upstream.shards import run_all

    cases = [str(case) for case in applicable() if asked.only in str(case)]
    if asked.list:
        print("\n".join(cases))
        return 0
    found = run_all(cases, asked.workers, asked.samples, _progress)
    entries = {case: entry(case, result) for case, result in found.items()}
    if asked.only and not asked.write:
        for case, result in sorted(found.items()):
            print(f"{case}: {result['status']} {result['reason']}")
        return 0
    for case, result in sorted(found.items()):
        if result["status"] not in PASSING:
            print(f"{case}: {result['status']}: {result['reason']}", file=sys.stderr)
    if asked.write:
        kept = read() if asked.only and LEDGER.exists() else {}
        write({**kept, **entries})
        _print_totals(read())
        return 0
    ledger = read()
    lines = disagreements(found, ledger)
    lines += [f"{case}: in the ledger, but not run" for case in sorted(set(ledger) - set(found))]
    print("\n".join(lines) or "the ledger holds")
    _print_totals(ledger)
    return 1 if lines else 0


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty() or done % 100 == 0 or done == total:
        print(f"\r{done} of {total} cases", end="", file=sys.stderr, flush=True)
    if done == total:
        print(file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
