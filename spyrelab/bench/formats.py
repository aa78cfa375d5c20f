"""Results as Markdown, CSV or JSON text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, fields

from spyrelab.bench.results import Results, Row
from spyrelab.bench.table import make_table

__all__ = ["FORMATS", "SUFFIXES", "to_csv", "to_json", "to_markdown"]

FORMATS = ("table", "md", "csv", "json")
SUFFIXES = {".txt": "table", ".md": "md", ".csv": "csv", ".json": "json"}
"""Format of a file whose format is not given."""


def to_json(results: Results) -> str:
    """The document of schema 1."""
    return json.dumps(results.to_json(), indent=2, allow_nan=False) + "\n"


def to_csv(results: Results) -> str:
    """One line per row; ``extra`` is JSON, absent numbers are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([item.name for item in fields(Row)])
    for row in results.rows:
        values = asdict(row)
        values["extra"] = json.dumps(values["extra"])
        writer.writerow("" if value is None else value for value in values.values())
    return text.getvalue()


def to_markdown(results: Results) -> str:
    """The table, to paste into a page."""
    table = make_table(results)
    rule = ["---:" if name in table.right else "---" for name in table.columns]
    lines = [f"| {' | '.join(cells)} |" for cells in (table.columns, rule, *table.rows)]
    remarks = "".join(f"\n{remark}\n" for remark in table.remarks)
    return f"{table.title}\n\n" + "\n".join(lines) + "\n" + remarks
