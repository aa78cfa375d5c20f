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
