"""What a run did: bytes per memory, operations per unit, scratchpad peak, for each core.

Bytes count every unmasked element that a core asks for, before multicast and without
rounding to sticks; sticks are counted apart.  All numbers live in one int64 matrix, so that
a compiled engine can write to it directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from spyrelab.emulator.sanitizer.findings import Finding


class Column(IntEnum):
    """Columns of `Counters.matrix`."""

    DDR_READ = 0
    DDR_WRITE = 1
    LX_READ = 2
    LX_WRITE = 3
    RING = 4
    STICKS_READ = 5
    STICKS_WRITTEN = 6
    LX_PEAK = 7
    OPS_PT = 8
    OPS_SFP = 9
    OPS_SPECIAL = 10
    OPS_MOVE = 11


UNITS = {
    "pt": Column.OPS_PT,
    "sfp": Column.OPS_SFP,
    "special": Column.OPS_SPECIAL,
    "move": Column.OPS_MOVE,
}
"""Column of each unit: multiply-adds, simple elements, transcendental elements, moved elements."""


@dataclass(frozen=True, eq=False, repr=False)
class Counters:
    """Counts per core of one launch.

    Parameters
    ----------
    matrix : int64 array [cores, len(Column)]
        The numbers themselves; every attribute is a view of one column.
    findings : tuple of Finding
        What the sanitizer noticed that is no error; empty for a launch that it did not check.
    """

    matrix: NDArray[np.int64]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def zeros(cls, cores: int) -> Counters:
        """Counters of ``cores`` cores that have done nothing."""
        return cls(np.zeros((cores, len(Column)), np.int64))

    @property
    def cores(self) -> int:
        return int(self.matrix.shape[0])

    def column(self, column: Column) -> NDArray[np.int64]:
        """One count for every core (a view)."""
        return self.matrix[:, column]

    @property
    def ddr_read(self) -> NDArray[np.int64]:
        """Bytes read from main memory."""
        return self.column(Column.DDR_READ)

    @property
    def ddr_write(self) -> NDArray[np.int64]:
        """Bytes written to main memory."""
        return self.column(Column.DDR_WRITE)

    @property
    def lx_read(self) -> NDArray[np.int64]:
        """Bytes loaded from the core's own scratchpad."""
        return self.column(Column.LX_READ)

    @property
    def lx_write(self) -> NDArray[np.int64]:
        """Bytes stored to the core's own scratchpad."""
        return self.column(Column.LX_WRITE)

    @property
    def ring(self) -> NDArray[np.int64]:
        """Bytes to and from other cores' scratchpads, and received in collectives."""
        return self.column(Column.RING)

    @property
    def sticks_read(self) -> NDArray[np.int64]:
        """Changes of stick along the main-memory elements read, in tile order."""
        return self.column(Column.STICKS_READ)

    @property
    def sticks_written(self) -> NDArray[np.int64]:
        """Changes of stick along the main-memory elements written, in tile order."""
        return self.column(Column.STICKS_WRITTEN)

    @property
    def lx_peak(self) -> NDArray[np.int64]:
        """Largest number of scratchpad bytes alive at once."""
        return self.column(Column.LX_PEAK)

    @property
    def ops(self) -> dict[str, NDArray[np.int64]]:
        """Operations of each unit: ``pt``, ``sfp``, ``special``, ``move``."""
        return {unit: self.column(column) for unit, column in UNITS.items()}

    def total(self, column: Column) -> int:
        """Sum over cores; for the scratchpad peak the maximum over cores."""
        values = self.column(column)
        return int(values.max(initial=0) if column is Column.LX_PEAK else values.sum())

    @property
    def totals(self) -> dict[str, int]:
        """`total` of every column by its name, such as ``ddr_read`` or ``ops_pt``."""
        return {column.name.lower(): self.total(column) for column in Column}

    @property
    def ddr_bytes(self) -> int:
        """Bytes read from and written to main memory by all cores."""
        return self.total(Column.DDR_READ) + self.total(Column.DDR_WRITE)

    @property
    def lx_bytes(self) -> int:
        """Bytes loaded from and stored to the cores' own scratchpads."""
        return self.total(Column.LX_READ) + self.total(Column.LX_WRITE)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counters) and np.array_equal(self.matrix, other.matrix)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists per core, for JSON; ``ops`` is nested."""
        plain = {c.name.lower(): self.column(c).tolist() for c in Column if c < Column.OPS_PT}
        return {**plain, "ops": {unit: values.tolist() for unit, values in self.ops.items()}}

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for column in Column:
            values = self.column(column)
            if values.any():
                core = int(values.argmax())
                busiest = f"core {core}: {int(values[core]):,}"
                rows.append((column.name.lower(), f"{self.total(column):,}", busiest))
        return rows

    def __repr__(self) -> str:
        lines = [f"Counters of {self.cores} cores"]
        lines += [f"  {name:<15}{total:>16}   {busiest}" for name, total, busiest in self._rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "<tr><th>count</th><th>total</th><th>busiest core</th></tr>"
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._rows())
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><caption>{self.cores} cores</caption>{head}{body}</table>"
