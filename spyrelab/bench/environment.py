"""Where a bench ran: versions, processor, threads, machine description, git revision."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spyrelab import __version__
from spyrelab.machine import SPYRE

__all__ = ["describe_environment"]

PACKAGES = ("numpy", "numba", "scipy", "torch")
SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE")


def describe_environment(threads: int) -> dict[str, Any]:
    """The ``environment`` of a result."""
    return {
        "threads": threads,
        "spyrelab": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "machine": SPYRE.fingerprint,
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "load": _load(),
        "system": f"{platform.system()} {platform.machine()}",
        "git": _git_revision(),
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _load() -> float | None:
    """Processes that ran or waited during the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _git_revision() -> str | None:
    """Revision of the source tree, with ``+`` where it was edited; None if it is installed."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    revision = _git(root, "rev-parse", "HEAD")
    return f"{revision}+" if revision and _git(root, "status", "--porcelain") else revision


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
