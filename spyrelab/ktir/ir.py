"""The tree that a KTIR text is parsed into: values, operations, regions, functions, modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from spyrelab.ktir.affine import AffineMap
from spyrelab.ktir.types import TensorType, Type


def quote(text: str) -> str:
    """A string as the text format writes it, with quotes and escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True)
class Position:
    """A place in the KTIR text itself, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class FileLocation:
    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{quote(self.file)}:{self.line}:{self.column}"


@dataclass(frozen=True)
class NameLocation:
    """A name given by a front end, at most with the place it stands for."""

    name: str
    child: Location | None = None

    def __str__(self) -> str:
        return quote(self.name) + (f"({self.child})" if self.child else "")


@dataclass(frozen=True)
class CallSiteLocation:
    callee: Location
    caller: Location

    def __str__(self) -> str:
        return f"callsite({self.callee} at {self.caller})"


@dataclass(frozen=True)
class FusedLocation:
    parts: tuple[Location, ...]

    def __str__(self) -> str:
        return f"fused[{', '.join(map(str, self.parts))}]"


@dataclass(frozen=True)
class UnknownLocation:
    def __str__(self) -> str:
        return "unknown"


Location = FileLocation | NameLocation | CallSiteLocation | FusedLocation | UnknownLocation
"""Where an operation came from in the front end's source."""


@dataclass(frozen=True)
class DenseElements:
    """Constant tensor: one value for all elements, or all values in row-major order."""

    type: TensorType
    values: tuple[int | float | bool, ...]

    @property
    def is_splat(self) -> bool:
        return len(self.values) == 1


@dataclass(frozen=True)
class EnumAttribute:
    """``#dialect.kind<value>``, such as ``#spyreop.reduction_kind<add>``."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"#{self.kind}<{self.value}>"


@dataclass(frozen=True)
class Subscript:
    """One subscript of an indirect access tile.

    ``view`` is the position among the index views, or None for a direct subscript; the
    map's dimensions are the intermediate variables, its symbols the captured values.
    """

    view: int | None
    map: AffineMap


@dataclass(eq=False, slots=True)
class Value:
    """An SSA value: the result of an operation or an argument of a region or function."""

    name: str
    type: Type
    location: Location | None = None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


@dataclass(eq=False, slots=True)
class Region:
    """A single block: its arguments and its operations, the terminator last."""

    arguments: tuple[Value, ...] = ()
    operations: list[Operation] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Operation:
    """One operation; what it has is told by its form in `spyrelab.ktir.dialects`."""

    name: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    location: Location | None = None
    position: Position | None = None

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result


@dataclass(eq=False, slots=True)
class Function:
    """``func.func``; ``attributes["grid"]`` is a tuple of ints where the text has one."""

    name: str
    arguments: tuple[Value, ...]
    body: Region
    results: tuple[Type, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    visibility: str | None = None
    location: Location | None = None
    position: Position | None = None

    @property
    def grid(self) -> tuple[int, ...]:
        """Compute tiles per grid dimension; ``(1,)`` where the text gives none."""
        return tuple(self.attributes.get("grid", (1,)))


@dataclass(eq=False)
class Module:
    """A KTIR file: functions in order of appearance."""

    functions: tuple[Function, ...]
    name: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    source: str | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        """Same structure; names of values, positions and locations do not count."""
        return isinstance(other, Module) and _module_key(self) == _module_key(other)

    def __hash__(self) -> int:
        return hash(tuple(function.name for function in self.functions))

    def _repr_html_(self) -> str:
        return str(import_module("spyrelab.ktir.page").module_html(self))

    def function(self, name: str | None = None) -> Function:
        """The function called ``name``, or the only (or first public) one.

        Raises KeyError, naming the functions there are, for an unknown name.
        """
        if name is None:
            public = [f for f in self.functions if f.visibility != "private"]
            return (public or list(self.functions))[0]
        for function in self.functions:
            if function.name == name:
                return function
        names = ", ".join(f.name for f in self.functions)
        raise KeyError(f"no function @{name}; the module has: {names}")

    def verify(self) -> None:
        """Check every rule of the language; raises `spyrelab.ktir.KtirError`."""
        from spyrelab.ktir.verifier import verify

        verify(self)

    def __str__(self) -> str:
        from spyrelab.ktir.printer import dumps

        return dumps(self)


def walk(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Every operation, outer before inner, in textual order."""
    for operation in operations:
        yield operation
        for region in operation.regions:
            yield from walk(region.operations)


def _module_key(module: Module) -> tuple[Any, ...]:
    return (
        module.name,
        _attribute_key(module.attributes),
        tuple(_function_key(f) for f in module.functions),
    )


def _function_key(function: Function) -> tuple[Any, ...]:
    numbers: dict[Value, int] = {}
    return (
        function.name,
        function.visibility or "public",
        function.results,
        _attribute_key(function.attributes),
        _define(function.arguments, numbers),
        tuple(_operation_key(o, numbers) for o in function.body.operations),
    )


def _define(values: Sequence[Value], numbers: dict[Value, int]) -> tuple[Type, ...]:
    for value in values:
        numbers[value] = len(numbers)
    return tuple(value.type for value in values)


def _operation_key(operation: Operation, numbers: dict[Value, int]) -> tuple[Any, ...]:
    operands = tuple(numbers[value] for value in operation.operands)
    regions = tuple(
        (_define(r.arguments, numbers), tuple(_operation_key(o, numbers) for o in r.operations))
        for r in operation.regions
    )
    results = _define(operation.results, numbers)
    return operation.name, operands, results, _attribute_key(operation.attributes), regions


def _attribute_key(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((k, _attribute_key(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_attribute_key(v) for v in value)
    if isinstance(value, float):
        return ("float", "nan" if value != value else value.hex())
    if isinstance(value, DenseElements):
        return (value.type, _attribute_key(value.values))
    return (type(value).__name__, value) if isinstance(value, (bool, int)) else value
