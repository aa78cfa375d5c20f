"""KTIR of a Triton kernel, for ``spyrelab ktir --from-triton``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.triton.arguments import Translation

__all__ = ["describe", "report", "translated"]


def translated(place: str, signature: str | None) -> Translation:
    """Compile the kernel that ``FILE:KERNEL`` names; nothing is launched.

    Raises
    ------
    UsageError
        Triton is missing, there is no such kernel, or its signature is not complete.
    """
    try:
        import triton
    except ImportError:
        raise UsageError("--from-triton needs Triton: pip install 'triton>=3.7.1,<3.10'") from None
    from spyrelab.errors import SpyreLabError
    from spyrelab.triton import source

    kernel = source.kernel_in(place)
    found, options = source.read_signature(kernel, signature)
    try:
        return source.translate_kernel(kernel, found, options)
    except triton.CompilationError as error:
        raise SpyreLabError(_first_cause(place, error)) from None


def _first_cause(place: str, error: Any) -> str:
    """What the front end stumbled over, and where: it wraps an error once for every call."""
    while isinstance(error.__cause__, type(error)):
        error = error.__cause__
    cause = error.__cause__ if error.__cause__ is not None else error.error_message
    line = f", line {error.node.lineno} of the function" if error.node is not None else ""
    source = error.src.splitlines()[error.node.lineno - 1].strip() if error.node else ""
    return f"{place}{line} ({source}): {cause}"


def report(made: Translation) -> None:
    """Say on standard error what only SpyreLab understands, and which accesses are gathers."""
    from spyrelab.triton.arguments import AccessKind
    from spyrelab.triton.explaining import access_text, own_operations

    own = own_operations(made.module)
    if own:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(own.items()))
        print(f"not portable, operations of SpyreLab's own: {listed}", file=sys.stderr)
    gathers = [note for note in made.notes if note.kind is AccessKind.GATHER]
    if gathers:
        print(access_text(gathers), file=sys.stderr)


def describe(made: Translation) -> dict[str, Any]:
    """The same for ``--json``."""
    from spyrelab.triton.explaining import own_operations

    names = ("place", "operation", "argument", "kind", "why", "advice")
    return {
        "not_portable": dict(sorted(own_operations(made.module).items())),
        "accesses": [dict(zip(names, note.to_json(), strict=True)) for note in made.notes],
    }
