"""Chapter 2 under the grader: what is given, and its own cheats."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from spyrelab.grade import Status, WrongError, check, estimate_program, grade
from spyrelab.grade.tree import load_module
from spyrelab.ktir import F16, Builder

ROOT = Path(__file__).parents[2]
SOLUTIONS = ROOT / "solutions" / "ch02_time.py"
GIVEN = load_module(ROOT / "exercises" / "given_ch02.py")


def test_given_programs_are_slower_than_the_budgets() -> None:
    """The gain that the tasks promise is there."""
    answers = load_module(SOLUTIONS)
    pairs = [
        (GIVEN.activation_in_one_tile(4096, 1024), answers.overlapped(4096, 1024), 1.1),
        (GIVEN.column_sums_by_stick(4096, 2048), answers.column_sums(4096, 2048), 2.0),
    ]
    for slow, fast, gain in pairs:
        assert estimate_program(slow).cycles > gain * estimate_program(fast).cycles


@pytest.mark.parametrize("task", ["ch02.2", "ch02.3", "ch02.4"])
def test_asking_the_model_is_no_answer(task: str) -> None:
    from spyrelab.timing import best_split

    def ask(*sizes: int) -> Any:
        return best_split(1, 512, 4096, 4096).seconds

    result = check(task, ask).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "asks the timing model" in result.output


def test_a_program_fast_because_it_does_nothing_is_wrong() -> None:
    honest = load_module(SOLUTIONS).overlapped

    def idle(rows: int, cols: int) -> Any:
        if rows < 2000:
            return honest(rows, cols)
        b = Builder("idle", grid=(32,))
        for pointer in b.pointers("x", "out"):
            b.view(pointer, sizes=(rows, cols), dtype=F16)
        return b.build()

    result = check("ch02.5", idle).result
    assert result.status is Status.WRONG
    assert result.score < result.max_score


def test_only_a_program_can_be_estimated() -> None:
    with pytest.raises(WrongError, match="expected a KTIR module, got a NoneType"):
        estimate_program(None)  # type: ignore[arg-type]
    with pytest.raises(WrongError, match="does not run"):
        estimate_program("module {")


@pytest.mark.parametrize("module", ["given_ch02", "exercises.given_ch02"])
@pytest.mark.parametrize("inside", [False, True])
def test_answers_may_import_the_rates(
    module: str, inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"from {module} import LAUNCH, READ_RATE, WRITE_RATE"
    path = tmp_path / "ch02_time.py"
    path.write_text(
        f"{'' if inside else line}\n\n\ndef predict_speedup(rows, cols, passes):\n"
        f"    {line if inside else ''}\n"
        "    read, write = (2 * rows * cols / rate for rate in (READ_RATE, WRITE_RATE))\n"
        "    return (LAUNCH + passes * read + write) / (LAUNCH + read + write)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    (result,) = grade("ch02", str(path), "ch02.3")
    assert result.status is Status.PASSED, result


def test_answers_cannot_change_what_tests_are_given(tmp_path: Path) -> None:
    path = tmp_path / "ch02_time.py"
    path.write_text(
        "import given_ch02\n\ngiven_ch02.READ_RATE = given_ch02.WRITE_RATE = 1.0\n\n\n"
        "def overlapped(rows, cols):\n"
        "    return given_ch02.activation_in_one_tile(rows, cols)\n",
        encoding="utf-8",
    )
    (result,) = grade("ch02", str(path), "ch02.5")
    assert result.status is not Status.PASSED


def lines_of(function: ast.FunctionDef) -> int:
    """Lines of code below the docstring."""
    last = function.end_lineno or 0
    return last - (function.body[0].end_lineno or 0)


def test_chapter_exercises_and_answers_agree_on_the_number_of_lines() -> None:
    chapter = (ROOT / "book" / "ch02_time.py").read_text(encoding="utf-8").replace("\n# ", " ")
    stubs = (ROOT / "exercises" / "ch02_time.py").read_text(encoding="utf-8")
    said = re.findall(r"\*\*Exercise \d\*\* \(`(\w+)`.*?(\d+)(?: to \d+)? lines\)", chapter)
    asked = re.findall(r"def (\w+)\(.*?About (\d+) lines", stubs, re.DOTALL)
    assert len(asked) == 7 and said == asked
    answers = {
        node.name: lines_of(node)
        for node in ast.parse(SOLUTIONS.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: int(count) for name, count in asked} == {name: answers[name] for name, _ in asked}


def test_timelines_start_after_the_launch() -> None:
    timeline = GIVEN.timeline_of(GIVEN.centre(4096, 256, 2))
    assert {unit for unit, _, _ in timeline} == {"DDR load", "SFP", "DDR store"}
    assert min(begin for _, begin, _ in timeline) == pytest.approx(GIVEN.LAUNCH * 1e6)
    assert sum(unit == "DDR load" for unit, _, _ in timeline) == 2 * 4096 // (32 * 4)
