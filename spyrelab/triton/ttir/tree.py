"""The tree that generic MLIR text is parsed into: operations, regions of blocks, values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from spyrelab.ktir.ir import Location
from spyrelab.triton.ttir.types import TtirType

__all__ = ["TtirBlock", "TtirOperation", "TtirValue"]


@dataclass(eq=False, slots=True)
class TtirValue:
    """The result of an operation or an argument of a block."""

    name: str
    type: TtirType
    location: Location | None = None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


@dataclass(eq=False, slots=True)
class TtirBlock:
    """Operations in order, the last one a terminator."""

    label: str
    arguments: tuple[TtirValue, ...] = ()
    operations: list[TtirOperation] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class TtirOperation:
    """One operation in generic form; properties and attributes are one dictionary."""

    name: str
    operands: tuple[TtirValue, ...] = ()
    results: tuple[TtirValue, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: tuple[tuple[TtirBlock, ...], ...] = ()
    successors: tuple[TtirBlock, ...] = ()
    location: Location | None = None

    @property
    def result(self) -> TtirValue:
        """The only result."""
        (result,) = self.results
        return result

    def walk(self) -> Iterator[TtirOperation]:
        """This operation and everything inside it, outer before inner."""
        yield self
        for region in self.regions:
            for block in region:
                for operation in block.operations:
                    yield from operation.walk()
