"""A bench as one self-contained page: tables, pictures, and how far predictions can be trusted."""

from __future__ import annotations

import base64
import tempfile
from html import escape
from importlib.resources import as_file, files
from pathlib import Path

from spyrelab.bench.plot import draw_results
from spyrelab.bench.published import FILE
from spyrelab.bench.registry import all_chapters
from spyrelab.bench.results import Results
from spyrelab.bench.table import html_table, make_table

__all__ = ["PAGE", "ROWS", "page", "write_report"]

PAGE, ROWS = "index.html", "results.json"
"""Files of a report's folder; from the second one an interrupted bench goes on."""

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 10px; text-align: left; white-space: nowrap; }
th { border-bottom: 1px solid; }
td.n, th.n { text-align: right; }
tr:nth-child(even) td { background: #8881; }
img { background: white; max-width: 100%; }
.bad { color: #d55e00; font-weight: bold; }
nav a { margin-right: 1rem; }
"""


def write_report(results: Results, folder: str | Path) -> Path:
    """Write the page; returns its path."""
    path = Path(folder) / PAGE
    path.write_text(page(results), encoding="utf-8")
    return path


def page(results: Results) -> str:
    """HTML that needs no other file and no network."""
    names = list(dict.fromkeys(row.chapter for row in results.rows))
    titles = {name: chapter.title for name, chapter in all_chapters().items()}
    wrong = sum(not row.correct for row in results.rows)
    verdict = f"{wrong} rows are wrong." if wrong else "Every result was checked and is right."
    links = "".join(f'<a href="#{name}">{name}</a>' for name in names)
    interrupted = results.environment.get("interrupted")
    left_out = results.environment.get("left_out")
    omitted = f" {left_out} cases are left out by --quick." if left_out else ""
    parts = [
        f"<p{' class=bad' if wrong else ''}>{len(results.rows)} rows of {len(names)} chapters."
        f" {verdict}{' The bench was interrupted.' if interrupted else ''}{escape(omitted)}</p>",
        f"<nav>{links}<a href='#validation'>validation</a><a href='#environment'>environment</a>"
        "</nav>",
    ]
    for name in names:
        parts.append(_chapter(name, titles.get(name, ""), results))
    parts.append(_validation())
    environment = [(key, str(value)) for key, value in results.environment.items()]
    parts.append(_section("environment", "Environment", html_table(("what", "value"), environment)))
    body = "\n".join(parts)
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><title>SpyreLab bench</title>"
        f"<style>{STYLE}</style></head><body><h1>SpyreLab bench</h1>\n{body}\n</body></html>\n"
    )


def _chapter(name: str, title: str, results: Results) -> str:
    # How many cases are left out is known of all chapters together only: the page says it once.
    shared = {k: v for k, v in results.environment.items() if k != "left_out"}
    mine = Results(shared, [row for row in results.rows if row.chapter == name])
    table = make_table(mine)
    picture = ""
    if any(row.host_s or "bound_share" in row.extra for row in mine.rows):
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "picture.png"
            draw_results(mine, file)
            picture = _image(file, f"The rows of {name} as a picture; the table has the numbers.")
    remarks = "".join(f"<p>{escape(remark)}</p>" for remark in table.remarks)
    shown = html_table(table.columns, table.rows, table.right)
    return _section(
        name, f"{name}: {title}", f"<p>{escape(table.title)}</p>{shown}{remarks}{picture}"
    )


def _validation() -> str:
    """How far predictions are from the published times that ship with SpyreLab."""
    from spyrelab.timing.measurements import read_measurements
    from spyrelab.timing.validation import predict, summarize
    from spyrelab.viz.validation import save_scatter

    with as_file(files("spyrelab.bench").joinpath(FILE)) as path:
        predictions = predict(read_measurements(path), "schedule", False)
    report = summarize(predictions)
    rows = [(kind, str(n), f"{error:.3f}") for kind, (n, error) in report.errors.items()]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "scatter.png"
        save_scatter(predictions, str(file), "schedule")
        picture = _image(file, "Predicted over measured times of matrix products.")
    regrets = report.regrets()
    text = (
        "<p>Predictions against published profiled times of matrix products; 0.1 is about 10 %."
        f" Of {len(regrets)} shapes with five splits or more, the split that is predicted best is"
        f" at worst {regrets[-1]:.2f} times slower than the one measured best.</p>"
    )
    columns = ("clock", "rows", "median |ln(predicted / measured)|")
    table = html_table(columns, rows, columns[1:])
    return _section("validation", "How far to trust predictions", text + table + picture)


def _section(name: str, title: str, body: str) -> str:
    return f"<section id='{escape(name)}'><h2>{escape(title)}</h2>{body}</section>"


def _image(file: Path, alt: str) -> str:
    data = base64.b64encode(file.read_bytes()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">'
