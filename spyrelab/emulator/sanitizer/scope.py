"""Which launches run under the sanitizer: the call, the ``with`` block or the environment says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from spyrelab.emulator.errors import ArgumentError
from spyrelab.emulator.sanitizer.findings import Finding

SETTING = "SPYRELAB_SANITIZE"
PADDING = "padding"
Mode = bool | str
"""False, True, or ``"padding"``: check for results that depend on masked elements as well."""

_SETTINGS: dict[str, Mode] = {"": False, "0": False, "1": True, PADDING: PADDING}


@dataclass
class Report:
    """What the launches of a ``with sanitize()`` block showed that is no error."""

    mode: Mode
    launches: int = 0
    findings: list[Finding] = field(default_factory=list)


_scope: ContextVar[Report | None] = ContextVar("spyrelab_sanitize", default=None)


@contextmanager
def sanitize(mode: Mode = True) -> Iterator[Report]:
    """Run every kernel that is launched in a ``with`` block under the sanitizer.

    Blocks nest, and each thread has its own: the innermost one counts, before the setting
    ``SPYRELAB_SANITIZE``.

    Parameters
    ----------
    mode : bool or str
        True; ``"padding"`` to look for results that depend on masked elements as well;
        False to leave a block unchecked.

    Yields
    ------
    Report
        Number of launches, and their lints.
    """
    report = Report(checked(mode))
    token = _scope.set(report)
    try:
        yield report
    finally:
        _scope.reset(token)


def checked(mode: Mode) -> Mode:
    """A mode; ArgumentError for what is none."""
    if not (isinstance(mode, bool) or mode == PADDING):
        raise ArgumentError(f'sanitize={mode!r}: it is False, True or "{PADDING}"')
    return mode


def current() -> Report | None:
    """The innermost block of this thread."""
    return _scope.get()


def effective(asked: Mode) -> Mode:
    """The mode of a launch: what the call asks for, else the block, else the environment."""
    asked = checked(asked)
    if asked:
        return asked
    report = current()
    if report is not None:
        return report.mode
    text = os.environ.get(SETTING)
    if not text:
        return False
    if text not in _SETTINGS:
        raise ArgumentError(f"{SETTING}={text!r}: it is 0, 1 or {PADDING}")
    return _SETTINGS[text]
