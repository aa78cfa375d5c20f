"""Published measurements of the card, by id: what single effects are tested against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spyrelab.timing import CONSTANTS, Estimate, estimate
from spyrelab.timing.measurements import Row, read_measurements
from spyrelab.timing.validation import clock_offset, program_of

FILE = Path(__file__).parents[2] / "book" / "data" / "spyre_measurements.csv"


@dataclass(frozen=True)
class Measured:
    """A row of the file, and what the model says of it."""

    row: Row

    def predict(self) -> Estimate:
        return estimate(program_of(self.row), lx_backend_fraction=self.row.fraction)

    @property
    def microseconds(self) -> float:
        return self.row.measured_us

    @property
    def predicted(self) -> float:
        """Microseconds on the row's own clock."""
        return (self.predict().seconds + clock_offset(self.row.kind, CONSTANTS)) * 1e6


@cache
def all_rows() -> dict[str, Measured]:
    return {row.id: Measured(row) for row in read_measurements(FILE)}


NEAR = (
    *("CS-001", "CS-007", "CS-008", "CS-006", "CP-007", "CP-024", "GS-072", "GS-075", "GS-058"),
    *("GS-069", "GS-062", "GS-038", "CP-025", "GS-071", "GS-066", "GS-060", "KF-005", "KF-006"),
    *("KF-013", "KF-014", "KF-040", "KF-069", "LX-001", "LX-002", "LX-005", "LX-006"),
)
"""One or two rows of every effect."""

ROWS = {name: all_rows()[name] for name in NEAR}
