"""The grader itself: what pristine, perfect, cheating, hanging and crashing answers get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import spyrelab
from spyrelab import cli
from spyrelab import grade as package
from spyrelab.grade import Status, grade
from spyrelab.grade import expect as expectations
from spyrelab.grade.judge import fixtures, judge
from spyrelab.grade.notebook import check
from spyrelab.grade.session import select
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import graded_tests
from spyrelab.grade.tree import GradeError, load_module
from spyrelab.ktir import F16, Builder, DenseElements, Operation, TensorType, Value

ROOT = Path(__file__).parents[2]
EXERCISES = ROOT / "exercises" / "ch01_machine.py"
SOLUTIONS = load_module(ROOT / "solutions" / "ch01_machine.py")


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRELAB_EXERCISES", str(ROOT / "exercises"))


def answers(folder: Path, text: str) -> str:
    """A file of answers: the exercises, with functions added at the end."""
    path = folder / "ch01_mine.py"
    path.write_text(EXERCISES.read_text(encoding="utf-8") + textwrap.dedent(text), "utf-8")
    return str(path)


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code = cli.main(["grade", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


# ---- the two ends ------------------------------------------------------------------------


def test_pristine_exercises_score_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded("ch01", capsys=capsys)
    assert code == 1
    assert report["score"] == 0
    assert len(report["tests"]) == 8
    assert {test["status"] for test in report["tests"]} == {"not started"}


def test_solutions_score_everything(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    code, report = graded("ch01", "--impl", "solutions", "--junit", str(junit), capsys=capsys)
    assert code == 0, report
    assert report["score"] == report["max_score"] == sum(t["max_score"] for t in report["tests"])
    keys = {"name", "score", "max_score", "status", "output"}
    assert all(keys <= set(test) for test in report["tests"])
    suite = ElementTree.parse(junit).find("testsuite")
    assert suite is not None
    assert int(suite.get("tests", 0)) == len(suite.findall("testcase")) == report["max_score"]
    assert suite.get("failures") == suite.get("errors") == suite.get("skipped") == "0"


def test_solutions_pass_for_other_seeds() -> None:
    for seed in (1, 2, 3):
        results = grade("ch01", "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


def test_budgets_follow_from_the_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget is what the model answer needs, with at most half as much again."""
    seen: list[tuple[str, float]] = []

    def note(value: int, budget: int, what: str) -> None:
        seen.append((what, value / budget))
        expectations.expect_at_most(value, budget, what)

    monkeypatch.setattr(package, "expect_at_most", note)
    subject = Subject.of_file(ROOT / "solutions" / "ch01_machine.py")
    given = load_module(ROOT / "exercises" / "given_ch01.py")
    for test in graded_tests(sorted((ROOT / "exercises").glob("test_ch01*.py"))):
        assert judge(test, subject, given, 0).status is Status.PASSED
    assert len(seen) > 10
    assert all(2 / 3 <= ratio <= 1 for _, ratio in seen), seen


# ---- cheats ------------------------------------------------------------------------------


def cheat(task: str, function: Any) -> tuple[str, str]:
    result = check(task, function).result
    assert result.score == 0
    return str(result.status), result.output


def test_a_result_instead_of_a_program_is_no_answer() -> None:
    def computes_with_torch(rows: int, cols: int) -> Any:
        return torch.softmax(torch.zeros(rows, cols), 1)

    def computes_with_numpy(rows: int, cols: int) -> Any:
        return np.zeros((rows, cols), np.float16)

    def returns_nothing(rows: int, cols: int) -> None:
        return None

    assert "torch" in cheat("ch01.5", computes_with_torch)[1]
    status, output = cheat("ch01.5", computes_with_numpy)
    assert (status, "expected a KTIR module" in output) == ("wrong", True)
    assert "NoneType" in cheat("ch01.5", returns_nothing)[1]


def test_torch_behind_a_proper_program_is_caught() -> None:
    def softmax(rows: int, cols: int) -> Any:
        torch.softmax(torch.zeros(rows, cols), 1)
        return SOLUTIONS.softmax(rows, cols)

    status, output = cheat("ch01.5", softmax)
    assert status == "wrong"
    assert "torch" in output


def test_the_library_kernel_is_no_answer() -> None:
    def softmax(rows: int, cols: int) -> Any:
        return spyrelab.kernels.softmax(rows, cols)

    assert "spyrelab.kernels" in cheat("ch01.5", softmax)[1]


