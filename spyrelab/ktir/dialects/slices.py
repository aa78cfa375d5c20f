"""``[offsets] [sizes] [strides]``, as tensor and memref slices write them."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.dialects.lists import read_mixed
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser
from spyrelab.ktir.writer import Writer

PARTS = ("offsets", "sizes", "strides")


def read_slice(parser: OperationParser) -> tuple[list[Value], dict[str, Any]]:
    """The values and the three attributes of a slice."""
    values: list[Value] = []
    return values, {part: read_mixed(parser, values) for part in PARTS}


def write_slice(writer: Writer, operation: Operation, values: list[Value]) -> str:
    """What `read_slice` reads."""
    rest = iter(values)
    return " ".join(writer.mixed(operation.attributes[part], rest) for part in PARTS)
