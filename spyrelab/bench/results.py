"""What a bench gives: rows and the environment they were measured in, and their JSON form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from spyrelab.errors import UsageError

__all__ = ["SCHEMA", "Results", "Row", "geometric_mean", "read_results"]

SCHEMA = 1


@dataclass(frozen=True)
class Row:
    """One implementation of one case; numbers that do not exist are None.

    Attributes
    ----------
    correct : bool
        The result agreed with the specification; a wrong row has no numbers.
    cycles, device_us, utilization : number, optional
        Predicted time of the card, and busiest unit over total cycles.
    ddr_bytes, lx_peak : int, optional
        Bytes to and from main memory, and the largest scratchpad use of a core, in bytes.
    host_s : float, optional
        Shortest time of one launch on this computer, in seconds.
    baseline : str, optional
        The implementation that the ratios refer to; above 1 is faster than it.
    extra : dict
        Shapes, tile sizes, repeats, median, tolerance, and remarks.
    """

    chapter: str
    case: str
    impl: str
    correct: bool
    cycles: int | None = None
    device_us: float | None = None
    ddr_bytes: int | None = None
    lx_peak: int | None = None
    utilization: float | None = None
    host_s: float | None = None
    baseline: str | None = None
    host_ratio: float | None = None
    device_ratio: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the row in another run."""
        return self.chapter, self.case, self.impl

    @property
    def status(self) -> str:
        """``ok``, ``WRONG``, or ``ERROR`` for one that raised."""
        if self.correct:
            return "ok"
        return "ERROR" if "error" in self.extra else "WRONG"


@dataclass
class Results:
    """Rows in the order of measurement."""

    environment: dict[str, Any]
    rows: list[Row] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The document of schema 1."""
        rows = [asdict(row) for row in self.rows]
        return {"schema": SCHEMA, "environment": self.environment, "rows": rows}

    @property
    def correct(self) -> bool:
        """Every row agreed with its specification."""
        return all(row.correct for row in self.rows)


def read_results(path: str | Path) -> Results:
    """Results from a JSON file; UsageError if it is not one of schema 1."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path} is not a bench result of schema {SCHEMA}")
    rows, environment = document.get("rows"), document.get("environment")
    if not isinstance(rows, list) or not isinstance(environment, dict):
        raise UsageError(f"{path} has no list 'rows' or no object 'environment'")
    return Results(environment, [_read_row(path, i, row) for i, row in enumerate(rows)])


def _read_row(path: str | Path, index: int, row: Any) -> Row:
    names = {item.name for item in fields(Row)}
    needed = {"chapter", "case", "impl", "correct"}
    if not isinstance(row, dict) or not needed <= set(row):
        raise UsageError(f"{path}: row {index} lacks one of {', '.join(sorted(needed))}")
    for name in names - needed - {"baseline", "extra"}:
        value = row.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and math.isfinite(value)):
            raise UsageError(f"{path}: row {index}: {name} = {value!r} is no number")
    return Row(**{name: value for name, value in row.items() if name in names})


def geometric_mean(values: list[float]) -> float:
    """The geometric mean of positive numbers; NaN of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan
