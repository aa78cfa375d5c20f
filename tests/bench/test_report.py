"""The page of a bench: whole, self-contained, safe to open, and taken up again."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from spyrelab import cli
from spyrelab.bench.report import PAGE, ROWS, page
from spyrelab.bench.results import Results, Row, read_results


class Page(HTMLParser):
    """What a browser would fetch, and the tables' cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.fetched += [known[name] or "" for name in ("src", "data", "srcset") if name in known]
        if tag == "link":
            self.fetched.append(known.get("href") or "")
        if tag == "a":
            self.links.append(known.get("href") or "")
        if "id" in known:
            self.ids.append(known["id"] or "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bench") / "report"
    command = ["bench", "ch01", "ch04", "--quick", "--case", "vector_add-4096", "--case", "*64*"]
    assert cli.main([*command, "--report", str(place), "--keep-going"]) == 0
    return place


def test_it_needs_nothing_else(folder: Path) -> None:
    text = (folder / PAGE).read_text(encoding="utf-8")
    seen = Page(text)
    assert seen.fetched and all(f.startswith("data:image/png;base64,") for f in seen.fetched)
    assert {"ch01", "validation", "environment"} <= set(seen.ids)
    assert all(link.removeprefix("#") in seen.ids for link in seen.links)
    assert not re.search(r"https?://", text)
    rows = read_results(folder / ROWS).rows
    for row in rows:
        assert row.cycles is None or row.impl == "reference" or f"{row.cycles:,}" in text, row.case


def test_an_interrupted_bench_goes_on(folder: Path, monkeypatch, capsys) -> None:
    from spyrelab.bench import session

    monkeypatch.setattr(session, "run_job", lambda job, *_: pytest.fail(f"{job} again"))
    command = ["bench", "ch01", "ch04", "--quick", "--case", "vector_add-4096", "--case", "*64*"]
    before = json.loads((folder / ROWS).read_text(encoding="utf-8"))["rows"]
    assert cli.main([*command, "--report", str(folder), "--keep-going"]) == 0
    assert json.loads((folder / ROWS).read_text(encoding="utf-8"))["rows"] == before


def test_wrong_rows_and_hostile_names_show_as_such() -> None:
    name = "<script>alert(1)</script>"
    text = page(
        Results({"spyrelab": name}, [Row("ch01", name, "vm", False, extra={"error": name})])
    )
    assert "<script" not in text and "1 rows are wrong." in text and "&lt;script&gt;" in text


def test_cases_left_out_are_counted_once() -> None:
    rows = [Row(name, "matmul", "vm", True) for name in ("ch01", "ch04")]
    assert (
        page(Results({"left_out": 1234}, rows)).partition("<h2>Environment")[0].count("1234") == 1
    )


def test_places_that_cannot_be_written(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["bench", "ch01", "--report", str(tmp_path / "file")]) == 2
    assert "--report" in capsys.readouterr().err
    assert cli.main(["bench", "ch01", "--all"]) == 2
