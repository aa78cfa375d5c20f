"""Published measurements of matrix products that ``spyrelab bench ch02`` compares with."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

from spyrelab.timing.measurements import read_measurements
from spyrelab.timing.splits import Split

__all__ = ["FILE", "Measured", "measured_splits"]

FILE = "data/matmul_splits.csv"
"""Profiled time on 32 cores, a share of 0.2 for the back end: one row a shape and split."""

Extents = tuple[int, int, int, int]


@dataclass(frozen=True)
class Measured:
    """One published time.

    Attributes
    ----------
    id, source : str
        Which measurement, and where it was published.
    """

    microseconds: float
    id: str
    source: str


@cache
def measured_splits() -> Mapping[Extents, Mapping[Split, Measured]]:
    """Per shape (b, m, n, k) the splits that were measured, in ascending order."""
    found: dict[Extents, dict[Split, Measured]] = {}
    with as_file(files("spyrelab.bench").joinpath(FILE)) as path:
        with path.open(newline="", encoding="utf-8") as stream:
            sources = {entry["id"]: entry["source"] for entry in csv.DictReader(stream)}
        for row in read_measurements(path):
            b, m, n, k = row.extents
            assert row.split is not None
            of_shape = found.setdefault((b, m, n, k), {})
            of_shape[row.split] = Measured(row.measured_us, row.id, sources[row.id])
    return {shape: dict(sorted(splits.items())) for shape, splits in found.items()}
