"""``spyrelab bench`` from the command line."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest

from spyrelab import cli
from tests.bench.conftest import tiny  # noqa: F401

FIELDS = {
    "chapter", "case", "impl", "correct", "cycles", "device_us", "ddr_bytes", "lx_peak",
    "utilization", "host_s", "baseline", "host_ratio", "device_ratio", "extra",
}  # fmt: skip


def bench(*arguments):
    return cli.main(["bench", "--threads", "1", *map(str, arguments)])


def test_a_bench_prints_one_table(tiny, capsys):  # noqa: F811
    tiny("torch", "vm", "reference")
    assert bench("ch01") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Host time of one launch on 1 CPU thread")
    assert "vector_add-70" in shown.out and "x in geometric mean over 2 cases" in shown.out
    assert "\x1b" not in shown.out
    assert shown.err.splitlines() == ["[1/2] ch01 vector_add-70", "[2/2] ch01 vector_add-130"]


def test_every_output_comes_from_one_run(tiny, capsys, tmp_path):  # noqa: F811
    tiny("torch", "vm")
    table, page, data, picture = (tmp_path / f"r.{end}" for end in ("txt", "md", "json", "png"))
    code = bench("--format", "csv", "--format", "table", "-o", table, "-o", page, "-o", data,
                 "--plot", picture)  # fmt: skip
    assert code == 0
    document = json.loads(data.read_text())
    assert document["schema"] == 1 and len(document["rows"]) == 4
    assert set(document["rows"][0]) == FIELDS
    assert document["environment"]["threads"] == 1
    assert capsys.readouterr().out.startswith("chapter,case,impl")
    assert "geometric" not in table.read_text() and "vector_add-70" in table.read_text()
    assert page.read_text().count("\n| ") >= 5
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize("order", [["--format", "json", "-o"], ["-o"]])
def test_a_file_alone_leaves_the_table_on_the_screen(order, tiny, capsys, tmp_path):  # noqa: F811
    tiny("torch")
    path = tmp_path / "r.json"
    assert bench(*order, path) == 0
    assert json.loads(path.read_text())["schema"] == 1
    assert capsys.readouterr().out.startswith("Host time")


def test_the_format_may_follow_its_file(tiny, capsys, tmp_path):  # noqa: F811
    tiny("torch")
    assert bench("-o", tmp_path / "r.json", "--format", "json") == 0
    assert capsys.readouterr().out.startswith("Host time")


def test_json_on_standard_output(tiny, capsys):  # noqa: F811
    tiny("torch", "vm")
    assert bench("--json", "--impl", "vm", "--case", "130") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["case"], row["impl"], row["baseline"]) == ("vector_add-130", "vm", "vm")
    assert row["host_ratio"] == 1.0 and row["ddr_bytes"] == 200 and row["lx_peak"] == 256


def test_a_wrong_kernel_prints_wrong_and_fails(tiny, capsys):  # noqa: F811
    tiny("torch", "wrong")
    assert bench() == 1
    shown = capsys.readouterr().out
    assert shown.count("WRONG") == 2
    assert "Not correct, so not timed: vector_add-70 wrong, vector_add-130 wrong." in shown


def test_keep_going_shows_what_failed(tiny, capsys):  # noqa: F811
    tiny("torch", "broken")
    assert bench() == 2
    assert bench("--keep-going") == 1
    assert "vector_add-70 broken: SpyreLabError: no such kernel" in capsys.readouterr().out


def test_an_interrupted_bench_writes_what_it_has(tiny, capsys, tmp_path):  # noqa: F811
    tiny("torch", "interrupted")
    path = tmp_path / "r.json"
    assert bench("--format", "table", "--format", "json", "-o", path) == 130
    document = json.loads(path.read_text())
    assert [row["case"] for row in document["rows"]] == ["vector_add-70"] * 2
    assert document["environment"]["interrupted"] is True
    shown = capsys.readouterr()
    assert "vector_add-70" in shown.out and "vector_add-130" not in shown.out
    assert shown.err.endswith("spyrelab: interrupted\n")


def test_a_trace_is_written_beside_the_table(tiny, capsys, tmp_path):  # noqa: F811
    tiny("torch", "vm")
    path = tmp_path / "t.json"
    assert bench("--trace", path) == 0
    about = json.loads(path.read_text())["otherData"]
    assert list(about) == ["vector_add-70", "vector_add-130"]
    assert f"{about['vector_add-70']['cycles']:,}" in capsys.readouterr().out


def test_list(tiny, capsys):  # noqa: F811
    assert bench("--list") == 0
    shown = capsys.readouterr().out
    assert "implementations, baseline first: torch, vm, reference" in shown
    for part in ("softmax-4096x1024", "layer_norm-1151x8192", "matmul-64x2048x8192"):
        assert part in shown
    assert bench("--list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["chapters"][0]["chapter"] == "ch01"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ch77"], "no chapter 'ch77'"),
        (["--impl", "cuda"], "no implementation 'cuda'; there is torch, vm, reference"),
        (["--impl", "vm", "--baseline", "torch"], "the baseline 'torch' is not run"),
        (["--case", "sotfmax"], "no case matches 'sotfmax'; did you mean softmax"),
        (["ch01", "--impl", "torch", "--trace", "t.json"], "torch runs no program"),
        (["--trace", "nowhere/t.json"], "no such folder"),
        (["--fail-above", "1%"], "belongs to"),
        (["--repeats", "3"], "at least 7"),
        (["-o", "r.xlsx"], "r.xlsx: give a --format before -o"),
        (["-o", "nowhere/r.json"], "no such folder"),
        (["-o", ".", "--format", "csv"], "give a --format before -o"),
        (["--format", "csv", "-o", "."], ". is a folder"),
        (["--plot", "nowhere/r.png"], "no such folder"),
        (["--plot", "r.xyz"], "r.xyz: a picture's name ends in .png"),
        (["--plot", "r"], "r: a picture's name ends in .png"),
        (["--format", "xml"], "invalid choice"),
        (["compare", "a.json"], "two files"),
        (["compare", "no.json", "no.json"], "no.json: No such file"),
        (["compare", "a", "b", "c"], "two files"),
    ],
)
def test_bad_input_is_one_line(arguments, said, capsys):
    assert bench(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and said in shown.err and shown.err.count("\n") == 1


def test_threads_below_one_are_refused(capsys):
    assert cli.main(["bench", "--threads", "0"]) == 2
    assert "0 threads" in capsys.readouterr().err


@pytest.fixture
def pair(tiny, tmp_path):  # noqa: F811
    """Two equal results."""
    tiny("vm")
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    assert bench("-o", paths[0]) == 0
    paths[1].write_text(paths[0].read_text())
    return paths


def worsen(path, factor):
    document = json.loads(path.read_text())
    document["rows"][0]["ddr_bytes"] = int(document["rows"][0]["ddr_bytes"] * factor)
    path.write_text(json.dumps(document))


def test_compare_equal(pair, capsys):
    capsys.readouterr()
    assert bench("compare", *pair) == 0
    assert capsys.readouterr().out == "2 rows compared, 0 regressions.\n"


@pytest.mark.parametrize(("allowed", "code"), [([], 1), (["--fail-above", "4%"], 1),
                                               (["--fail-above", "10%"], 0)])  # fmt: skip
def test_compare_worse(allowed, code, pair, capsys):
    worsen(pair[1], 1.05)
    capsys.readouterr()
    assert bench("compare", *pair, *allowed) == code
    shown = capsys.readouterr().out
    assert "ddr_bytes" in shown and "+5.0%" in shown
    assert ("REGRESSION" in shown) is bool(code)
    assert bench("compare", *pair, *allowed, "--json") == code
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["old"], change["new"]) == (200, 210)


@pytest.mark.parametrize("text", ["-1%", "lots", "nan", "inf%"])
def test_compare_takes_a_percentage(text, pair, capsys):
    assert bench("compare", *pair, f"--fail-above={text}") == 2
    assert "is not a percentage" in capsys.readouterr().err


def test_a_terminal_sees_a_progress_bar():
    code = (
        "from spyrelab.bench.session import _progress\n"
        "with _progress(2) as announce:\n    announce('one'); announce('two')"
    )
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(ours, 10_000):
            seen += part
    os.close(ours)
    assert child.wait() == 0
    assert b"one" in seen and b"1/2" in seen and b"\x1b" in seen


def test_a_file_that_cannot_be_written_costs_no_table(tiny, capsys):  # noqa: F811
    tiny("torch")
    assert bench("--format", "json", "-o", "/dev/full") == 2
    shown = capsys.readouterr()
    assert shown.out.startswith("Host time")
    assert "not written: /dev/full (No space left on device)" in shown.err


def test_an_absent_package_is_one_line(tiny, capsys, monkeypatch, tmp_path):  # noqa: F811
    tiny("torch")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert bench("--plot", tmp_path / "x.png") == 2
    assert "matplotlib is not installed" in capsys.readouterr().err


def test_a_bench_that_goes_on_says_what_it_kept(tiny, capsys, tmp_path):  # noqa: F811
    tiny("torch")
    rows = str(tmp_path / "rows.json")
    assert bench("--resume", rows) == 0
    assert "(kept)" not in capsys.readouterr().err
    assert bench("--resume", rows) == 0
    assert "(kept)" in capsys.readouterr().err
