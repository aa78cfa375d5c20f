"""The published measurements that chapter 2 compares with: readable, and each with its source."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from spyrelab.timing.measurements import read_measurements

FILE = Path(__file__).parents[2] / "book" / "data" / "spyre_measurements.csv"
CHAPTER = FILE.parents[1] / "ch02_time.py"


def test_the_model_reads_every_row() -> None:
    assert len(read_measurements(FILE)) == 371


def test_every_row_says_where_it_was_read() -> None:
    with FILE.open(newline="", encoding="utf-8") as stream:
        sources = [row["source"] for row in csv.DictReader(stream)]
    assert [
        source for source in sources if not re.match(r"[\w./-]+@[0-9a-f]{7,}:\S+", source)
    ] == []


@pytest.mark.parametrize(
    ("name", "microseconds"), [("GS-072", 317.36), ("GS-071", 547.71), ("GS-069", 802.74)]
)
def test_measured_times_in_the_text_are_those_of_the_file(name: str, microseconds: float) -> None:
    rows = {row.id: row for row in read_measurements(FILE)}
    assert rows[name].measured_us == microseconds
    assert str(microseconds) in CHAPTER.read_text(encoding="utf-8")
