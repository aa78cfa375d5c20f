"""The totals that chapter 3 prints are those of the op ledger.

``python tests/book/test_ledger_totals.py`` writes them again after the ledger has changed.
"""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "tests" / "upstream" / "ledger.csv"
TOTALS = ROOT / "book" / "data" / "ledger_totals.toml"
STATUSES = ("native", "fallback", "xfail")


def totals() -> dict[str, dict[str, int]]:
    """Cases of each kind by status, as the ledger has them."""
    with LEDGER.open(newline="", encoding="utf-8") as file:
        counts = Counter((row["kind"], row["status"]) for row in csv.DictReader(file))
    sizes = Counter(kind for kind, _ in counts.elements())
    kinds = [kind for kind, _ in sizes.most_common()]
    return {kind: {status: counts[kind, status] for status in STATUSES} for kind in kinds}


def text_of(found: dict[str, dict[str, int]]) -> str:
    lines = ["# Totals of tests/upstream/ledger.csv; see tests/book/test_ledger_totals.py."]
    for kind, count in found.items():
        lines += ["", f"[{kind}]", *(f"{status} = {number}" for status, number in count.items())]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(not LEDGER.is_file(), reason="the op ledger has not been written yet")
def test_the_book_prints_the_totals_of_the_ledger() -> None:
    assert tomllib.loads(TOTALS.read_text(encoding="utf-8")) == totals(), (
        "run 'python tests/book/test_ledger_totals.py', then 'spyrelab book sync ch03'"
    )


def test_the_totals_are_whole() -> None:
    found = tomllib.loads(TOTALS.read_text(encoding="utf-8"))
    for kind, count in found.items():
        assert set(count) == set(STATUSES), kind


if __name__ == "__main__":
    TOTALS.write_text(text_of(totals()), encoding="utf-8")
