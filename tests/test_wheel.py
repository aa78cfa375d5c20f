"""What is installed without the checkout: whole, and able to bench."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, in a folder of its own."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "site")
    return place / "site"


def test_it_has_every_file_of_the_package(installed: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "spyrelab"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("no git checkout")
    missing = [name for name in listed.stdout.split() if not (installed / name).is_file()]
    assert missing == []
    others = {path.name for path in installed.iterdir()} - {"spyrelab"}
    assert all(name.endswith(".dist-info") for name in others)


def test_it_works_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    def spyre(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "spyrelab", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(installed)},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # Nothing that would compile the emulator for another place, which takes a minute.
    chapters = json.loads(spyre("bench", "--list", "--json"))["chapters"]
    assert len(chapters) == 7 and all(chapter["cases"] for chapter in chapters)
    assert json.loads(spyre("estimate", "softmax-512x1024", "--json"))["cycles"] > 0
    assert json.loads(spyre("info", "clock_hz", "--json"))["machine"]
    code = "import spyrelab.attention.tuned as t; print(len(t.winners()) > 0, t.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    where = [sys.executable, "-c", code]
    found = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, env=environment)
    exists, place = found.stdout.split()
    assert exists == "True" and Path(place).is_relative_to(installed)
