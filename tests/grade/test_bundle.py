"""Bundles for students: complete, without answers, gradable alone; and edited tests are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spyrelab import cli
from spyrelab.errors import UsageError
from spyrelab.grade.bundle import export
from spyrelab.grade.handed_out import MANIFEST, PRISTINE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("class") / "bundle"
    export(place)
    return place


def spyre(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("SPYRELAB_EXERCISES", "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, "-m", "spyrelab", *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        env=kept,
    )


def graded(place: Path, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(spyre(place, "grade", *arguments, "--json").stdout)
    return document


def test_it_has_everything_but_answers(bundle: Path) -> None:
    names = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    for folder in ("exercises", "book"):
        wanted = "*.py" if folder == "exercises" else "*.ipynb"
        theirs = {f"{folder}/{path.name}" for path in (ROOT / folder).glob(wanted)}
        assert theirs <= names, theirs - names
    assert not [name for name in names if "solution" in name or "wrong" in name]
    text = "".join(p.read_text() for p in (bundle / "exercises").glob("ch*.py"))
    assert text.count("raise NotImplementedError") > 40
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    assert (
        "book/ch01_machine.ipynb" in readme
        and f"{len(list(bundle.glob('book/*.ipynb')))} ch" in readme
    )


def test_it_is_graded_alone(bundle: Path, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    export(place)
    assert graded(place, "ch01.1")["score"] == 0
    mine = place / "exercises" / "ch01_machine.py"
    mine.write_bytes((ROOT / "solutions" / "ch01_machine.py").read_bytes())
    report = graded(place, "ch01.1")
    assert report["score"] == report["max_score"] > 0 and report["edited"] == []

    tests = place / "exercises" / "test_ch01.py"
    tests.write_text(tests.read_text(encoding="utf-8") + "\n# easier\n", encoding="utf-8")
    assert graded(place, "ch01.1")["edited"] == ["test_ch01.py"]
    assert "Not as handed out: test_ch01.py." in spyre(place, "grade", "ch01.1").stdout
    (place / "exercises" / PRISTINE / MANIFEST).write_text("{", encoding="utf-8")
    assert graded(place, "ch01.1")["edited"] == [f"{PRISTINE}/{MANIFEST}"]

    again = spyre(place, "exercises", "reset", "ch01")
    assert again.returncode == 0 and mine.with_name("ch01_machine.py.1").is_file()
    assert mine.read_bytes() == (bundle / "exercises" / "ch01_machine.py").read_bytes()


def test_folders_that_are_in_use_are_left_alone(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "mine.txt").write_text("work")
    assert cli.main(["exercises", "export", str(tmp_path)]) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(UsageError, match="not an empty folder"):
        export(tmp_path / "mine.txt")
    assert cli.main(["exercises", "export"]) == 2
    assert "needs a folder" in capsys.readouterr().err
    with pytest.raises(UsageError, match="cannot be written"):
        export(Path("/proc/nobody/bundle"))


def test_points_of_several_chapters_are_a_table(capsys: Any) -> None:
    assert cli.main(["grade", "ch01.1", "ch05.1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if line.startswith(("ch01 ", "ch05 "))]
    assert [(row[0], row[1:4], row[4]) for row in rows] == [
        ("ch01", ["0", "of", "1"], "0"),
        ("ch05", ["0", "of", "1"], "0"),
    ]
    assert cli.main(["grade", "--all", "ch01"]) == 2
