"""What a compiled kernel depends on beside its source."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import spyrelab
from spyrelab.machine import SPYRE

__all__ = ["fingerprint"]

_PARTS = ("triton", "ktir", "emulator/lowering")


@cache
def fingerprint() -> str:
    """A hash of the card and of everything that a kernel goes through on its way to KTIR."""
    made = hashlib.sha256(f"{spyrelab.__version__}{SPYRE.fingerprint}".encode())
    root = Path(spyrelab.__file__).parent
    for part in _PARTS:
        for path in sorted((root / part).rglob("*.py")):
            made.update(path.read_bytes())
    return made.hexdigest()
