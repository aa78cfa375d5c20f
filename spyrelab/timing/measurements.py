"""Published measurements of the card: reading a file, and what a row's product looks like."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spyrelab.machine import SPYRE
from spyrelab.timing.contraction import Contraction
from spyrelab.timing.errors import MeasurementError

__all__ = [
    "CLOCKS",
    "DEFAULT_FRACTION",
    "MATMULS",
    "OPERATIONS",
    "Row",
    "contraction_of",
    "contractions_of",
    "is_coarse",
    "read_measurements",
    "why_not",
]

CLOCKS = ("profiled", "kernel_wall", "host_wall")
MATMULS = ("matmul", "bmm")
OPERATIONS = (*MATMULS, "pointwise_add", "pointwise_scale", "softmax")
PARTNERS = ("", "adjacent", "16 apart")
DEFAULT_FRACTION = 0.2
"""Back-end share of the scratchpad where a row gives none."""

_COLUMNS = (
    *("id", "kind", "op", "b", "m", "n", "k", "rows", "cols", "split_b", "split_m", "split_n"),
    *("split_k", "k_partners", "cores", "lx_backend_fraction", "value_us"),
)
_COUNTED_IN_BYTES = ("pointwise_scale",)
"""Operations whose rows name the bytes of a row and not its elements.  Their source calls
2048 x 2048 "4 MB in, 4 MB out"; as f16 elements it would be 8 MB, streamed at 217 GB/s both
ways, above the memory's nameplate, while sums of the same bytes run at 107."""

