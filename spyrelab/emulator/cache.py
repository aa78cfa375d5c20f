"""Where numba keeps the compiled tile VM, and what the user sees while it is being compiled.

numba checks only the file of the function that it caches, not the helpers that were inlined
into it, so an edited helper would be served stale.  The cache directory is therefore named
after a hash of every source of this package and of numba's version.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter

import numba
from numba.core import event

from spyrelab.errors import UsageError

_PACKAGE = Path(__file__).parent


def source_hash(package: Path = _PACKAGE) -> str:
    """Hash of all Python sources under ``package`` (names and contents) and numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory() -> Path:
    """Directory of the compiled VM: ``SPYRELAB_CACHE``, the environment, or the user's cache."""
    chosen = os.environ.get("SPYRELAB_CACHE")
    if chosen:
        return Path(chosen) / source_hash()
    environment = Path(sys.prefix) / "var" / "cache" / "spyrelab"
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return environment / source_hash()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "spyrelab" / source_hash()


def configure() -> Path:
    """Point numba at `cache_directory`; called before the first compiled function is defined.

    Raises
    ------
    UsageError
        The directory cannot be written. numba would go on with ``__pycache__``, where edited
        helpers are served stale.
    """
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UsageError(
            f"{directory} cannot keep the compiled tile VM ({error.strerror}); set SPYRELAB_CACHE "
            "to a folder that can be written"
        ) from None
    numba.config.CACHE_DIR = str(directory)  # type: ignore[attr-defined]
    return directory


class _Progress(event.Listener):
    """Counts compiled functions and says so on the terminal."""

    def __init__(self) -> None:
        self.compiled = 0
        self.started = perf_counter()

    def on_start(self, event: event.Event) -> None:
        if self.compiled == 0:
            print(
                "spyrelab: compiling the tile VM (once; it is cached afterwards) ...",
                file=sys.stderr,
                flush=True,
            )
        self.compiled += 1
        if sys.stderr.isatty():
            name = getattr(event.data.get("dispatcher"), "__name__", "")
            print(f"\r\033[K  {self.compiled:3d} functions, {name}", end="", file=sys.stderr)
        elif self.compiled % 100 == 0:
            print(f"spyrelab: {self.compiled} functions so far", file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        pass

    def report(self) -> None:
        if self.compiled:
            seconds = perf_counter() - self.started
            lead = "\r\033[K" if sys.stderr.isatty() else ""
            print(
                f"{lead}spyrelab: compiled {self.compiled} functions in {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )


@contextmanager
def compile_progress() -> Iterator[_Progress]:
    """Show on stderr how far numba is with compiling; silent on a warm cache."""
    progress = _Progress()
    with event.install_listener("numba:compile", progress):
        yield progress
    progress.report()
