"""``spyrelab exercises``: list and reset."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from spyrelab import cli

ROOT = Path(__file__).parents[2]


@pytest.fixture
def exercises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the exercises that is what ``SPYRELAB_EXERCISES`` names."""
    folder = tmp_path / "exercises"
    shutil.copytree(ROOT / "exercises", folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("SPYRELAB_EXERCISES", str(folder))
    return folder


def test_list_names_every_task(exercises: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["exercises", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["exercises"]
    counts = {"ch01": 8, "ch02": 7, "ch03": 7, "ch04": 7, "ch05": 7, "ch06": 7, "ch07": 8}
    tasks = [f"{name}.{i + 1}" for name, count in counts.items() for i in range(count)]
    assert [row["task"] for row in rows] == tasks
    assert cli.main(["exercises"]) == 0
    assert "axpy" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["ch04"], ["list", "ch04"], ["--json", "ch04"], ["4", "--json"]])
def test_list_of_one_chapter(
    exercises: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert cli.main(["exercises", *words]) == 0
    text = capsys.readouterr().out
    assert "ch04.7" in text and "ch03" not in text


def test_a_word_that_is_no_chapter(exercises: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["exercises", "rset"]) == 2
    assert "no action 'rset'; did you mean reset?" in capsys.readouterr().err


def test_reset_keeps_what_was_written(exercises: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = exercises / "ch01_machine.py"
    pristine = file.read_bytes()
    identity = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "start"]):
        subprocess.run(["git", *command], cwd=exercises, check=True)
    file.write_text("mine = 1\n", encoding="utf-8")
    assert cli.main(["exercises", "reset", "ch01"]) == 0
    assert file.read_bytes() == pristine
    assert (exercises / "ch01_machine.py.1").read_text(encoding="utf-8") == "mine = 1\n"
    assert "kept as ch01_machine.py.1" in capsys.readouterr().out


def test_reset_without_history_is_one_line(
    exercises: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["exercises", "reset", "ch01"]) == 2
    assert "no earlier version" in capsys.readouterr().err
    assert cli.main(["exercises", "reset"]) == 2


def test_a_mistyped_action_is_named(exercises: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["exercises", "rest", "ch01"]) == 2
    assert "did you mean reset?" in capsys.readouterr().err
