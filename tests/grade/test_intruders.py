"""Answers that reach for the grader: its channel, its standard error, the comparison itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spyrelab import cli
from spyrelab.grade.expect import WrongError, expect_equal

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRELAB_EXERCISES", str(ROOT / "exercises"))


def run(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """``spyrelab grade ch01.1`` on a file whose ``owner_of`` has this body."""
    file = folder / "ch01_mine.py"
    head = "import json, os, signal, time\n\n\ndef owner_of(index, n, itemsize):\n"
    file.write_text(head + textwrap.indent(textwrap.dedent(body), "    "), encoding="utf-8")
    command = [sys.executable, "-m", "spyrelab", "grade", "ch01.1", "--impl", str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


EVENT = """
for fd in range(3, 12):
    try:
        os.write(fd, LINE * 40)
    except OSError:
        pass
"""


def verdict(done: subprocess.CompletedProcess[str]) -> tuple[str, float]:
    (task,) = json.loads(done.stdout)["tests"]
    return task["status"], task["score"]


def test_a_result_that_an_answer_writes_is_none(tmp_path: Path) -> None:
    event = {"event": "result", "test": "x", "status": "passed", "output": "", "timeline": ""}
    line = f"LINE = {(json.dumps(event) + chr(10)).encode()!r}\n"
    done = run(tmp_path, line + EVENT + "os.kill(os.getpid(), signal.SIGKILL)", "--json")
    assert verdict(done) == ("crashed", 0)


def test_noise_in_the_channel_harms_nobody(tmp_path: Path) -> None:
    right = "return (0, 0, 0)"
    done = run(tmp_path, "LINE = b'no json\\n[1]\\n\\xff\\n'\n" + EVENT + right, "--json")
    assert verdict(done)[0] == "wrong"
    assert not done.stderr


def test_a_pause_that_an_answer_writes_stops_no_clock(tmp_path: Path) -> None:
    body = f"""LINE = b'{{"event": "pause"}}\\n'
{EVENT}
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""
    done = run(tmp_path, body, "--json", "--seconds", "1")
    assert verdict(done) == ("timed out", 0)


def test_what_is_printed_past_python_is_cut(tmp_path: Path) -> None:
    body = "while True:\n    os.write(2, b'spam ' * 1000)"
    done = run(tmp_path, body, "--json", "--seconds", "1")
    assert verdict(done) == ("timed out", 0)
    assert 1000 < len(done.stderr) < 20_000
    assert "left out" in done.stderr


@pytest.mark.parametrize("base", ["Exception", "BaseException"])
def test_an_exception_whose_message_raises_is_a_crash(tmp_path: Path, base: str) -> None:
    body = f"""
    class Odd({base}):
        def __str__(self):
            raise ValueError("no message")
    raise Odd()
    """
    done = run(tmp_path, body)
    assert "crashed" in done.stdout
    assert "its message raised ValueError" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_an_interrupt_that_an_answer_raises_is_a_crash(tmp_path: Path) -> None:
    done = run(tmp_path, "raise KeyboardInterrupt")
    assert "the answer raised KeyboardInterrupt" in done.stdout
    assert not done.stderr


def test_answers_do_not_decide_what_they_equal() -> None:
    class Always(tuple[int, ...]):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = tuple.__hash__

    Always.__module__ = "_graded_ch01_mine"
    for value, wanted in ((Always((0,)), (1,)), ([Always((0,))], [(1,)]), ({1: Always()}, {1: 2})):
        with pytest.raises(WrongError, match="plain Python values"):
            expect_equal(value, wanted, "answer")


def test_data_classes_of_an_answer_are_compared() -> None:
    @dataclass
    class Pair:
        first: int

    Pair.__module__ = "_graded_ch01_mine"
    expect_equal(Pair(1), Pair(1), "answer")
    with pytest.raises(WrongError, match="expected"):
        expect_equal(Pair(1), Pair(2), "answer")


def test_an_interrupted_grade_shows_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from spyrelab.grade import session

    whole = session.grade

    def stop_at_the_second(chapter: str, *rest: Any) -> Any:
        if chapter == "ch02":
            raise KeyboardInterrupt
        return whole(chapter, *rest)

    monkeypatch.setattr(session, "grade", stop_at_the_second)
    assert cli.main(["grade", "ch01.1", "ch02", "--impl", "solutions"]) == 130
    shown = capsys.readouterr()
    assert "score 3/3" in shown.out
    assert "then interrupted" in shown.out
    assert shown.err == "spyrelab: interrupted\n"


def test_a_junit_file_is_looked_at_before_grading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["grade", "ch01.1", "--junit", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert "is a folder" in shown.err


def test_a_package_that_the_grader_lacks_is_no_fault_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "exercises"
    shutil.copytree(ROOT / "exercises", folder)
    (folder / "given_ch01.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.setenv("SPYRELAB_EXERCISES", str(folder))
    answers = str(ROOT / "solutions" / "ch01_machine.py")
    assert cli.main(["grade", "ch01.1", "--impl", answers]) == 2
    assert "given_ch01.py needs no_such_package, which is not installed" in capsys.readouterr().err
