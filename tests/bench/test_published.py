"""The times that travel with the library are those of the book's measurement file."""

from __future__ import annotations

import csv
import math
from importlib.resources import files
from pathlib import Path

from spyrelab.bench.published import FILE, measured_splits

BOOK = Path(__file__).parents[2] / "book" / "data" / "spyre_measurements.csv"


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def chosen(entry: dict[str, str]) -> bool:
    """Profiled products, whole cards, one batch entry, the share of 0.2, every split known."""
    split = [entry[f"split_{axis}"] for axis in "bmnk"]
    return (
        (entry["kind"], entry["op"], entry["b"]) == ("profiled", "matmul", "1")
        and entry["lx_backend_fraction"] == "0.2"
        and all(split)
        and math.prod(map(int, split)) == 32
    )


def test_every_line_is_one_of_the_book() -> None:
    mine, book = lines(Path(str(files("spyrelab.bench").joinpath(FILE)))), lines(BOOK)
    assert mine[0] == book[0]
    assert [line for line in mine if line not in book] == []
    assert len(set(mine)) == len(mine) == 58


def test_no_split_of_a_shape_is_left_out() -> None:
    """A split measured twice counts once, and only shapes of many splits are there."""
    with BOOK.open(newline="", encoding="utf-8") as stream:
        entries = [entry for entry in csv.DictReader(stream) if chosen(entry)]
    found: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for entry in entries:
        extents = tuple(int(entry[axis]) for axis in "bmnk")
        split = tuple(int(entry[f"split_{axis}"]) for axis in "bmnk")
        found.setdefault(extents, set()).add(split)
    for extents, splits in measured_splits().items():
        assert set(splits) == found[extents]
