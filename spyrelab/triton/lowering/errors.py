"""How a lowering says that something cannot be done, and where."""

from __future__ import annotations

from spyrelab.ktir.ir import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
)
from spyrelab.triton.errors import UnsupportedKernelError

__all__ = ["place_of", "unsupported"]

_LIBRARIES = ("/triton/language/", "/torch/_inductor/runtime/", "/helion/runtime/")
"""Functions that come with a compiler: what calls them is of interest, not where they stand."""


def place_of(location: Location | None) -> str:
    """``file:line:column``: of an inlined call, the place inside the function."""
    match location:
        case FileLocation(file, line, column):
            return f"{file}:{line}:{column}"
        case NameLocation(_, child):
            return place_of(child)
        case CallSiteLocation(callee, caller):
            inner = place_of(callee)
            own = inner and not any(library in inner for library in _LIBRARIES)
            return inner if own else place_of(caller) or inner
        case FusedLocation(parts):
            return next((found for part in parts if (found := place_of(part))), "")
    return ""


def unsupported(
    message: str, location: Location | None = None, advice: str = ""
) -> UnsupportedKernelError:
    """The error to raise for something that the card cannot do."""
    return UnsupportedKernelError(message, place_of(location), advice)
