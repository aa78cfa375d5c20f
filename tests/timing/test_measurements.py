"""Reading measurement files, judging predictions, fitting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from spyrelab.timing import CONSTANTS, MeasurementError
from spyrelab.timing.contraction import seconds
from spyrelab.timing.fit import START, Sample, fit, leave_one_shape_out, main, render
from spyrelab.timing.measurements import contraction_of, contractions_of, read_measurements, why_not
from spyrelab.timing.validation import Prediction, spearman, summarize

HEADER = (
    "id,kind,op,b,m,n,k,rows,cols,split_b,split_m,split_n,split_k,k_partners,cores,"
    "lx_backend_fraction,value_us,source,note\n"
)
GOOD = "A-1,profiled,matmul,1,512,4096,4096,,,1,4,8,1,,32,0.2,317.36,us,\n"


def write(path: Path, *rows: str) -> Path:
    file = path / "rows.csv"
    file.write_text(HEADER + "".join(rows), encoding="utf-8")
    return file


def test_a_row_is_read(tmp_path: Path) -> None:
    (row,) = read_measurements(write(tmp_path, GOOD))
    assert (row.extents, row.split, row.cores) == ((1, 512, 4096, 4096), (1, 4, 8, 1), 32)
    assert why_not(row) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("317.36", "0"), "row 2 .A-1.: value_us = 0"),
        (("317.36", "fast"), "value_us = 'fast' is no number"),
        (("317.36", "3e12"), "value_us = 3e.12 is not between"),
        (("matmul", "conv"), "unknown operation 'conv'"),
        (("profiled", "wall"), "unknown kind of clock 'wall'"),
        (("0.2", "20"), "lx_backend_fraction = 20 is no share"),
        ((",512,", ",-512,"), "m = '-512' is no whole number"),
        ((",512,", ",,"), "matmul needs b, m, n, k"),
        ((",,32", ",somewhere,32"), "unknown k_partners"),
    ],
)
def test_mistakes_name_the_row(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(MeasurementError, match=message):
        read_measurements(write(tmp_path, GOOD.replace(*change, 1)))


def test_missing_columns_are_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id,kind\nA,profiled\n", encoding="utf-8")
    with pytest.raises(MeasurementError, match="lacks the columns op, b"):
        read_measurements(file)


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="appears twice"):
        read_measurements(write(tmp_path, GOOD, GOOD))


def test_rows_that_cannot_be_predicted_say_why(tmp_path: Path) -> None:
    short = GOOD.replace("1,4,8,1,,32", "1,4,4,1,,32")
    blank = GOOD.replace("A-1", "A-2").replace("1,4,8,1,,32", ",,,,,32")
    rows = read_measurements(write(tmp_path, short, blank))
    assert "16 parts for 32 cores" in (why_not(rows[0]) or "")
    assert "not known" in (why_not(rows[1]) or "")


def test_many_products_at_once_are_the_single_ones(tmp_path: Path) -> None:
    bmm = "A-2,profiled,bmm,32,512,128,512,,,4,4,2,1,,32,0.8,198,us,\n"
    far = "A-3,kernel_wall,matmul,1,128,4096,4096,,,1,1,16,2,16 apart,32,,621,us,\n"
    rows = read_measurements(write(tmp_path, GOOD, bmm, far))
    together = seconds(contractions_of(rows))
    alone = [float(seconds(contraction_of(row))) for row in rows]
    assert together.tolist() == pytest.approx(alone, rel=1e-12)


def test_rank_and_regret(tmp_path: Path) -> None:
    lines = [
        GOOD.replace("A-1", f"A-{i}").replace("317.36", str(us))
        for i, us in enumerate((100, 200, 300, 400, 500))
    ]
    rows = read_measurements(write(tmp_path, *lines))
    guesses = (110.0, 100.0, 320.0, 390.0, None)
    report = summarize([Prediction(r, g, "because") for r, g in zip(rows, guesses, strict=True)])
    (group,) = report.groups
    assert group.count == 4
    assert group.regret == 2.0
    assert group.spearman == pytest.approx(0.8)
    assert [p.reason for p in report.missing] == ["because"]
    assert report.errors["profiled"][0] == 4


def test_spearman_shares_ranks() -> None:
    assert spearman(np.array([1.0, 1.0, 2.0]), np.array([3.0, 3.0, 4.0])) == pytest.approx(1.0)


def test_a_fit_finds_what_made_the_rows(tmp_path: Path) -> None:
    """Times made by known constants are fitted to a per cent, held-out shapes as well."""
    truth = CONSTANTS.replace(pt_efficiency=0.7, core_load_bytes_per_second=40e9)
    lines = []
    for number, n in enumerate((1024, 2048, 4096, 8192)):
        for m, parts in ((4, 8), (8, 4), (32, 1), (1, 32)):
            name = f"T-{number}-{m}"
            lines.append(f"{name},profiled,matmul,1,512,{n},4096,,,1,{m},{parts},1,,32,0.2,1,us,\n")
    rows = read_measurements(write(tmp_path, *lines))
    times = np.atleast_1d(seconds(contractions_of(rows), constants=truth)) * 1e6
    lines = [
        line.replace(",0.2,1,", f",0.2,{us:.4f},") for line, us in zip(lines, times, strict=True)
    ]
    rows = read_measurements(write(tmp_path, *lines))
    sample = Sample.of(rows)
    found = np.atleast_1d(seconds(contractions_of(rows), constants=fit(sample, START))) * 1e6
    assert np.abs(np.log(found / times)).max() < 0.03
    assert set(leave_one_shape_out(sample, START)) == {row.id for row in rows}


def test_the_fit_script_writes_constants(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    import tomllib

    target = tmp_path / "constants.toml"
    lines = [GOOD, GOOD.replace("A-1", "A-2").replace("4096,4096", "1024,4096")]
    assert main([str(write(tmp_path, *lines)), "-o", str(target)]) == 0
    written = tomllib.loads(target.read_text(encoding="utf-8"))
    assert set(written) == set(CONSTANTS.__dataclass_fields__)
    assert all(entry["reason"] and entry["rows"] for entry in written.values())
    assert "leaving one shape out" in capsys.readouterr().out
    assert render(CONSTANTS, Sample(())) == render(CONSTANTS, Sample(()))


def test_validate_writes_every_row(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    import argparse

    from spyrelab.commands import validate

    bad = GOOD.replace("A-1", "A-2").replace("1,4,8,1,,32", "1,4,4,1,,32")
    host = GOOD.replace("A-1", "A-3").replace("profiled", "host_wall").replace("317.36", "3400")
    add = "A-4,profiled,pointwise_add,,,,,512,4096,,,,,,32,,117,us,\n"
    soft = "A-5,profiled,softmax,,,,,512,4096,,,,,,32,,117,us,\n"
    file = write(tmp_path, GOOD, bad, host, add, soft)
    parser = argparse.ArgumentParser()
    validate.register(parser.add_subparsers())
    out, picture = tmp_path / "out.json", tmp_path / "plot.png"
    args = parser.parse_args(
        ["validate", str(file), "--json", str(out), "--plot", str(picture), "--rows"]
    )
    assert args.run(args) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    by_id = {row["id"]: row for row in document["rows"]}
    assert list(by_id) == ["A-1", "A-2", "A-3", "A-4", "A-5"]
    assert by_id["A-2"]["predicted_us"] is None
    assert by_id["A-1"]["measured_us"] == 317.36
    assert by_id["A-3"]["predicted_us"] > 3000
    assert picture.stat().st_size > 1000
    assert "A-2: the split" in capsys.readouterr().out
