"""The sanitizer: faults of a program that its results may hide.

Every transfer is checked before it is made: against the allocation that the view's pointer names,
against what was written, and against what other cores did that no inter-tile operation orders.
"""

from spyrelab.emulator.sanitizer.findings import (
    Access,
    Finding,
    Kind,
    SanitizedAccessError,
    SanitizerError,
)
from spyrelab.emulator.sanitizer.scope import Report, current, sanitize

__all__ = [
    "Access",
    "Finding",
    "Kind",
    "Report",
    "SanitizedAccessError",
    "SanitizerError",
    "current",
    "sanitize",
]
