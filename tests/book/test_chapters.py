"""Every chapter: in step with its source, runs within its budget, and gives what was committed."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from spyrelab.book import Chapter, Report, chapters, check
from spyrelab.book.notebook import from_source, images, read, same_sources
from spyrelab.book.sync import LIMIT_BYTES

ROOT = Path(__file__).parents[2]
CHAPTERS = [pytest.param(chapter, id=chapter.name) for chapter in chapters()]

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


@cache
def report_on(chapter: Chapter) -> Report:
    return check(chapter)


def code_cells(chapter: Chapter) -> list[str]:
    return [cell.source for cell in from_source(chapter.source).cells if cell.cell_type == "code"]


def test_every_notebook_has_its_source() -> None:
    notebooks = {path.with_suffix(".py").name for path in (ROOT / "book").glob("*.ipynb")}
    assert notebooks == {chapter.source.name for chapter in chapters()}


@each_chapter
def test_the_notebook_is_made_from_the_source(chapter: Chapter) -> None:
    problems = same_sources(from_source(chapter.source), read(chapter.notebook))
    assert problems == [], f"run: spyrelab book sync {chapter.name}"


@each_chapter
def test_running_it_gives_what_was_committed(chapter: Chapter) -> None:
    report = report_on(chapter)
    assert report.problems == (), f"run: spyrelab book sync {chapter.name}"
    assert report.seconds > 0


@each_chapter
def test_it_begins_with_imports_alone(chapter: Chapter) -> None:
    first = ast.parse(code_cells(chapter)[0])
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in first.body)
    assert len(first.body) == 2


@each_chapter
def test_it_never_looks_at_the_solutions(chapter: Chapter) -> None:
    for cell in code_cells(chapter):
        assert "solutions" not in cell


@each_chapter
def test_its_pictures_can_be_heard_and_are_at_least_three(chapter: Chapter) -> None:
    found = images(read(chapter.notebook))
    assert len(found) >= 3
    assert [number for number, text in found if len(text) < 40] == []


@each_chapter
def test_it_is_small_enough_to_look_at(chapter: Chapter) -> None:
    assert chapter.notebook.stat().st_size <= LIMIT_BYTES


@each_chapter
def test_every_exercise_has_its_place(chapter: Chapter) -> None:
    asked = re.findall(
        rf'spyrelab\.check\("({chapter.name}\.\d+)"\)', "\n".join(code_cells(chapter))
    )
    stubs = next((ROOT / "exercises").glob(f"{chapter.name}_*.py")).read_text(encoding="utf-8")
    set_there = re.findall(rf"\b{chapter.name}\.\d+\b", stubs)
    assert sorted(asked) == sorted(set(set_there))
    prose = chapter.source.read_text(encoding="utf-8")
    for number in range(1, len(asked) + 1):
        assert f"**Exercise {number}**" in prose


@each_chapter
def test_an_answer_is_graded_where_the_reader_is(chapter: Chapter) -> None:
    tagged = [
        cell
        for cell in from_source(chapter.source).cells
        if cell.cell_type == "code" and "spyrelab.check(" in cell.source
    ]
    assert all(cell.metadata.get("tags") == ["exercise"] for cell in tagged)
