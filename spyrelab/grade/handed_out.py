"""What was handed out, and whether it is still as it came: exercises to begin with, and tests."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

from spyrelab import __version__
from spyrelab.errors import UsageError
from spyrelab.grade.tree import Chapter

__all__ = ["MANIFEST", "PRISTINE", "edited", "fingerprint", "keep_pristine", "pristine"]

PRISTINE = ".pristine"
"""Folder beside exercises that were exported: the files that learners edit, as they came."""

MANIFEST = "manifest.json"
"""In that folder: fingerprints of the files that they do not edit."""

_FIXED, _LEARNERS = ("test_ch", "given_ch"), r"ch\d\d_\w+\.py$"
"""Beginnings of names of files that nobody edits, and names of those that learners do."""


def fingerprint(content: bytes) -> str:
    """Of a file, whatever its line endings."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def pristine(path: Path) -> bytes:
    """A file of the exercises as it came: out of an exported bundle, or out of git.

    Raises
    ------
    UsageError
        Neither knows it.
    """
    kept = path.parent / PRISTINE / path.name
    if kept.is_file():
        return kept.read_bytes()
    command = ["git", "show", f"HEAD:./{path.name}"]
    try:
        return subprocess.run(command, cwd=path.parent, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise UsageError(f"{path.name}: git has no earlier version of it here") from None


def keep_pristine(source: Path) -> dict[str, bytes]:
    """What a copy of a folder of exercises needs to know how it came, by path inside the copy.

    Raises
    ------
    UsageError
        How a file of the folder came is not known.
    """
    every = sorted(source.glob("*.py"))
    fixed = [p for p in every if p.name == "conftest.py" or p.name.startswith(_FIXED)]
    kept = {f"{PRISTINE}/{p.name}": pristine(p) for p in every if re.match(_LEARNERS, p.name)}
    files = {path.name: fingerprint(path.read_bytes()) for path in fixed}
    manifest = json.dumps({"spyrelab": __version__, "files": files}, indent=1) + "\n"
    return {**kept, f"{PRISTINE}/{MANIFEST}": manifest.encode()}


def edited(chapter: Chapter) -> list[str]:
    """Names of test files, and of what a chapter hands out, that are not as they came.

    Where nobody knows how they came, such as in a copy without git, none are named.
    """
    files = [path for path in (*chapter.tests, chapter.given) if path.is_file()]
    manifest = chapter.exercises_folder / PRISTINE / MANIFEST
    if manifest.is_file():
        try:
            known: dict[str, str] = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        except (ValueError, KeyError, TypeError):
            return [f"{PRISTINE}/{MANIFEST}"]
        return [p.name for p in files if known.get(p.name) != fingerprint(p.read_bytes())]
    command = ["git", "diff", "--name-only", "--relative", "HEAD", "--", *(p.name for p in files)]
    try:
        found = subprocess.run(
            command, cwd=chapter.exercises_folder, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return found.stdout.splitlines()