_F16_BYTES = 2
_LONGEST_US = 1e8
_MOST_DIGITS = 9


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes
    ----------
    extents : tuple of int
        (b, m, n, k) of a product, (rows, cols) of anything else, in elements of f16.
    split : tuple of int or None
        Parts of (b, m, n, k).
    partners : str
        How cores that share a sum are numbered; empty where the file does not say.
    """

    id: str
    kind: str
    op: str
    extents: tuple[int, ...]
    split: tuple[int, int, int, int] | None
    partners: str
    cores: int
    fraction: float
    measured_us: float
    line: int

    @property
    def is_matmul(self) -> bool:
        return self.op in MATMULS

    @property
    def shape(self) -> tuple[str | int, ...]:
        """What rows of one shape share."""
        return (self.op, *self.extents)


def read_measurements(path: str | Path) -> list[Row]:
    """Rows of a CSV file.

    Raises
    ------
    MeasurementError
        No text, missing columns, or a row that is no measurement; the message gives its line
        and id.
    """
    try:
        # A spreadsheet puts a mark before the first column's name: utf-8-sig drops it.
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            rows = _rows(path, csv.DictReader(stream))
    except UnicodeDecodeError:
        raise MeasurementError(f"{path} is not a text file (UTF-8)") from None
    except csv.Error as error:
        raise MeasurementError(f"{path} is not a CSV file: {error}") from None
    seen: dict[str, int] = {}
    for row in rows:
        if row.id in seen:
            first = seen[row.id]
            raise MeasurementError(f"row {row.line}: the id {row.id!r} appears twice (row {first})")
        seen[row.id] = row.line
    return rows


def _rows(path: str | Path, reader: csv.DictReader[str]) -> list[Row]:
    names = list(reader.fieldnames or ())
    if not names:
        raise MeasurementError(f"{path} is empty")
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise MeasurementError(f"{path} lacks the columns {', '.join(missing)}")
    twice = next((name for name in _COLUMNS if names.count(name) > 1), None)
    if twice:
        raise MeasurementError(f"{path} has the column {twice} more than once")
    rows = [_row(_complete(entry, names, reader.line_num), reader.line_num) for entry in reader]
    if not rows:
        raise MeasurementError(f"{path} has no rows")
    return rows


def _complete(entry: dict[str, Any], names: Sequence[str], line: int) -> dict[str, str]:
    """The fields of a row without the blanks round them, if it has all of them and no more."""
    given = sum(value is not None for name, value in entry.items() if name is not None)
    extra = len(entry.get(None, ()))  # type: ignore[call-overload]
    if extra or any(entry[name] is None for name in _COLUMNS):
        name = entry.get("id") or "without id"
        raise MeasurementError(
            f"row {line} ({name}) has {given + extra} fields; the header has {len(names)}"
        )
    return {name: (value or "").strip() for name, value in entry.items()}


def _row(entry: dict[str, str], line: int) -> Row:
    name = entry["id"] or "without id"

    def fail(problem: str) -> MeasurementError:
        return MeasurementError(f"row {line} ({name}): {problem}")

    def whole(column: str) -> int | None:
        text = entry[column]
        if not text:
            return None
        if not (text.isascii() and text.isdigit()) or not text.strip("0"):
            raise fail(f"{column} = {text!r} is no whole number from 1 up")
        if len(text.lstrip("0")) > _MOST_DIGITS:
            raise fail(f"{column} = {text} is too large")
        return int(text)

    if not entry["id"]:
        raise fail("there is no id")
    if entry["kind"] not in CLOCKS:
        raise fail(f"unknown kind of clock {entry['kind']!r}; known: {', '.join(CLOCKS)}")
    if entry["op"] not in OPERATIONS:
        raise fail(f"unknown operation {entry['op']!r}; known: {', '.join(OPERATIONS)}")
    if entry["k_partners"] not in PARTNERS:
        known = ", ".join(repr(name) for name in PARTNERS)
        raise fail(f"unknown k_partners {entry['k_partners']!r}; known: {known}")
    columns = ("b", "m", "n", "k") if entry["op"] in MATMULS else ("rows", "cols")
    extents = [whole(column) for column in columns]
    if None in extents:
        raise fail(f"{entry['op']} needs {', '.join(columns)}")
    if entry["op"] in _COUNTED_IN_BYTES:
        extents[1] = -(-(extents[1] or 1) // _F16_BYTES)
    parts = [whole(f"split_{axis}") for axis in "bmnk"]
    split = (parts[0] or 1, parts[1] or 1, parts[2] or 1, parts[3] or 1)
    cut = None not in parts
    measured = _number(entry["value_us"], "value_us", fail)
    if not 0 < measured < _LONGEST_US:
        raise fail(f"value_us = {measured:g} is not between 0 and {_LONGEST_US:g} microseconds")
    share = entry["lx_backend_fraction"]
    fraction = _number(share, "lx_backend_fraction", fail) if share else DEFAULT_FRACTION
    if not 0 < fraction <= 1:
        raise fail(f"lx_backend_fraction = {fraction:g} is no share (0 to 1; a unit mistake?)")
    cores = whole("cores") or (math.prod(split) if cut else SPYRE.cores)
    return Row(
        entry["id"],
        entry["kind"],
        entry["op"],
        tuple(int(extent or 1) for extent in extents),
        split if cut else None,
        entry["k_partners"],
        cores,
        fraction,
        measured,
        line,
    )


def _number(text: str, column: str, fail: object) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise fail(f"{column} = {text!r} is no number")  # type: ignore[operator]
    return value


def why_not(row: Row) -> str | None:
    """Why a row cannot be predicted, None if it can."""
    if row.cores > SPYRE.cores:
        return f"{row.cores} cores; the card has {SPYRE.cores}"
    if not row.is_matmul:
        return None
    if row.split is None:
        return "the split is not known"
    if math.prod(row.split) != row.cores:
        return f"the split {row.split} makes {math.prod(row.split)} parts for {row.cores} cores"
    for axis, extent, parts in zip("bmnk", row.extents, row.split, strict=True):
        if parts > extent:
            return f"{axis} = {extent} cannot be cut into {parts} parts"
    return None


def is_coarse(row: Row) -> bool:
    """Whether a value is rounded to a microsecond, so that no fit should see it.

    Every row of the kernel-wall clock is: there only those stay out where a microsecond is
    more than a few per cent, or that clock's offset could not be had at all.
    """
    rounded = row.measured_us == int(row.measured_us)
    return rounded and (row.kind == "profiled" or row.measured_us < 20)


def contractions_of(rows: Sequence[Row]) -> Contraction:
    """The products of many rows at once, f16, one array per field."""

    def column(values: list[float]) -> np.ndarray:
        return np.array(values, float)

    b, m, n, k = (column([row.extents[i] for row in rows]) for i in range(4))
    splits = [row.split or (1, 1, 1, 1) for row in rows]
    bs, ms, ns, ks = (column([split[i] for split in splits]) for i in range(4))
    batch, height, width, depth = (
        np.ceil(extent / parts) for extent, parts in ((b, bs), (m, ms), (n, ns), (k, ks))
    )
    apart = np.array([row.partners == "16 apart" for row in rows])
    cores = bs * ms * ns * ks
    return Contraction(
        batch=batch,
        rows=height,
        columns=width,
        depth=depth,
        left_bytes=2 * b * m * k,
        right_bytes=2 * b * k * n,
        out_bytes=2 * b * m * n,
        core_left_bytes=2 * batch * height * depth,
        core_right_bytes=2 * batch * depth * width,
        left_sharers=ns,
        right_sharers=ms,
        partners=ks,
        distant=apart & (ks > 1) & (cores / ks > 8),
        batched=b > 1,
        cores=cores,
        fraction=column([row.fraction for row in rows]),
    )


def contraction_of(row: Row) -> Contraction:
    """The product of one row, f16."""
    many = contractions_of([row])
    fields = {name: getattr(many, name) for name in many.__dataclass_fields__}
    return Contraction(
        **{n: v[0].item() if isinstance(v, np.ndarray) else v for n, v in fields.items()}
    )
