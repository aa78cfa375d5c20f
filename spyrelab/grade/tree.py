"""Where exercises live, and how a chapter's files are found and loaded."""

from __future__ import annotations

import difflib
import os
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from spyrelab.errors import UsageError

PLACE_VARIABLE = "SPYRELAB_EXERCISES"


class GradeError(UsageError):
    """There is nothing to grade: no such chapter, task, folder or function."""


@dataclass(frozen=True)
class Chapter:
    """The graded part of a chapter: its tests, and the learner's file."""

    name: str
    tests: tuple[Path, ...]
    exercises: Path

    @property
    def exercises_folder(self) -> Path:
        """Where its tests lie."""
        return self.tests[0].parent

    @property
    def given(self) -> Path:
        """Programs that the chapter hands out."""
        return self.exercises_folder / f"given_{self.name}.py"


def exercises_folder(start: Path | None = None) -> Path:
    """The ``exercises`` folder: `PLACE_VARIABLE`, or found upwards from the working folder."""
    chosen = os.environ.get(PLACE_VARIABLE)
    if chosen:
        if _has_tests(Path(chosen)):
            return Path(chosen).resolve()
        raise GradeError(f"{PLACE_VARIABLE}={chosen} is no folder with test_chNN.py files")
    here = (start or Path.cwd()).resolve()
    checkout = Path(__file__).parents[2]
    for folder in (here, *here.parents, checkout):
        for candidate in (folder / "exercises", folder):
            if candidate.name == "exercises" and _has_tests(candidate):
                return candidate
    raise GradeError(
        f"no folder 'exercises' in {here} or above; run inside the SpyreLab checkout or set "
        f"{PLACE_VARIABLE}"
    )


def _has_tests(folder: Path) -> bool:
    return any(folder.glob("test_ch[0-9][0-9].py"))


def chapters() -> list[str]:
    """Names of the chapters that have graded tests."""
    found = exercises_folder().glob("test_ch[0-9][0-9].py")
    return sorted(path.stem.removeprefix("test_") for path in found)


def find_chapter(name: str) -> Chapter:
    """The chapter called ``name``: ``ch01``, ``1`` or ``ch01_machine``."""
    digits = re.fullmatch(r"(?:ch)?0*(\d{1,2})(?:_\w+)?(?:\.py)?", name)
    wanted = f"ch{int(digits[1]):02d}" if digits else name
    known = chapters()
    if wanted not in known:
        close = difflib.get_close_matches(wanted, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"graded chapters: {', '.join(known)}"
        raise GradeError(f"no chapter {name!r}; {hint}")
    folder = exercises_folder()
    return chapter_in(folder, wanted)


def chapter_in(folder: Path, name: str) -> Chapter:
    """A chapter whose tests ``test_chNN*.py`` lie in ``folder``."""
    return Chapter(
        name, tuple(sorted(folder.glob(f"test_{name}*.py"))), _chapter_file(folder, name)
    )


def subject_file(chapter: Chapter, implementation: str) -> Path:
    """The answers: ``exercises``, ``solutions``, or a file or folder of one's own."""
    if implementation == "exercises":
        return chapter.exercises
    if implementation == "solutions":
        return _chapter_file(chapter.exercises_folder.with_name("solutions"), chapter.name)
    path = Path(implementation)
    if path.is_dir():
        return _chapter_file(path, chapter.name)
    if not path.is_file() or path.suffix != ".py":
        raise GradeError(f"{implementation}: no such folder or Python file")
    return path.resolve()


def _chapter_file(folder: Path, chapter: str) -> Path:
    found = sorted(folder.glob(f"{chapter}_*.py"))
    if len(found) != 1:
        count = "no" if not found else f"{len(found)} files like"
        raise GradeError(f"{folder}: {count} {chapter}_*.py, expected exactly one")
    return found[0].resolve()


def given(chapter: str) -> ModuleType:
    """The programs that a chapter hands out: ``given("ch01").softmax_in_three_passes``."""
    return load_module(find_chapter(chapter).given)


def lend(path: Path) -> None:
    """Let answers import what a chapter hands out: ``given_chNN`` or ``exercises.given_chNN``.

    They get a copy of their own: what they do to it, tests do not see.
    """
    if not path.is_file() or path.stem in sys.modules:
        return
    module = load_module(path)
    try:
        package = import_module("exercises")
    except ImportError:
        package = sys.modules["exercises"] = ModuleType("exercises")
    setattr(package, path.stem, module)
    sys.modules[path.stem] = sys.modules[f"exercises.{path.stem}"] = module


def load_module(path: Path) -> ModuleType:
    """A module from a file, fresh: what was imported from it before stays as it is."""
    name = f"_graded_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise GradeError(f"{path}: no such Python file")
    module = module_from_spec(spec)
    # dataclasses look their module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
