"""``spyrelab book lab`` copies what is not there, and touches nothing that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyrelab import cli
from spyrelab.book.chapters import BookError
from spyrelab.book.working_copy import make_working_copy
from spyrelab.grade.handed_out import edited, pristine
from spyrelab.grade.tree import chapter_in

ROOT = Path(__file__).parents[2]


def test_work_is_kept_and_can_be_started_again(tmp_path: Path) -> None:
    first = make_working_copy(tmp_path / "mine")
    mine = first.folder / "exercises" / "ch01_machine.py"
    assert first.added > 40 and first.kept == 0
    assert not list(first.folder.rglob("*solutions*"))

    mine.write_text("mine = 1\n", encoding="utf-8")
    (first.folder / "book" / "data" / "README.md").unlink()
    second = make_working_copy(first.folder)
    assert (second.added, second.kept) == (1, first.added - 1)
    assert mine.read_text(encoding="utf-8") == "mine = 1\n"
    assert pristine(mine) == (ROOT / "exercises" / "ch01_machine.py").read_bytes()

    chapter = chapter_in(mine.parent, "ch01")
    assert edited(chapter) == []
    chapter.tests[0].write_text("", encoding="utf-8")
    assert edited(chapter) == [chapter.tests[0].name]


def test_places_that_will_not_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BookError, match="in the checkout itself"):
        make_working_copy(ROOT / "build" / "copy")
    (tmp_path / "file").write_text("")
    assert cli.main(["book", "lab", "--copy-only", "--dir", str(tmp_path / "file" / "x")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert cli.main(["book", "lab", "ch99", "--copy-only", "--dir", str(tmp_path / "y")]) == 2
    assert "ch99" in capsys.readouterr().err


def test_the_copy_opens_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_working_copy(tmp_path / "copy")
    monkeypatch.chdir(first.folder)
    words = ["book", "lab", "ch02", "--copy-only", "--dir", str(first.folder)]
    assert cli.main(words) == 0
    assert f"0 files added, {first.added} left" in capsys.readouterr().out
