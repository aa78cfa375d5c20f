"""What the rules of the operations need while a module is verified."""

from __future__ import annotations

from typing import NoReturn

from spyrelab.ktir.errors import error_at
from spyrelab.ktir.ir import DenseElements, Function, Operation, Region, Value
from spyrelab.ktir.matching import compatible
from spyrelab.ktir.types import ScalarType, TensorType, Type

_INDEX_CASTS = ("arith.index_cast", "arith.index_castui")


class Check:
    """One function under verification."""

    def __init__(self, function: Function, source: str | None) -> None:
        self.function = function
        self.source = source
        self.definitions: dict[Value, Operation] = {}
        self.enclosing: list[Operation] = []

    def fail(
        self, operation: Operation | Function, message: str, hint: str | None = None
    ) -> NoReturn:
        """Raise `KtirError` at an operation or function."""
        place = operation.position
        line, column = (place.line, place.column) if place else (None, None)
        name = "" if isinstance(operation, Function) else f"{operation.name}: "
        raise error_at(self.source, line, column, name + message, hint)

    def constant(self, value: Value) -> int | None:
        """The number that a value is known to have, looking through casts of index."""
        operation = self.definitions.get(value)
        while operation is not None and operation.name in (
            "arith.index_cast",
            "arith.index_castui",
        ):
            operation = self.definitions.get(operation.operands[0])
        if operation is None or operation.name != "arith.constant":
            return None
        found = operation.attributes.get("value")
        return found if isinstance(found, int) and not isinstance(found, DenseElements) else None

    def same(self, operation: Operation, what: str, actual: Type, expected: Type) -> None:
        """Two types must agree wherever both say something."""
        if not compatible(actual, expected):
            self.fail(operation, f"{what} has type {actual}, but {expected} is needed")

    def same_list(
        self,
        operation: Operation,
        what: str,
        actual: list[Type] | tuple[Type, ...],
        expected: list[Type] | tuple[Type, ...],
        hint: str | None = None,
    ) -> None:
        """The same for lists of types."""
        if len(actual) != len(expected):
            self.fail(operation, f"{len(actual)} {what}, but {len(expected)} are needed", hint)
        for index, (first, second) in enumerate(zip(actual, expected, strict=True)):
            if not compatible(first, second):
                self.fail(operation, f"{what} {index}: {first}, but {second} is needed", hint)

    def integers(self, operation: Operation, what: str, *values: Value) -> None:
        """Values that must be whole numbers (index or iN)."""
        for value in values:
            if not (isinstance(value.type, ScalarType) and value.type.is_integer):
                self.fail(
                    operation,
                    f"{what} %{value.name} is a {value.type}, not a number",
                    "use index, i32 or i64",
                )

    def tensor(self, operation: Operation, what: str, value: Value) -> TensorType:
        """The type of a value that must be a tensor."""
        if not isinstance(value.type, TensorType):
            self.fail(operation, f"{what} %{value.name} is a {value.type}, not a tensor")
        return value.type

    def region_arguments(
        self, operation: Operation, region: Region, expected: list[Type] | tuple[Type, ...]
    ) -> None:
        """Number and types of a region's arguments."""
        self.same_list(
            operation, "region arguments", [value.type for value in region.arguments], expected
        )

    def terminator(self, operation: Operation, region: Region, *names: str) -> Operation:
        """The last operation of a region, which must be one of these."""
        last = region.operations[-1] if region.operations else None
        if last is None or last.name not in names:
            self.fail(
                operation,
                f"its region does not end in {' or '.join(names)}",
                f"add {names[0]} as the last operation",
            )
        return last

    def yields(
        self,
        operation: Operation,
        region: Region,
        name: str,
        expected: list[Type] | tuple[Type, ...],
        what: str = "yielded values",
    ) -> Operation:
        """The terminator of a region must give values of these types."""
        last = self.terminator(operation, region, name)
        self.same_list(last, what, [value.type for value in last.operands], expected)
        return last
