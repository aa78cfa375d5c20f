"""Turning values, types, attributes and regions into text; `printer` puts it all together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from spyrelab.ktir.affine import AffineMap, AffineSet
from spyrelab.ktir.errors import KtirError
from spyrelab.ktir.floats import float_text
from spyrelab.ktir.ir import DenseElements, EnumAttribute, Function, Operation, Region, Value, quote
from spyrelab.ktir.types import (
    SCALARS,
    MemorySpace,
    ScalarType,
    TensorType,
    TileFutureType,
    Type,
)

WIDTH = 100
_ODD_NAME = re.compile(r"[^\w$.\-]", re.ASCII)
_NUMBER_OR_NAME = re.compile(r"\d+|[A-Za-z_$.\-][\w$.\-]*", re.ASCII)
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)


class Writable(Protocol):
    """The part of an operation's form that writing needs."""

    def write(self, writer: Writer, operation: Operation) -> str:
        """What stands behind the operation's name."""


class Writer:
    """Names of values and aliases while a module is written."""

    def __init__(self, forms: Mapping[str, Writable]) -> None:
        self._forms = forms
        self._names: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._indent = 0
        self.aliases: dict[AffineMap | AffineSet, str] = {}

    # Values

    def value(self, value: Value) -> str:
        """``%name`` of a value in use."""
        return self._names.get(value) or f"%{_clean(value.name)}"

    def values(self, values: Iterable[Value]) -> str:
        """``%a, %b``."""
        return ", ".join(map(self.value, values))

    def typed(self, values: Sequence[Value]) -> str:
        """``%a, %b : T, U``, empty for no values."""
        if not values:
            return ""
        return f"{self.values(values)} : {self.types(v.type for v in values)}"

    def bind(self, value: Value) -> str:
        """A name, unique in its scope, for a new value."""
        name = self.unused(_clean(value.name))
        self._taken.add(name)
        self._names[value] = f"%{name}"
        return f"%{name}"

    def unused(self, name: str) -> str:
        """The name itself, or with a number behind it where it is taken."""
        stem = f"v{name}" if name.isdigit() else name
        candidate, number = name, 0
        while candidate in self._taken:
            candidate = f"{stem}_{number}"
            number += 1
        return candidate

    def argument(self, value: Value) -> str:
        """``%name: T [loc]`` of a new region argument."""
        location = f" loc({value.location})" if value.location else ""
        return f"{self.bind(value)}: {self.type(value.type)}{location}"

    def arguments(self, values: Iterable[Value]) -> str:
        """``%a: T, %b: U`` of new region arguments."""
        return ", ".join(map(self.argument, values))

    def _bind_results(self, results: Sequence[Value]) -> str:
        if not results:
            return ""
        base = results[0].name.partition("#")[0]
        pack = [f"{base}#{index}" for index in range(len(results))]
        if len(results) > 1 and [value.name for value in results] == pack:
            name = self.unused(_clean(base))
            self._taken.add(name)
            for index, value in enumerate(results):
                self._names[value] = f"%{name}#{index}"
            return f"%{name}:{len(results)} = "
        return ", ".join(map(self.bind, results)) + " = "

    # Types and attributes

    def type(self, kind: Type) -> str:
        """Text of a type; sets inside it become aliases."""
        if isinstance(kind, TileFutureType):
            partials = self.types(kind.partials)
            return f"!ktdp.tile_future<({partials}), groups = {self.affine(kind.groups)}>"
        return str(kind)

    def types(self, kinds: Iterable[Type]) -> str:
        """``T, U``."""
        return ", ".join(map(self.type, kinds))

    def result_types(self, kinds: Sequence[Type]) -> str:
        """``T``, or ``(T, U)`` where there is not exactly one."""
        text = self.types(kinds)
        return text if len(kinds) == 1 else f"({text})"

    def affine(self, value: AffineMap | AffineSet) -> str:
        """Alias of a map or set."""
        if value not in self.aliases:
            kind = "map" if isinstance(value, AffineMap) else "set"
            number = sum(name.startswith(f"#{kind}") for name in self.aliases.values())
            self.aliases[value] = f"#{kind}{number}"
        return self.aliases[value]

    def attribute(self, value: Any) -> str:
        """Text of an attribute value."""
        match value:
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
            case float():
                return f"{float_text(value, SCALARS['f32'])} : f32"
            case str():
                return quote(value)
            case AffineMap() | AffineSet():
                return self.affine(value)
            case DenseElements():
                return self.dense(value)
            case tuple() | list():
                return f"[{', '.join(map(self.attribute, value))}]"
            case dict():
                return "{" + ", ".join(self.entries(value)) + "}"
            case MemorySpace() | EnumAttribute():
                return str(value)
        return self.type(value)

    def entries(self, attributes: Mapping[str, Any]) -> Iterator[str]:
        """``key = value`` texts, in the order of the mapping."""
        for key, value in attributes.items():
            name = key if _PLAIN_KEY.fullmatch(key) else quote(key)
            yield name if value is True else f"{name} = {self.attribute(value)}"

    def extras(self, operation: Operation, known: Collection[str]) -> str:
        """A dictionary of the attributes that the operation's syntax does not show."""
        extra = {k: v for k, v in sorted(operation.attributes.items()) if k not in known}
        return " {" + ", ".join(self.entries(extra)) + "}" if extra else ""

    def number(self, value: float | bool, kind: ScalarType) -> str:
        """A number as a constant of a type."""
        if kind.name == "i1":
            return "true" if value else "false"
        return float_text(float(value), kind) if kind.is_float else str(int(value))

    def dense(self, value: DenseElements) -> str:
        """``dense<..> : tensor<..>``."""
        kind = value.type
        texts = [self.number(v, kind.element) for v in value.values]
        if len(texts) > 1:
            texts = [_nested(texts, kind)]
        return f"dense<{''.join(texts)}> : {kind}"

    def mixed(self, static: Sequence[int | None], dynamic: Iterator[Value]) -> str:
        """``[4, %n]``: literals, and the next value wherever there is None."""
        parts = (self.value(next(dynamic)) if n is None else str(n) for n in static)
        return f"[{', '.join(parts)}]"

    # Operations and regions

    def operation(self, operation: Operation) -> str:
        """One operation, without indentation before it."""
        form = self._forms.get(operation.name)
        if form is None:
            raise KtirError(f"unknown operation {operation.name}")
        name = "return" if operation.name == "func.return" else operation.name
        text = name + form.write(self, operation)
        if operation.location is not None:
            text += f" loc({operation.location})"
        return self._bind_results(operation.results) + text

    def region(
        self, region: Region, label: bool = True, bound: bool = False, implicit: str | None = None
    ) -> str:
        """``{ ^bb0(..): operations }`` over several lines.

        Parameters
        ----------
        label
            Whether the text repeats the arguments behind ``^bb0``.
        bound
            Whether the arguments (and the scope) are the caller's affair.
        implicit
            Terminator that is left out where it has no operands.
        """
        taken = self._taken
        self._taken = set(taken) if not bound else taken
        head = ""
        if label and region.arguments:
            head = f"\n{self.margin}^bb0({self.arguments(region.arguments)}):"
        self._indent += 1
        lines = [
            f"\n{self.margin}{self.operation(operation)}"
            for operation in region.operations
            if operation.name != implicit or operation.operands
        ]
        self._indent -= 1
        self._taken = taken
        body = "".join(lines)
        return "{" + head + body + f"\n{self.margin}" + "}"

    def scoped(self) -> set[str]:
        """Start a scope of names; give the result to `restore`."""
        taken = self._taken
        self._taken = set(taken)
        return taken

    def restore(self, taken: set[str]) -> None:
        """End a scope of names."""
        self._taken = taken

    def function(self, function: Function) -> str:
        """A whole function, indented once."""
        outer = self.scoped()
        self._indent += 1
        visibility = f"{function.visibility} " if function.visibility else ""
        text = f"{self.margin}func.func {visibility}@{function.name}"
        text += f"({self.arguments(function.arguments)})"
        if function.results:
            text += f" -> {self.result_types(function.results)}"
        if function.attributes:
            text += f" attributes {self.attribute(function.attributes)}"
        text += f" {self.region(function.body, label=False, bound=True)}"
        if function.location is not None:
            text += f" loc({function.location})"
        self._indent -= 1
        self.restore(outer)
        return text

    def sorted_aliases(self) -> list[tuple[AffineMap | AffineSet, str]]:
        """Maps first, then sets, each in order of first use."""
        return sorted(self.aliases.items(), key=lambda item: isinstance(item[0], AffineSet))

    @property
    def margin(self) -> str:
        """Indentation of the current line."""
        return "  " * self._indent

    def fitted(self, head: str, entries: Sequence[str], tail: str) -> str:
        """``head {entries} tail`` on one line, or with the entries on lines of their own."""
        if not entries:
            return head + tail
        line = f"{head} {{{', '.join(entries)}}}{tail}"
        if len(self.margin) + len(line) + WIDTH // 3 <= WIDTH:
            return line
        inner = self.margin + "  "
        return f"{head} {{\n{inner}{', '.join(entries)}\n{self.margin}}}{tail}"


def _clean(name: str) -> str:
    cleaned = _ODD_NAME.sub("_", name) or "v"
    return cleaned if _NUMBER_OR_NAME.fullmatch(cleaned) else f"v{cleaned}"


def _nested(texts: Sequence[str], kind: TensorType) -> str:
    if not kind.shape:
        return texts[0]
    rows = list(texts)
    for extent in reversed(kind.shape):
        step = extent or 1
        count = max(len(rows) // step, 1)
        rows = ["[" + ", ".join(rows[i * step : (i + 1) * step]) + "]" for i in range(count)]
    return rows[0]
