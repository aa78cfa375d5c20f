"""What the verbs print: aligned text away from a terminal, a table that fits on one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from spyrelab.commands.output import print_json, print_line, print_table

ROWS = [("softmax", "1.5"), ("[b]matmul[/b] " + "long " * 30, "20")]


def test_plain_tables_are_aligned_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("kernel", "ms"), ROWS, right=("ms",))
    head, first, second = capsys.readouterr().out.splitlines()
    assert len(head) == len(first) == len(second)
    assert first.startswith("softmax ") and first.endswith(" 1.5")
    assert ROWS[1][0].rstrip() in second


def test_lines_and_documents(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("[b]x", "bold")
    print_json({"a": [1]})
    line, document = capsys.readouterr().out.split("\n", 1)
    assert line == "[b]x" and json.loads(document) == {"a": [1]}
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_a_table_that_fits(no_color: str) -> None:
    code = (
        "from spyrelab.commands.output import print_table\n"
        f"print_table(('kernel', 'ms'), {ROWS!r}, wrap=('kernel',))"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm", "NO_COLOR": no_color}
    subprocess.run([sys.executable, "-c", code], stdout=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "[b]matmul[/b]" in shown
    assert ("\x1b[1m" in shown) or no_color
    assert max(len(line) for line in shown.splitlines()) <= 60 + len("\x1b[1m\x1b[0m") * 6


def test_a_terminal_too_narrow_for_a_table_gets_all_of_it() -> None:
    code = (
        "from spyrelab.commands.output import print_table\n"
        "print_table(('task', 'function', 'file'), [('ch01.1', 'owner_of', 'exercises/x.py')])"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "20", "TERM": "xterm", "NO_COLOR": "1"}
    subprocess.run([sys.executable, "-c", code], stdout=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "ch01.1  owner_of  exercises/x.py" in shown
