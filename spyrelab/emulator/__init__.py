"""Engines that run KTIR programs on the emulated card.

`run` places arrays, launches and reads back; `lower` gives a `Program` to launch many times on
device addresses.  Three engines share one protocol: ``vm`` (compiled), ``reference`` (the
definition, in NumPy) and ``null`` (counters only).
"""

from spyrelab.emulator import cache

# Before the first compiled function of this package is defined.
cache.configure()

from spyrelab.emulator.counters import Counters  # noqa: E402
from spyrelab.emulator.errors import (  # noqa: E402
    AccessError,
    ArgumentError,
    AssertionFailedError,
    DeadlockError,
    LoweringError,
    LxOverflowError,
    UnsupportedError,
)
from spyrelab.emulator.program import Program, lower  # noqa: E402
from spyrelab.emulator.run import Run, run  # noqa: E402
from spyrelab.emulator.sanitizer import Finding, Kind, SanitizerError, sanitize  # noqa: E402

__all__ = [
    "AccessError",
    "ArgumentError",
    "AssertionFailedError",
    "Counters",
    "DeadlockError",
    "Finding",
    "Kind",
    "LoweringError",
    "LxOverflowError",
    "Program",
    "Run",
    "SanitizerError",
    "UnsupportedError",
    "lower",
    "run",
    "sanitize",
]
