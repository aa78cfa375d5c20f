"""The lines that ``spyrelab.print`` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from spyrelab.emulator.reference.transfers import to_bits
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import ScalarType, element_of

Array = np.ndarray[Any, Any]


class Printout:
    """What a launch prints: kept until it ends, then written program by program.

    Programs without coordinates go by their core.  What one program prints keeps its order.
    """

    def __init__(self) -> None:
        self._lines: list[tuple[tuple[int, ...], str]] = []
        self.is_muted = False

    def add(self, core: int, operation: Operation, operands: Sequence[Array]) -> None:
        """Enter what an operation prints on a core."""
        count = operation.attributes.get("program", 0)
        key = [int(number) for number in operands[:count]] or [core]
        key = [0] * (3 - len(key)) + key[::-1]
        for line in _lines(core, operation, operands):
            self._lines.append((tuple(key), line))

    def flush(self) -> None:
        """Write everything to standard output."""
        for _, line in sorted(self._lines, key=lambda entry: entry[0]):
            if not self.is_muted:
                print(line)
        self._lines.clear()


def _lines(core: int, operation: Operation, operands: Sequence[Array]) -> Iterator[str]:
    """One line per element, ``pid (x, y, z) idx (i, j) text: value``, as on a GPU.

    A program without coordinates is called by its core.  Several values are told apart by
    ``(operand n)``.
    """
    attributes = operation.attributes
    count = attributes.get("program", 0)
    pid = ", ".join(str(int(number)) for number in operands[:count])
    head = f"pid ({pid})" if count else f"core {core}"
    values = operands[count:]
    if not values:
        yield f"{head} {attributes['text']}"
    for number, value in enumerate(values):
        element = element_of(operation.operands[count + number].type)
        unsigned = number in attributes.get("unsigned", ())
        which = f"(operand {number}) " if len(values) > 1 else ""
        for place in np.ndindex(value.shape):
            where = f" idx ({', '.join(map(str, place))})" if place else ""
            shown = _shown(value[place], element, bool(attributes.get("hex")), unsigned)
            yield f"{head}{where} {attributes['text']}: {which}{shown}"


def _shown(value: Any, element: ScalarType, in_hex: bool, unsigned: bool) -> str:
    if in_hex:
        bits = to_bits(np.asarray([value]), element)
        whole = int.from_bytes(bits.tobytes(), "little")
        return f"0x{whole:0{2 * element.itemsize}x}"
    if element.is_float:
        return str(np.float32(value))
    number = int(value)
    if element.bits == 1:
        return str(number & 1)
    return str(number & (1 << element.bits) - 1 if unsigned else number)
