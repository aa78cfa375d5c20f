"""One result in every form: table, Markdown, CSV, JSON, picture."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from spyrelab.bench.environment import describe_environment
from spyrelab.bench.formats import to_csv, to_json, to_markdown
from spyrelab.bench.plot import draw_results, require_picture
from spyrelab.bench.results import Results, Row, geometric_mean, read_results
from spyrelab.bench.table import format_bytes, format_seconds, make_table
from spyrelab.errors import UsageError
from spyrelab.viz.style import BASELINE, COLOURS, colour

KEYS = [
    "chapter", "case", "impl", "correct", "cycles", "device_us", "ddr_bytes", "lx_peak",
    "utilization", "host_s", "baseline", "host_ratio", "device_ratio", "extra",
]  # fmt: skip


def row(case="softmax-8x8", impl="vm", **values):
    settings = {"correct": True, "baseline": "torch", "extra": {"shape": "8x8", "repeats": 7}}
    return Row("ch01", case, impl, **{**settings, **values})


@pytest.fixture
def results():
    reduced = {"shape": "2x8", "repeats": 7, "reduced_from": "softmax-8x8"}
    fast = {**reduced, "speedup_over_reference": 250.0}
    return Results(
        {"threads": 1, "machine": "abc"},
        [
            row(impl="torch", host_s=2e-3, host_ratio=1.0),
            row(host_s=4e-3, host_ratio=0.5, ddr_bytes=25_200_000, lx_peak=512),
            row("softmax-2x8", "torch", host_s=1e-3, host_ratio=1.0, extra=reduced),
            row("softmax-2x8", "vm", host_s=1e-3, host_ratio=1.0, extra=fast),
            row("softmax-2x8", "reference", host_s=0.25, host_ratio=0.004, extra=reduced),
            row("matmul-4x4", "torch", host_s=1e-6, host_ratio=1.0),
            row("matmul-4x4", correct=False),
        ],
    )


def test_json_has_the_schema(results):
    document = json.loads(to_json(results))
    assert list(document) == ["schema", "environment", "rows"] and document["schema"] == 1
    assert all(list(item) == KEYS for item in document["rows"])
    assert document["rows"][0]["cycles"] is None and document["rows"][0]["ddr_bytes"] is None


def test_json_comes_back(results, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(to_json(results))
    assert read_results(path).rows == results.rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "schema 1"),
        ('{"schema": 2}', "schema 1"),
        ('{"schema": 1, "rows": []}', "environment"),
        ('{"schema": 1, "environment": {}, "rows": [{}]}', "row 0 lacks"),
        (
            '{"schema": 1, "environment": {}, "rows": [{"chapter": "a", "case": "b", "impl": "c",'
            ' "correct": true, "cycles": "many"}]}',
            "cycles = 'many'",
        ),
    ],
)
def test_files_that_are_no_results(text, said, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_results(path)


def test_csv_has_every_row_and_empty_cells(results):
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert len(rows) == len(results.rows) and list(rows[0]) == KEYS
    assert rows[0]["cycles"] == "" and rows[1]["ddr_bytes"] == "25200000"
    assert json.loads(rows[3]["extra"])["reduced_from"] == "softmax-8x8"


def test_the_table_explains_itself_and_folds_reduced_cases(results):
    table = make_table(results)
    assert "best of 7 interleaved repeats" in table.title and "1 CPU thread," in table.title
    assert "above 1x is faster than float32 PyTorch" in table.title
    assert table.columns == [
        "case", "impl", "host time", "vs torch", "vs reference", "DDR traffic", "LX peak",
    ]  # fmt: skip
    assert table.rows == [
        ["softmax-8x8", "torch", "2.00 ms", "1.00x", "", "", ""],
        ["", "vm", "4.00 ms", "0.50x", "250x", "25.2 MB", "512 B"],
        ["", "reference (2x8)", "250 ms", "0.004x", "", "", ""],
        ["matmul-4x4", "torch", "1.00 us", "1.00x", "", "", ""],
        ["", "vm", "WRONG", "", "", "", ""],
    ]
    assert any("250x in geometric mean over 1 cases" in remark for remark in table.remarks)
    assert any("Not correct, so not timed: matmul-4x4 vm" in remark for remark in table.remarks)


def test_predicted_time_shows_where_there_is_any():
    timed = row(cycles=12345, device_us=11.25, device_ratio=2.0, utilization=0.5, host_s=1.0)
    table = make_table(Results({}, [timed]))
    assert {"cycles", "device us", "device vs torch", "utilization"} <= set(table.columns)
    assert {"12,345", "11.25", "2.00x", "50%"} <= set(table.rows[0])


def test_markdown_is_a_table(results):
    lines = [line for line in to_markdown(results).splitlines() if line.startswith("|")]
    assert lines[1].startswith("| --- | --- | ---: |")
    assert len({line.count("|") for line in lines}) == 1 and len(lines) == 2 + 5


def test_an_empty_result_is_still_a_table():
    assert make_table(Results({"threads": 2}, [])).rows == []
    assert "2 CPU threads" in to_markdown(Results({"threads": 2}, []))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(3.2e-6, "3.20 us"), (1.17e-2, "11.7 ms"), (2.5, "2.50 s"), (9.996, "10.0 s")],
)
def test_times(seconds, shown):
    assert format_seconds(seconds) == shown


def test_bytes_and_means():
    assert [format_bytes(n) for n in (0, 999, 1000, 2**31)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "2.15 GB",
    ]
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_a_picture(results, tmp_path):
    path = tmp_path / "p.png"
    draw_results(results, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    draw_results(Results({}, []), path)
    with pytest.raises(UsageError, match="xyz"):
        require_picture(tmp_path / "p.xyz")


def test_the_baseline_is_grey_and_nobody_else():
    assert colour("torch") == colour("vm", "vm") == BASELINE
    assert colour("vm", "torch") == COLOURS["vm"]
    assert BASELINE not in {colour("torch", "vm"), colour("something new", "torch")}
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_the_environment_says_where(monkeypatch):
    here = describe_environment(3)
    assert here["threads"] == 3
    assert {"python", "numpy", "numba", "torch", "spyrelab", "machine", "cpu", "git"} <= set(here)
    json.dumps(here)
    assert replace(row(), impl="x").key == ("ch01", "softmax-8x8", "x")
