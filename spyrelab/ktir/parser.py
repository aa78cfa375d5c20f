"""From KTIR text to a module."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.affine import AffineMap, AffineSet
from spyrelab.ktir.dialects import FORMS
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import EnumAttribute, Function, Module, Value
from spyrelab.ktir.parse_operations import OperationParser
from spyrelab.ktir.types import MemorySpace, Type


def parse(text: str) -> Module:
    """Read a KTIR program.

    All public spellings are read: RFC 0682, the current one, and what MLIR prints.
    Reading checks names and written types; `Module.verify` checks everything else.

    Raises
    ------
    KtirError
        With line and column, for text that is not KTIR.
    TypeError
        For anything but a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse() takes the text of a program as str, not {type(text).__name__}")
    return _ModuleParser(text, FORMS).module()


class _ModuleParser(OperationParser):
    def module(self) -> Module:
        self._alias_definitions()
        name: str | None = None
        attributes: dict[str, Any] = {}
        if self.accept("module"):
            if self.kind == "symbol":
                name = self._symbol()
            if self.accept("attributes"):
                attributes = self.dictionary()
            self.expect("{")
            functions = self._functions()
            self.expect("}", "only functions may stand in a module")
            self.optional_location(None)
        else:
            functions = self._functions()
        self._alias_definitions()
        if self.kind != "end":
            hint = "only aliases may follow the module"
            if self.kind == "word" and not functions:
                hint = did_you_mean(self.token, ("module", "func.func")) or "start with module {"
            self.fail(f"expected the end of the text, found {self.found()}", hint)
        if not functions:
            self.fail("the text has no function", "a program needs at least one func.func")
        self.settle_locations()
        return Module(functions, name, attributes, self.text)

    def _alias_definitions(self) -> None:
        while self.kind in ("hash", "bang"):
            name, at = self.token, self.start
            self.advance()
            self.expect("=")
            if self.token == "loc":
                self.location_alias(name)
                continue
            if name in self.aliases:
                self.fail(f"{name} is defined twice", at=at)
            value = self.type() if name[0] == "!" else self.attribute()
            if not isinstance(value, AffineMap | AffineSet | MemorySpace | EnumAttribute | Type):
                self.fail("only maps, sets, spaces and types may have an alias", at=at)
            self.aliases[name] = value

    def _symbol(self) -> str:
        token = self.expect_kind("symbol", "a name such as @kernel")
        return token[1:].strip('"')

    def _functions(self) -> tuple[Function, ...]:
        found: list[Function] = []
        while self.token in ("func.func", "func"):
            found.append(self._function())
        return tuple(found)

    def _function(self) -> Function:
        self.advance()
        at = self.start
        visibility = self.token if self.token in ("public", "private") else None
        if visibility:
            self.advance()
            at = self.start
        name = self._symbol()
        position = self.position(at)
        outer = self.open_scope()
        self._defined_at.clear()
        arguments = self._function_arguments()
        results = tuple(self.result_types()) if self.accept("->") else ()
        attributes = self._function_attributes()
        if self.token != "{":
            self.fail(
                f"expected the body of @{name}, found {self.found()}",
                "KTIR functions are defined where they are declared",
            )
        body = self.region(arguments)
        self.close_scope(outer)
        function = Function(
            name, tuple(arguments), body, results, attributes, visibility, None, position
        )
        self.optional_location(function)
        return function

    def _function_arguments(self) -> list[Value]:
        self.expect("(")
        found: list[Value] = []
        while self.token != ")":
            name, at = self.fresh_name()
            self.expect(":")
            value = self.define(name, self.type(), at)
            self.dictionary()
            self.optional_location(value)
            found.append(value)
            if not self.accept(","):
                break
        self.expect(")")
        return found

    def _function_attributes(self) -> dict[str, Any]:
        if not self.accept("attributes"):
            return {}
        at = self.start
        attributes = self.dictionary()
        grid = attributes.get("grid", ())
        if not isinstance(grid, tuple) or not all(type(n) is int for n in grid):
            self.fail("grid must be a list of numbers", "write grid = [32] or [4, 8]", at)
        for key in attributes:
            if "grid" not in attributes and "." not in key and did_you_mean(key, ("grid",)):
                self.fail(f"unknown function attribute {key}", "did you mean grid?", at)
        return attributes
