"""What counts as an exercise that nobody has touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyrelab.grade import Status, grade
from spyrelab.grade.stubs import untouched

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('    """Do it."""\n    raise NotImplementedError("ch01.1")\n', True),
        ('    raise NotImplementedError("ch01.1")\n', True),
        ('    raise NotImplementedError("ch01.2")\n', False),
        ('    x = 1\n    raise NotImplementedError("ch01.1")\n', False),
        ("    return 1\n", False),
        ("    raise\n", False),
        ('    """Do it."""\n', False),
    ],
)
def test_a_stub_only_raises(tmp_path: Path, body: str, expected: bool) -> None:
    path = tmp_path / "ch01_machine.py"
    path.write_text(f"def owner_of(element):\n{body}")
    assert untouched(path, "ch01.1", "owner_of") is expected


def test_what_cannot_be_read_is_not_judged_here(tmp_path: Path) -> None:
    path = tmp_path / "ch01_machine.py"
    assert not untouched(path, "ch01.1", "owner_of")
    path.write_text("def owner_of(:\n")
    assert not untouched(path, "ch01.1", "owner_of")


@pytest.mark.parametrize(
    "extra",
    [
        "def owner_of(element):\n    return 1\n",
        "from solutions import owner_of\n",
        "owner_of = 3\n",
        "1 / 0\n",
        "import nothing_like_it\n",
        "from . import something\n",
    ],
)
def test_a_file_that_does_more_has_to_be_run(tmp_path: Path, extra: str) -> None:
    path = tmp_path / "ch01_machine.py"
    stub = (
        'import numpy as np\nLANES = 64\n\ndef owner_of(n):\n    raise NotImplementedError("t")\n'
    )
    path.write_text(stub)
    assert untouched(path, "t", "owner_of")
    path.write_text(stub + extra)
    assert not untouched(path, "t", "owner_of")


def test_started_and_untouched_tasks_stay_in_order(tmp_path: Path) -> None:
    text = (ROOT / "exercises" / "ch03_device.py").read_text()
    text = text.replace('raise NotImplementedError("ch03.1")', "return 0")
    (tmp_path / "ch03_device.py").write_text(text)
    results = grade("ch03", str(tmp_path))
    assert [result.name for result in results] == [f"ch03.{n}" for n in range(1, 8)]
    assert results[0].status is Status.WRONG
    assert {result.status for result in results[1:]} == {Status.NOT_STARTED}
