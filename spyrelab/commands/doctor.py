"""``spyrelab doctor``: what of this installation works, what does not, and what to do about it."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from pathlib import Path
from typing import Any

from spyrelab.commands.output import print_json, print_line, print_table

__all__ = ["Finding", "State", "examine", "register", "run"]


class State(StrEnum):
    """How a thing is: ``absent`` things are needed for something, but not for all."""

    WELL = "ok"
    ABSENT = "absent"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """What was found out about one thing, and what to do about it."""

    name: str
    state: State
    text: str
    advice: str = ""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "doctor",
        help="examine this installation: versions, private names, caches, memory",
        description="Examine the versions at work, the private names of PyTorch, Triton and Helion"
        " that SpyreLab relies on, the cache of the compiled emulator and the reserve of device"
        " memory, and say what to do about each. Exit code 1 if something is broken.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print every finding."""
    findings = list(examine())
    broken = any(finding.state is State.BROKEN for finding in findings)
    if args.json:
        print_json({"schema": 1, "healthy": not broken, "findings": list(map(asdict, findings))})
        return int(broken)
    print_table(("thing", "", "found"), [(f.name, f.state, f.text) for f in findings])
    for finding in findings:
        if finding.advice:
            print_line(f"\n{finding.name}: {finding.advice}")
    print_line("\nSomething is broken." if broken else "\nAll that is needed works.", "bold")
    return int(broken)


def examine() -> Iterator[Finding]:
    """Look at one thing after another; a fault of one does not keep others from being seen."""
    for name, check in CHECKS.items():
        try:
            yield from check(name)
        except Exception as error:  # whatever is broken in an installation, it is a finding
            yield Finding(name, State.BROKEN, type(error).__name__, _advice(error))


def _advice(error: Exception) -> str:
    """What to do: errors of SpyreLab say it themselves, what cannot be imported is put in again."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{text}: pip install {error.name.partition('.')[0]}"
    if isinstance(error, ImportError):
        return f"{text}: pip install --force-reinstall the package that fails to load"
    return text


def _python(name: str) -> Iterator[Finding]:
    text = f"{platform.python_version()}, {platform.system()} {platform.machine()}, {sys.prefix}"
    yield Finding(name, State.WELL, text)


def _packages(name: str) -> Iterator[Finding]:
    """What the package asks for, and what is installed."""
    from packaging.requirements import Requirement

    asked = [Requirement(text) for text in requires("spyrelab") or ()]
    wrong: list[str] = []
    seen: list[str] = []
    absent: dict[str, list[str]] = {}
    for requirement in asked:
        extra = _extra(requirement)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            if extra:
                absent.setdefault(extra, []).append(requirement.name)
            else:
                wrong.append(f"{requirement} is not installed")
            continue
        seen.append(found)
        if not requirement.specifier.contains(found, prereleases=True):
            wrong.append(f"{requirement} is asked for, {found} is installed")
    if wrong:
        advice = f"{'; '.join(wrong)}: pip install -e . (or pip install spyrelab) mends it"
        yield Finding(name, State.BROKEN, f"{len(wrong)} do not fit", advice)
    else:
        yield Finding(name, State.WELL, f"{len(seen)}, each in a version that fits")
    for extra, names in absent.items():
        advice = f"pip install 'spyrelab[{extra}]', in a checkout pip install -e '.[{extra}]'"
        yield Finding(f"extra {extra}", State.ABSENT, ", ".join(names), advice)


def _extra(requirement: Any) -> str:
    text = str(requirement.marker or "")
    return text.partition('extra == "')[2].partition('"')[0]


def _cache(name: str) -> Iterator[Finding]:
    """Where the compiled emulator is kept; older versions of it take room."""
    from spyrelab.emulator.cache import cache_directory

    directory = cache_directory()
    warm = any(directory.rglob("*.nbc"))
    text = f"{directory}, " + (f"{_size(directory) / 1e6:.0f} MB" if warm else "empty")
    advice = "" if warm else "the first kernel compiles the emulator, one to three minutes"
    yield Finding(name, State.WELL, text, advice)
    others = [d for d in directory.parent.iterdir() if d.is_dir() and d != directory]
    if others:
        room = sum(map(_size, others)) / 1e6
        advice = f"of {len(others)} other versions of the emulator; rm -r what nobody uses"
        yield Finding("older caches", State.WELL, f"{room:.0f} MB", advice)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _memory(name: str) -> Iterator[Finding]:
    from spyrelab.machine import DeviceMemory
    from spyrelab.machine.memory import MEMORY_SETTING

    with DeviceMemory() as memory:
        chosen = os.environ.get(MEMORY_SETTING)
        why = f"{MEMORY_SETTING}={chosen}" if chosen else "all that the card has"
        text = f"{memory.ddr_bytes / 2**30:.0f} GiB of address space reserved ({why})"
        yield Finding(name, State.WELL, text)


def _device(name: str) -> Iterator[Finding]:
    torch = importlib.import_module("torch")
    made = torch.ones(3, device="spyre").cpu().tolist()
    assert made == [1.0] * 3, f"torch.ones(3) on the device gave {made}"
    yield Finding(name, State.WELL, f"torch {torch.__version__}: tensors live on it")


def _names(package: str, library: str, needed: bool) -> Callable[[str], Iterator[Finding]]:
    """A check of the private names that a subpackage relies on; ``needed`` by all the rest, too."""

    def check(name: str) -> Iterator[Finding]:
        try:
            importlib.import_module(library)
        except ModuleNotFoundError as error:
            if needed or error.name != library:
                raise  # absent is the library, not what the library itself asks for
            advice = f"pip install {library} (Linux only); only spyrelab.{package} needs it"
            yield Finding(name, State.ABSENT, f"{library} is not installed", advice)
            return
        internals = importlib.import_module(f"spyrelab.{package}.internals")
        internals.check()
        count = len(internals._NEEDED)
        yield Finding(name, State.WELL, f"{version(library)}: all {count} private names are there")

    return check


def _triton_driver(name: str) -> Iterator[Finding]:
    found = {point.name: point.value for point in entry_points(group="triton.backends")}
    if found.get("spyre") != "spyrelab.triton":
        advice = "Triton finds the card by an entry point: install SpyreLab again, pip install -e ."
        yield Finding(name, State.BROKEN, "Triton would not find it", advice)
    else:
        yield Finding(name, State.WELL, "found by its entry point")


def _browser(name: str) -> Iterator[Finding]:
    for command in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(command):
            yield Finding(name, State.WELL, command)
            return
    advice = "only the test of the book's pages needs one: apt-get install chromium"
    yield Finding(name, State.ABSENT, "no Chromium", advice)


CHECKS: dict[str, Callable[[str], Iterator[Finding]]] = {
    "Python": _python,
    "packages": _packages,
    "emulator's cache": _cache,
    "device memory": _memory,
    "device 'spyre'": _device,
    "torch.compile": _names("inductor", "torch", needed=True),
    "Triton": _names("triton", "triton", needed=False),
    "Triton's backend": _triton_driver,
    "Helion": _names("helion", "helion", needed=False),
    "browser": _browser,
}
"""Name of a thing, and what looks at it."""
