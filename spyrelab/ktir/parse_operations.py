"""Reading operations, regions and values; each operation's own syntax is in `dialects`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.matching import compatible
from spyrelab.ktir.parse_locations import LocationParser
from spyrelab.ktir.types import Type

MAX_RESULTS = 100


@dataclass(slots=True)
class Parts:
    """What an operation's syntax gives: everything but its name and its results' names."""

    operands: Iterable[Value] = ()
    types: Iterable[Type] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()


class Readable(Protocol):
    """The part of an operation's form that reading needs."""

    def read(self, parser: OperationParser) -> Parts:
        """Read what stands behind the operation's name."""

    @property
    def reads_generic(self) -> bool:
        """Whether the generic form is read."""

    def read_generic(self, parser: OperationParser, parts: Parts) -> Parts:
        """Turn the generic form's attributes into ours."""


Label = tuple[str, int, int | None]
"""Name of a result, where it stands, and N of ``%name:N``."""


class OperationParser(LocationParser):
    """Adds operations to the token stream."""

    def __init__(self, text: str, forms: Mapping[str, Readable]) -> None:
        self._forms = forms
        self._values: dict[str, Value] = {}
        self._defined_at: dict[str, int] = {}
        self._scope: list[str] = []
        super().__init__(text)

    # Values

    def value(self, what: str = "a value") -> Value:
        """The use of a value."""
        if self.kind != "value":
            self.fail(f"expected {what}, found {self.found()}", "values are written %name")
        value = self.lookup(self.token)
        self.advance()
        return value

    def lookup(self, token: str) -> Value:
        """The value that ``%name`` means here, without taking the token."""
        value = self._values.get(token[1:])
        return self._other_spelling(token[1:]) if value is None else value

    def _other_spelling(self, name: str) -> Value:
        """``%x`` also means ``%x#0``, and the other way round."""
        other = name[:-2] if name.endswith("#0") else f"{name}#0"
        if other in self._values:
            return self._values[other]
        message = f"value %{name[:80]} is not defined here"
        at = self._defined_at.get(name)
        if at is not None:
            line = self.position(at).line
            self.fail(message, f"the one defined in line {line} only exists inside its region")
        close = did_you_mean(name, self._values)
        hint = close.replace("mean ", "mean %") if close else f"define it above: %{name[:40]} = .."
        raise self.error(message, hint)

    def values(self, closing: str = "") -> list[Value]:
        """``%a, %b, ..``; none at all where ``closing`` follows at once."""
        if closing and self.token == closing:
            return []
        found = [self.value()]
        while self.token == ",":
            self.advance()
            found.append(self.value())
        return found

    def typed_values(self, closing: str = ")") -> list[Value]:
        """``%a, %b : T, U``, or nothing where ``closing`` follows at once."""
        values = self.values(closing)
        if values:
            self.expect(":")
            self.written_types(values)
        return values

    def written_types(self, values: Sequence[Value]) -> None:
        """One written type per value, checked against the values' own types."""
        for index, value in enumerate(values):
            if index:
                self.expect(",", f"there are {len(values)} values, so write as many types")
            self.written_type(value)

    def written_type(self, *values: Value) -> Type:
        """A written type that all these values must have."""
        at = self.start
        written = self.type()
        for value in values:
            if value.type is not written and not compatible(value.type, written):
                self.fail(
                    f"%{value.name} has type {value.type}, not {written}",
                    "write the type that its definition gives",
                    at,
                )
        return written

    def define(self, name: str, kind: Type, at: int) -> Value:
        """A new value, visible until its region ends."""
        if name in self._values:
            line = self.position(self._defined_at[name]).line
            self.fail(f"%{name} is defined twice", f"the first one is in line {line}", at)
        value = Value(name, kind)
        self._values[name] = value
        self._defined_at[name] = at
        self._scope.append(name)
        return value

    def fresh_name(self) -> tuple[str, int]:
        """``%name`` that is about to be defined: its name and where it stands."""
        at = self.start
        name = self.expect_kind("value", "a name such as %x")[1:]
        if "#" in name:
            self.fail(f"%{name} cannot be defined", "'#' picks one of several results", at)
        return name, at

    def argument(self) -> Value:
        """``%name: T [loc]``."""
        name, at = self.fresh_name()
        self.expect(":")
        value = self.define(name, self.type(), at)
        self.optional_location(value)
        return value

    def arguments(self) -> list[Value]:
        """``(%name: T, ..)``."""
        self.expect("(")
        found: list[Value] = []
        while self.token != ")":
            found.append(self.argument())
            if not self.accept(","):
                break
        self.expect(")")
        return found

    # Regions

    def open_scope(self) -> list[str]:
        """Start a scope; give the result to `close_scope`."""
        self.enter()
        outer, self._scope = self._scope, []
        return outer

    def close_scope(self, outer: list[str]) -> None:
        """Forget the values defined since `open_scope`."""
        self.leave()
        for name in self._scope:
            del self._values[name]
        self._scope = outer

    def region(
        self, arguments: Sequence[Value] = (), implicit: str | None = None, labelled: bool = True
    ) -> Region:
        """``{ ^bb0(..): operations }``.

        Call inside a scope in which ``arguments`` are defined.  ``implicit`` names the
        terminator that the text may leave out.
        """
        self.expect("{")
        if self.kind == "caret":
            at = self.start
            self.advance()
            labels = self.arguments() if self.token == "(" else []
            self.expect(":")
            if labels and not labelled:
                self.fail("this region takes no arguments of its own", at=at)
            arguments = [*arguments, *labels]
        operations = self.operations()
        ended = bool(operations) and operations[-1].name == implicit
        if implicit is not None and not ended:
            operations.append(Operation(implicit, position=self.position(self.start)))
        self.expect("}")
        return Region(tuple(arguments), operations)

    def scoped_region(self, implicit: str | None = None, labelled: bool = True) -> Region:
        """A region in a scope of its own."""
        outer = self.open_scope()
        region = self.region((), implicit, labelled)
        self.close_scope(outer)
        return region

    def operations(self) -> list[Operation]:
        """Operations up to a closing brace."""
        found: list[Operation] = []
        while self.token != "}":
            if self.kind == "caret":
                self.fail("a second block", "KTIR regions have one block: use scf.if and scf.for")
            if self.kind == "end":
                self.fail("expected '}', found the end of the text", "close every region")
            found.append(self.operation())
        return found

    # Operations

    def operation(self) -> Operation:
        """``[%a, %b =] name ... [loc]``."""
        labels = self._labels() if self.kind == "value" else []
        start = self.start
        if self.kind == "string":
            name, parts = self._generic()
        elif self.kind == "word":
            name = "func.return" if self.token == "return" else self.token
            form = self.form(name, start)
            self.advance()
            parts = form.read(self)
        else:
            self.fail(f"expected an operation, found {self.found()}")
        results = self._results(labels, tuple(parts.types), start)
        operation = Operation(
            name,
            tuple(parts.operands),
            results,
            parts.attributes,
            parts.regions,
            None,
            self.position(start),
        )
        if self.token == "loc":
            self.optional_location(operation)
        return operation

    def form(self, name: str, at: int) -> Readable:
        """The form of an operation whose name stands at ``at``."""
        form = self._forms.get(name)
        if form is None:
            self.fail(f"unknown operation {name[:80]}", did_you_mean(name, self._forms), at)
        return form

    def _labels(self) -> list[Label]:
        found: list[Label] = []
        while True:
            if len(found) == MAX_RESULTS:
                self.fail(f"more than {MAX_RESULTS} results")
            name, at = self.fresh_name()
            count = None
            if self.accept(":"):
                count = self.integer("the number of results")
                if not 0 < count <= MAX_RESULTS:
                    self.fail(f"%{name}:{count} is not a sensible number of results", at=at)
            found.append((name, at, count))
            if not self.accept(","):
                break
        self.expect("=")
        return found

    def _results(
        self, labels: list[Label], types: tuple[Type, ...], start: int
    ) -> tuple[Value, ...]:
        if len(labels) == 1 and len(types) == 1:
            name, at, count = labels[0]
            if count is None:
                return (self.define(name, types[0], at),)
        if not labels:
            # Results that nobody names still exist.
            return tuple(Value(str(index), kind) for index, kind in enumerate(types))
        names: list[tuple[str, int]] = []
        for name, at, count in labels:
            if count is None:
                names.append((name, at))
            else:
                names += [(f"{name}#{index}", at) for index in range(count)]
        if len(names) != len(types):
            self.fail(
                f"this operation has {_plural(len(types), 'result')}, not {len(names)}",
                "name each result, or use %name:N",
                start,
            )
        return tuple(
            self.define(name, kind, at) for (name, at), kind in zip(names, types, strict=True)
        )

    def _generic(self) -> tuple[str, Parts]:
        """``"name"(%a, %b) <{..}> ({region}, ..) {..} : (T, U) -> V``."""
        at = self.start
        name = self.string()
        form = self.form(name, at)
        if not form.reads_generic:
            hint = f"write {name} without quotes"
            self.fail(f"{name} is not read in the generic form", hint, at)
        parts = Parts()
        self.expect("(")
        operands = self.values(")")
        self.expect(")")
        if self.accept("<"):
            parts.attributes |= self.dictionary()
            self.expect(">")
        if self.accept("("):
            regions = [self.scoped_region()]
            while self.accept(","):
                regions.append(self.scoped_region())
            self.expect(")")
            parts.regions = tuple(regions)
        parts.attributes |= self.dictionary()
        self.expect(":")
        self.expect("(")
        if operands:
            self.written_types(operands)
        self.expect(")")
        self.expect("->")
        parts.operands = operands
        parts.types = self.result_types()
        return name, form.read_generic(self, parts)


def _plural(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
