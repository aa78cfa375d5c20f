"""Checking a module against the rules of the language.

The rules of single operations stand beside the dialect tables; this module checks what
concerns the whole: names, scopes, terminators and futures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects import FORMS
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import Function, Module, Operation, Region, Value
from spyrelab.ktir.types import TensorType, TileFutureType

MOST_ELEMENTS = 10**15
"""Of a tensor: far beyond every memory, and far from where 64-bit sizes wrap."""


def verify(module: Module) -> None:
    """Check every rule that can be checked without running the program.

    Raises
    ------
    KtirError
        At the first operation that breaks a rule.
    """
    seen: set[str] = set()
    for function in module.functions:
        if function.name in seen:
            Check(function, module.source).fail(
                function, f"function @{function.name} is defined twice", "give it another name"
            )
        seen.add(function.name)
        _FunctionVerifier(function, module.source).run()


class _FunctionVerifier:
    def __init__(self, function: Function, source: str | None) -> None:
        self._function = function
        self._check = Check(function, source)
        self._visible: set[Value] = set()
        self._uses: dict[Value, int] = {}

    def run(self) -> None:
        self._head()
        self._visible.update(self._function.arguments)
        body = self._function.body
        self._block(body, "func.func", self._function)
        for future, count in self._uses.items():
            if count != 1:
                self._check.fail(
                    self._check.definitions[future],
                    f"future %{future.name} is used {count} times; a future has exactly one use",
                    "produce the partials once for each collective that takes them",
                )

    def _head(self) -> None:
        function = self._function
        if function.visibility not in (None, "public", "private"):
            self._check.fail(function, f"visibility {function.visibility} is not known")
        grid = function.attributes.get("grid")
        if grid is None:
            return
        if not isinstance(grid, tuple) or not 1 <= len(grid) <= 3:
            self._check.fail(function, f"grid {grid} must have 1 to 3 entries", "write grid = [32]")
        if any(type(extent) is not int or extent < 1 for extent in grid):
            self._check.fail(function, f"grid {list(grid)} has an entry that is not positive")

    def _block(self, region: Region, parent: str, owner: Operation | Function) -> None:
        operations = region.operations
        added: list[Value] = list(region.arguments)
        self._visible.update(region.arguments)
        last = len(operations) - 1
        if operations and operations[-1].name not in FORMS:
            self._unknown(operations[-1])
        if not operations or not FORMS[operations[-1].name].is_terminator:
            wanted = " or ".join(_terminators(parent))
            name = f"@{owner.name}" if isinstance(owner, Function) else f"a region of {parent}"
            self._check.fail(owner, f"{name} does not end in {wanted}", f"add {wanted} at its end")
        for index, operation in enumerate(operations):
            self._operation(operation, parent, index == last)
            self._visible.update(operation.results)
            added += operation.results
        self._visible.difference_update(added)

    def _operation(self, operation: Operation, parent: str, is_last: bool) -> None:
        check, form = self._check, FORMS.get(operation.name)
        if form is None:
            self._unknown(operation)
        if form.is_terminator and not is_last:
            check.fail(operation, "operations follow this one, which ends the region")
        if form.is_terminator and parent not in form.ends:
            wanted = " or ".join(_terminators(parent))
            check.fail(operation, f"it cannot end a region of {parent}", f"use {wanted}")
        self._count(operation, "operands", len(operation.operands), form.operands)
        self._count(operation, "results", len(operation.results), form.results)
        self._count(operation, "regions", len(operation.regions), form.regions)
        for key in form.needs:
            if key not in operation.attributes:
                check.fail(operation, f"it has no attribute {key}")
        for value in operation.operands:
            self._use(operation, value)
        for value in operation.results:
            if value in check.definitions or value in self._visible:
                check.fail(operation, f"%{value.name} is defined twice")
            check.definitions[value] = operation
            if isinstance(value.type, TensorType):
                self._size(operation, value.type)
            if isinstance(value.type, TileFutureType):
                self._uses[value] = 0
        form.rule(check, operation)
        check.enclosing.append(operation)
        for region in operation.regions:
            self._block(region, operation.name, operation)
        check.enclosing.pop()

    def _size(self, operation: Operation, kind: TensorType) -> None:
        if math.prod(extent for extent in kind.shape if extent is not None) > MOST_ELEMENTS:
            self._check.fail(operation, f"a {kind} is beyond every memory")

    def _unknown(self, operation: Operation) -> NoReturn:
        hint = did_you_mean(operation.name, FORMS)
        self._check.fail(operation, "unknown operation", hint)

    def _use(self, operation: Operation, value: Value) -> None:
        if value not in self._visible:
            self._check.fail(
                operation,
                f"%{value.name} is not defined where it is used",
                "a region's values exist only inside it: yield them as results",
            )
        if value in self._uses:
            self._uses[value] += 1

    def _count(self, operation: Operation, what: str, count: int, wanted: int | None) -> None:
        if wanted is not None and count != wanted:
            self._check.fail(operation, f"it takes {wanted} {what}, not {count}")


def _terminators(parent: str) -> Sequence[str]:
    names = [name for name, form in FORMS.items() if parent in form.ends] or ["a terminator"]
    return [name.replace("func.return", "return") for name in names]