def test_a_program_that_knows_the_result_by_heart_is_caught_by_its_counters() -> None:
    """It even foresees the inputs, whose seed follows from its source."""

    def remembers(rows: int, cols: int) -> Any:
        b = Builder("softmax", grid=(1,))
        _, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
        wide = rng.standard_normal((rows, cols)).astype(np.float16) * np.float16(2)
        powers = np.exp(wide.astype(np.float64) - wide.max(axis=1, keepdims=True))
        result = powers / powers.sum(axis=1, keepdims=True)
        kind = TensorType((rows, cols), F16)
        dense = DenseElements(kind, tuple(result.astype(np.float16).ravel().tolist()))
        value = Value("result", kind)
        b.block.region.operations.append(
            Operation("arith.constant", (), (value,), {"value": dense})
        )
        b.store(b.tensor(value), out[0, 0])
        return b.build()

    test, *_ = select(graded_tests([ROOT / "exercises" / "test_ch01_kernels.py"]), "ch01.5")
    rng = fixtures(test, Subject.of_function(remembers), None, 0)["rng"]
    rng.integers(2, 6)  # the number of columns, which the test draws first
    status, output = cheat("ch01.5", remembers)
    assert status == "wrong"
    assert "bytes read from DDR: 0, but the work needs at least" in output


def test_the_model_answers_cannot_be_called(tmp_path: Path) -> None:
    text = """
        import sys
        sys.path.insert(0, {root!r})
        from solutions import ch01_machine as other
        owner_of = other.owner_of
        """
    path = answers(tmp_path, text.format(root=str(ROOT)))
    (result,) = grade("ch01", path, task="ch01.1")
    assert result.status is Status.WRONG
    assert "model answers" in result.output


# ---- hanging and crashing ----------------------------------------------------------------


def test_endless_loops_are_stopped(tmp_path: Path) -> None:
    path = answers(
        tmp_path,
        """
        def owner_of(index, n, itemsize):
            while True:
                try:
                    pass
                except Exception:
                    pass

        def axpy(n, alpha):
            b = Builder("axpy", grid=(1,))
            x, y, out = (b.view(p, sizes=(n,), dtype=F16) for p in b.pointers("x", "y", "out"))
            with b.loop(0, 10**15):
                b.store(b.load(x[0], shape=(1,)), out[0])
            return b.build()
        """,
    )
    seen = []
    results = grade("ch01", path, seconds=1, on_result=seen.append)
    status = {result.name: result.status for result in results}
    assert status["ch01.1"] is status["ch01.2"] is Status.TIMED_OUT
    assert status["ch01.3"] is Status.NOT_STARTED, "the rest is graded all the same"
    assert "does not end" in results[0].output
    assert len(seen) == sum(len(result.tests) for result in results)


def test_check_stops_an_endless_function() -> None:
    def forever(index: int, n: int, itemsize: int) -> None:
        while True:
            pass

    test = graded_tests([ROOT / "exercises" / "test_ch01.py"])[0]
    result = judge(replace(test, seconds=0.2), Subject.of_function(forever), None, 0)
    assert result.status is Status.TIMED_OUT


def test_crashes_show_the_line(tmp_path: Path) -> None:
    path = answers(
        tmp_path,
        """
        def owner_of(index, n, itemsize):
            print("got", index)
            return index // (n - n)

        def axpy(n, alpha):
            import os
            os._exit(3)

        def predict_traffic(rows, cols):
            raise SystemExit(0)

        def repair_centre(text):
            raise NotImplementedError("later")
        """,
    )
    owner, axpy, traffic, centre, *rest = grade("ch01", path)
    assert {r.status for r in (owner, axpy, traffic, centre)} == {Status.CRASHED}
    assert "ZeroDivisionError" in owner.output
    assert "return index // (n - n)" in owner.output
    assert "got 0" in owner.output
    assert "exit code 3" in axpy.output
    assert {r.status for r in rest} == {Status.NOT_STARTED}


@pytest.mark.parametrize("text", ["def f(:\n", "import nothing_like_it\n", "1 / 0\n"])
def test_a_file_that_does_not_load_crashes_every_task(tmp_path: Path, text: str) -> None:
    path = answers(tmp_path, text)
    results = grade("ch01", path)
    assert {result.status for result in results} == {Status.CRASHED}
    assert text.strip() in results[0].output


def test_a_missing_function_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ch01_mine.py"
    path.write_text("", encoding="utf-8")
    results = grade("ch01", str(path))
    assert {result.status for result in results} == {Status.CRASHED}
    assert "no function 'owner_of'" in results[0].output


# ---- what the reader sees ----------------------------------------------------------------

WRONG_OWNER = """
def owner_of(index, n, itemsize):
    return 0, index // 64, index % 64
"""


