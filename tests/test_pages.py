"""What pages for readers say of the tree is true: files exist, commands are commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from spyrelab import cli

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "book" / "site" / "pages").glob("*.md")),
]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

FOLDERS = "spyrelab/|tests/|book/|exercises/|solutions/|.ci/"


@each_page
def test_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(rf"`((?:{FOLDERS})[\w./*-]*)`", text))
    missing = [
        name for name in named if not name.count("NN") and not list(ROOT.glob(name.strip("/")))
    ]
    assert missing == []


@each_page
def test_named_commands_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"`(spyrelab [^`]+)`", text)
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        lines += re.findall(r"^(?:.*&& )?(spyrelab .+)$", block, re.MULTILINE)
    for line in lines:
        words = shlex.split(line.partition("#")[0].partition(">")[0])
        assert len(words) == 1 or words[1] in (*cli.VERBS, "--help"), line


def test_the_week_covers_every_list_of_private_names() -> None:
    text = (ROOT / "book/site/pages/your_accelerator.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "spyrelab").glob("*/internals.py")}
    assert packages and all(f"`spyrelab/{name}/" in text for name in packages)


def test_each_door_of_the_week_is_used_by_the_files_of_its_row() -> None:
    text = (ROOT / "book/site/pages/your_accelerator.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) > 30
    for copy, _, door, trust in rows:
        words = re.findall(r"`([^`]+)`", copy + door)
        found = [path for word in words if "/" in word for path in _sources(ROOT / word)]
        code = "".join(path.read_text(encoding="utf-8") for path in found)
        names = [name for word in re.findall(r"`([^`/]+)`", door) for name in _names(word)]
        wanted = [name for name in names if name not in code]
        assert found and wanted == [], f"{copy}: {wanted}"
        levels = set(trust.replace(" ", "").split(","))
        assert levels <= {"public", "semi-public", "private", ""}, trust


def _sources(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _names(code: str) -> list[str]:
    """Identifiers, without the modules that they are found in."""
    return re.findall(r"[A-Za-z_]\w+(?![\w.])", code)
