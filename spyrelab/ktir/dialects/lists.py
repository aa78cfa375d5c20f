"""Lists that hold literals and values, such as ``sizes: [4, %n]``, and literal lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyrelab.ktir.ir import Value
from spyrelab.ktir.parse_operations import OperationParser

Mixed = tuple[int | None, ...]
"""Literals, and None where the next dynamic operand stands."""


def read_mixed(
    parser: OperationParser, values: list[Value], opening: str = "[", closing: str = "]"
) -> Mixed:
    """``[4, %n]``; appends the values to ``values``."""
    parser.expect(opening)
    found: list[int | None] = []
    while parser.token != closing:
        if parser.kind == "value":
            values.append(parser.value())
            found.append(None)
        else:
            found.append(parser.integer("a number or a value"))
        if not parser.accept(","):
            break
    parser.expect(closing)
    return tuple(found)


def read_integers(parser: OperationParser) -> tuple[int, ...]:
    """``[0, 2]``."""
    parser.expect("[")
    found: list[int] = []
    while parser.token != "]":
        found.append(parser.integer())
        if not parser.accept(","):
            break
    parser.expect("]")
    return tuple(found)


def write_integers(values: Sequence[int]) -> str:
    """What `read_integers` reads."""
    return f"[{', '.join(map(str, values))}]"


def read_groups(parser: OperationParser) -> tuple[tuple[int, ...], ...]:
    """``[[0, 1], [2]]``."""
    parser.expect("[")
    found: list[tuple[int, ...]] = []
    while parser.token != "]":
        found.append(read_integers(parser))
        if not parser.accept(","):
            break
    parser.expect("]")
    return tuple(found)


def write_groups(groups: Sequence[Sequence[int]]) -> str:
    """What `read_groups` reads."""
    return f"[{', '.join(map(write_integers, groups))}]"


def dynamic(static: Sequence[int | None]) -> int:
    """How many entries are values."""
    return sum(entry is None for entry in static)


def resolve(static: Sequence[int | None], values: Iterator[Value]) -> list[int | Value]:
    """The literals and values together."""
    return [next(values) if entry is None else entry for entry in static]