def test_hints_come_in_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = answers(tmp_path, WRONG_OWNER)
    hints = graded_tests([ROOT / "exercises" / "test_ch01.py"])[0].hints
    assert len(hints) == 2
    texts = []
    for count in ("0", "1", "2"):
        assert cli.main(["grade", "ch01.1", "--impl", path, "--hint", count]) == 1
        texts.append(capsys.readouterr().out)
    assert [[hint in text for hint in hints] for text in texts] == [
        [False, False],
        [True, False],
        [True, True],
    ]
    assert "\x1b" not in texts[2], "plain where it is no terminal"
    assert "score 0/3" in texts[2]


def test_a_difference_says_where_it_lies() -> None:
    def late(n: int, alpha: float) -> Any:
        share = n // 32
        b = Builder("axpy", grid=(32,))
        x, y, out = (b.view(p, sizes=(n,), dtype=F16) for p in b.pointers("x", "y", "out"))
        first = b.compute_tile_id() * share
        tiles = [b.load(view[first], shape=(share - 1,)) for view in (x, y)]
        b.store(tiles[0] * alpha + tiles[1], out[first])
        return b.build()

    found = np.arange(300)
    with pytest.raises(expectations.WrongError) as caught:
        expectations.expect_close(found, found + (found == 290))
    message = str(caught.value)
    assert "shape (300,)" in message
    assert "first at [290]: expected 291, got 290" in message
    assert "stick 18, lane 2" in message
    assert check("ch01.2", late).result.status is Status.WRONG


def test_check_reads_the_edited_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "exercises"
    folder.mkdir()
    for name in ("ch01_machine.py", "test_ch01.py", "test_ch01_kernels.py", "given_ch01.py"):
        text = (ROOT / "exercises" / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.delenv("SPYRELAB_EXERCISES")
    monkeypatch.chdir(tmp_path)
    first = spyrelab.check("ch01.1")
    assert first.result.status is Status.NOT_STARTED
    with (folder / "ch01_machine.py").open("a", encoding="utf-8") as file:
        file.write(WRONG_OWNER)
    second = spyrelab.check("ch01.1")
    assert second.result.status is Status.WRONG
    assert "hint:" in repr(second)
    html = second._repr_html_()
    assert "wrong" in html and "<script" not in html and len(html) < 2000
    assert spyrelab.check("ch01.1", SOLUTIONS.owner_of).passed


def test_inputs_change_with_the_answers_and_only_with_them() -> None:
    test = graded_tests([ROOT / "exercises" / "test_ch01.py"])[0]

    def drawn(function: Any) -> int:
        return int(fixtures(test, Subject.of_function(function), None, 0)["rng"].integers(1 << 40))

    assert drawn(lambda n: 1) == drawn(lambda n: 1)
    assert drawn(lambda n: 1) != drawn(lambda n: 2)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["ch99"], "ch01"),
        (["ch01.99"], "ch01.8"),
        (["ch01", "--impl", "nowhere"], "nowhere"),
        (["ch01", "--hint", "-1"], "--hint"),
        (["ch01", "--junit", "nowhere/there.xml"], "nowhere"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["grade", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert word in captured.err


def test_a_missing_exercises_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRELAB_EXERCISES", "nowhere")
    with pytest.raises(GradeError, match="SPYRELAB_EXERCISES=nowhere"):
        grade("ch01")


# ---- plain pytest ------------------------------------------------------------------------


def run_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "exercises", "-q", "-p", "no:cacheprovider"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, env=environment
    )


def test_pytest_runs_the_same_tests(tmp_path: Path) -> None:
    pristine = run_pytest()
    assert pristine.returncode == 0, pristine.stdout
    count = len(graded_tests(sorted((ROOT / "exercises").glob("test_ch*.py"))))
    assert f"{count} skipped" in pristine.stdout
    assert f"score 0/{count}" in pristine.stdout
    perfect = run_pytest("--impl", "solutions")
    assert perfect.returncode == 0
    assert f"score {count}/{count}" in perfect.stdout
    wrong = run_pytest("--impl", answers(tmp_path, WRONG_OWNER), "-k", "owner")
    assert wrong.returncode == 1
    assert "hint: A stick is 128 bytes" in wrong.stdout


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    path = answers(
        tmp_path,
        """
        def owner_of(*_):
            print("x" * 1_000_000)
    """,
    )
    test = next(t for t in graded_tests([ROOT / "exercises" / "test_ch01.py"]) if "owner" in t.name)
    assert len(judge(test, Subject.of_file(Path(path)), None, 0).output) < 2000


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_time_limits_are_numbers(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["grade", "ch01", f"--seconds={value}"]) == 2
    assert "numbers from 0 up" in capsys.readouterr().err
