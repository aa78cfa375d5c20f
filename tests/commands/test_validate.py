"""``spyrelab validate`` on files that are not as they should be: one line, exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spyrelab import cli, kernels
from spyrelab.kernels import KernelError
from spyrelab.machine import SPYRE
from spyrelab.timing.measurements import read_measurements
from spyrelab.timing.plausible import TOO_FAST, TOO_SLOW, least_microseconds, require_microseconds

FILE = Path(__file__).parents[2] / "book" / "data" / "spyre_measurements.csv"
HEADER = (
    "id,kind,op,b,m,n,k,rows,cols,split_b,split_m,split_n,split_k,k_partners,cores,"
    "lx_backend_fraction,value_us,source"
)
GOOD = "A-1,profiled,matmul,1,512,4096,4096,,,1,4,8,1,,32,0.2,317.36,here"
OTHER = "A-2,profiled,matmul,1,512,1024,4096,,,1,4,8,1,,32,0.2,89.39,here"


@pytest.fixture
def file(tmp_path):
    """Write lines, give the path."""
    path = tmp_path / "rows.csv"

    def write(*lines):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def refused(path, capsys):
    """The one line of complaint."""
    assert cli.main(["validate", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert shown.err.startswith("spyrelab: ")
    return shown.err


@pytest.mark.parametrize("column", HEADER.split(",")[:-1])
def test_a_missing_column_is_named(column, file, capsys):
    header = ",".join("x" if name == column else name for name in HEADER.split(","))
    assert f"lacks the columns {column}\n" in refused(file(header, GOOD), capsys)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("89.39", "-89.39", "value_us = -89.39 is not between 0 and"),
        ("89.39", "0", "value_us = 0 is not between"),
        ("89.39", "89 us", "value_us = '89 us' is no number"),
        ("89.39", "", "value_us = '' is no number"),
        ("89.39", "nan", "value_us = 'nan' is no number"),
        ("89.39", "inf", "value_us = 'inf' is no number"),
        ("89.39", "1e12", "value_us = 1e+12 is not between"),
        ("89.39", "0.08939", "is no time in microseconds: the card cannot do it below"),
        ("matmul", "conv2d", "unknown operation 'conv2d'; known: matmul, bmm"),
        ("matmul", "", "unknown operation ''"),
        ("profiled", "wall", "unknown kind of clock 'wall'; known: profiled"),
        (",512,", ",-512,", "m = '-512' is no whole number from 1 up"),
        (",512,", ",51.2,", "m = '51.2' is no whole number"),
        (",512,", ",0,", "m = '0' is no whole number"),
        (",512,", ",5\u00b2,", "m = '5\u00b2' is no whole number"),
        (",512,", f",1{'0' * 5000},", "is too large"),
        (",512,", ",,", "matmul needs b, m, n, k"),
        (",1,4,8,1,", ",1,four,8,1,", "split_m = 'four' is no whole number"),
        (",32,0.2", ",32,20", "lx_backend_fraction = 20 is no share"),
        (",32,0.2", ",32,-0.2", "lx_backend_fraction = -0.2 is no share"),
        (",32,0.2", ",32,much", "lx_backend_fraction = 'much' is no number"),
        (",32,0.2", ",0,0.2", "cores = '0' is no whole number"),
        (",,32", ",somewhere,32", "unknown k_partners 'somewhere'; known: '', 'adjacent'"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_row(old, new, said, file, capsys):
    error = refused(file(HEADER, GOOD, OTHER.replace(old, new, 1)), capsys)
    assert "row 3 (A-2): " in error and said in error


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("A-2,profiled,matmul,1,512", "row 3 (A-2) has 5 fields; the header has 18"),
        (f"{OTHER},more,still more", "row 3 (A-2) has 20 fields; the header has 18"),
        (OTHER.removeprefix("A-2"), "row 3 (without id): there is no id"),
        (OTHER.replace("A-2", "A-1"), "row 3: the id 'A-1' appears twice (row 2)"),
    ],
)
def test_rows_that_are_not_whole(line, said, file, capsys):
    assert said in refused(file(HEADER, GOOD, line), capsys)


def test_files_that_are_no_measurements(file, tmp_path, capsys):
    assert "rows.csv has no rows" in refused(file(HEADER), capsys)
    assert "lacks the columns id, kind" in refused(file("some", "text"), capsys)
    assert "has the column op more than once" in refused(file(f"{HEADER},op", GOOD), capsys)
    empty, binary, nuls = (tmp_path / name for name in ("empty.csv", "binary.csv", "nuls.csv"))
    empty.write_bytes(b"")
    assert "empty.csv is empty" in refused(empty, capsys)
    binary.write_bytes(bytes(range(256)) * 64)
    assert "binary.csv is not a text file (UTF-8)" in refused(binary, capsys)
    nuls.write_bytes(bytes(4096))
    assert "nuls.csv" in refused(nuls, capsys)
    long = file(HEADER, GOOD.replace("here", "x" * 200_000))
    assert "rows.csv is not a CSV file: field larger" in refused(long, capsys)
    assert "Is a directory" in refused(tmp_path, capsys)
    assert "No such file" in refused(tmp_path / "nowhere.csv", capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json", "nowhere/out.json"], "no such folder"),
        (["--plot", "nowhere/p.png"], "no such folder"),
        (["--plot", "p.xyz"], "a picture's name ends in"),
        (["--model", "roofline", "--leave-one-shape-out"], "no fitted constants"),
        (["--model", "guess"], "invalid choice"),
    ],
)
def test_options_that_cannot_be_served(words, said, file, capsys):
    assert cli.main(["validate", str(file(HEADER, GOOD)), *words]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""


# ---- units -------------------------------------------------------------------------------


def scaled(factor):
    return [
        line.replace(value, str(float(value) * factor))
        for line, value in ((GOOD, "317.36"), (OTHER, "89.39"))
    ]


def test_a_file_in_milliseconds_or_nanoseconds_is_refused(file, capsys):
    assert "row 2 (A-1)" in (error := refused(file(HEADER, *scaled(1e-3)), capsys))
    assert "is it in ms?" in error
    assert "row 2 (A-1)" in (error := refused(file(HEADER, *scaled(1e3)), capsys))
    assert "is it in ns?" in error


def test_one_row_that_hung_is_not_a_unit_mistake(file):
    hung = OTHER.replace("89.39", "3000000")
    require_microseconds(read_measurements(file(HEADER, GOOD, hung)))


def test_published_times_are_far_from_both_limits():
    rows = read_measurements(FILE)
    require_microseconds(rows)
    ratios = [row.measured_us / least_microseconds(row) for row in rows if row.kind == "profiled"]
    assert min(ratios) > 10 * TOO_FAST and max(ratios) < TOO_SLOW / 10


def test_the_bound_of_a_row_is_that_of_its_cores(file):
    alone = GOOD.replace("A-1", "A-2").replace("1,4,8,1,,32", "1,1,1,1,,1")
    one, all_cores = read_measurements(file(HEADER, alone, GOOD))
    assert least_microseconds(one) == pytest.approx(32 * least_microseconds(all_cores))
    peak = SPYRE.peak_flops("f16")
    assert least_microseconds(all_cores) == pytest.approx(2e6 * 512 * 4096 * 4096 / peak)


# ---- rows that cannot be predicted -------------------------------------------------------


def test_rows_that_are_not_predicted_are_listed_and_counted(file, tmp_path, capsys, monkeypatch):
    def too_wide(*_, **__):
        raise KernelError("a row does not fit the scratchpad")

    monkeypatch.setattr(kernels, "softmax", too_wide)
    lines = [
        GOOD,
        OTHER.replace("1,4,8,1,,32", "1,4,4,1,,32"),
        OTHER.replace("A-2", "A-3").replace("1,4,8,1,,32", ",,,,,32"),
        OTHER.replace("A-2", "A-4").replace("1,4,8,1,,32", "1,8,8,1,,64"),
        OTHER.replace("A-2", "A-5").replace("1,4,8,1,,32", "32,1,1,1,,32"),
        "A-6,profiled,softmax,,,,,64,8000000,,,,,,32,,20000,here",
    ]
    out = tmp_path / "out.json"
    assert cli.main(["validate", str(file(HEADER, *lines)), "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "not predicted: 5 rows" in shown
    for said in (
        "A-2: the split (1, 4, 4, 1) makes 16 parts for 32 cores",
        "A-3: the split is not known",
        "A-4: 64 cores; the card has 32",
        "A-5: b = 1 cannot be cut into 32 parts",
        "A-6: a row does not fit the scratchpad",
    ):
        assert said in shown
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["predicted"], document["not_predicted"]) == (1, 5)
    reasons = {row["id"]: row["reason"] for row in document["rows"]}
    assert list(reasons) == ["A-1", "A-2", "A-3", "A-4", "A-5", "A-6"]
    assert reasons["A-1"] is None and all(reasons[f"A-{i}"] for i in range(2, 7))


def test_a_file_without_a_predictable_row_is_a_failure(file, tmp_path, capsys):
    lines = [OTHER.replace("1,4,8,1,,32", cut) for cut in ("1,4,4,1,,32", "1,8,8,1,,64")]
    path = file(HEADER, lines[0], lines[1].replace("A-2", "A-3"))
    out, picture = tmp_path / "out.json", tmp_path / "p.png"
    words = ["validate", str(path), "--json", str(out), "--plot", str(picture), "--rows"]
    assert cli.main(words) == 1
    shown = capsys.readouterr()
    assert shown.err == f"spyrelab: {path}: no row can be predicted\n"
    assert shown.out.count("not predicted: 2 rows\n") == 1 and "clock" not in shown.out
    assert [shown.out.count(f"  {name}: ") for name in ("A-2", "A-3")] == [1, 1]
    assert json.loads(out.read_text(encoding="utf-8"))["not_predicted"] == 2
    assert not picture.exists()


def test_one_row_is_no_rows(file, capsys):
    bad = OTHER.replace("1,4,8,1,,32", "1,4,4,1,,32")
    assert cli.main(["validate", str(file(HEADER, GOOD, bad))]) == 0
    assert "not predicted: 1 row\n" in capsys.readouterr().out


def test_blanks_and_a_byte_order_mark_do_no_harm(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    text = f"\ufeff{HEADER}\r\n\r\n{GOOD.replace(',', ' , ')}\r\n"
    path.write_text(text, encoding="utf-8", newline="")
    assert cli.main(["validate", str(path)]) == 0
    assert "not predicted: 0 rows" in capsys.readouterr().out
