"""Reads the generic form of MLIR that Triton's library prints.

::

    %y = "tt.load"(%p, %m) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (..) -> .. loc(#loc8)

Tokens, numbers, dense constants and locations are read as in KTIR text.
"""

from __future__ import annotations

from spyrelab.triton.ttir.parse_types import TtirTypeParser
from spyrelab.triton.ttir.tree import TtirBlock, TtirOperation, TtirValue
from spyrelab.triton.ttir.types import TtirType

__all__ = ["parse_ttir"]


def parse_ttir(text: str) -> TtirOperation:
    """The module of a generic MLIR text.

    Raises
    ------
    KtirError
        With line and column, for text that is not of this form.
    """
    parser = _Parser(text)
    while parser.kind == "hash":
        parser.read_alias()
    module = parser.operation()
    while parser.kind == "hash":
        parser.read_alias()
    parser.settle_locations()
    return module


class _Parser(TtirTypeParser):
    def __init__(self, text: str) -> None:
        self._values: dict[str, TtirValue] = {}
        self._awaited: dict[str, TtirValue] = {}
        self._blocks: dict[str, TtirBlock] = {}
        super().__init__(text)

    def read_alias(self) -> None:
        """``#name = loc(..)``, or an attribute alias."""
        name = self.token
        self.advance()
        self.expect("=")
        if self.token == "loc":
            self.location_alias(name)
        else:
            self.aliases[name] = self.attribute()

    # ---- operations ------------------------------------------------------------------

    def operation(self) -> TtirOperation:
        """One operation, its regions included."""
        names = self._result_names()
        operation = TtirOperation(self.string("an operation"))
        operands = self._operands()
        if self.token == "[":
            operation.successors = self._successors()
        if self.accept("<"):
            operation.attributes = self.dictionary()
            self.expect(">")
        if self.token == "(":
            operation.regions = self._regions()
        if self.token == "{":
            operation.attributes |= self.dictionary()
        self.expect(":")
        signature = self.function_type()
        if len(signature.results) != len(names) or len(signature.arguments) != len(operands):
            self.fail(f"{operation.name} does not have the operands of its type")
        operation.operands = tuple(
            self._use(name, kind) for name, kind in zip(operands, signature.arguments, strict=True)
        )
        operation.results = tuple(
            self._define(name, kind) for name, kind in zip(names, signature.results, strict=True)
        )
        self.optional_location(operation)
        return operation

    def _result_names(self) -> list[str]:
        names: list[str] = []
        while self.kind == "value":
            name = self.token
            self.advance()
            if self.accept(":"):
                names += [f"{name}#{number}" for number in range(self.integer())]
            else:
                names.append(name)
            if not self.accept(","):
                break
        if names:
            self.expect("=")
        return names

    def _operands(self) -> list[str]:
        names: list[str] = []
        self.expect("(")
        while self.token != ")":
            names.append(self.expect_kind("value", "a value"))
            if not self.accept(","):
                break
        self.expect(")")
        return names

    def _use(self, name: str, kind: TtirType) -> TtirValue:
        """A value, which a block further down may define."""
        known = self._values.get(name)
        if known is None:
            known = self._awaited.setdefault(name, TtirValue(name[1:], kind))
        return known

    def _define(self, name: str, kind: TtirType) -> TtirValue:
        value = self._awaited.pop(name, None) or TtirValue(name[1:], kind)
        self._values[name] = value
        return value

    # ---- regions and blocks ----------------------------------------------------------

    def _successors(self) -> tuple[TtirBlock, ...]:
        self.expect("[")
        found: list[TtirBlock] = []
        while self.token != "]":
            found.append(self._block(self.expect_kind("caret", "a block")))
            if not self.accept(","):
                break
        self.expect("]")
        return tuple(found)

    def _block(self, label: str) -> TtirBlock:
        return self._blocks.setdefault(label, TtirBlock(label))

    def _regions(self) -> tuple[tuple[TtirBlock, ...], ...]:
        self.expect("(")
        found: list[tuple[TtirBlock, ...]] = []
        while self.token != ")":
            found.append(self._region())
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(found)

    def _region(self) -> tuple[TtirBlock, ...]:
        outer, outer_blocks = self._values, self._blocks
        self._values, self._blocks = dict(outer), {}
        self.enter()
        self.expect("{")
        found: list[TtirBlock] = []
        block = TtirBlock("entry")
        while not self.accept("}"):
            if self.kind == "caret":
                block = self._labelled_block()
                found.append(block)
                continue
            if not found:
                found.append(block)
            block.operations.append(self.operation())
        self.leave()
        self._values, self._blocks = outer, outer_blocks
        return tuple(found)

    def _labelled_block(self) -> TtirBlock:
        block = self._block(self.token)
        self.advance()
        arguments: list[TtirValue] = []
        if self.accept("("):
            while self.token != ")":
                name = self.expect_kind("value", "a block argument")
                self.expect(":")
                value = self._define(name, self.any_type())
                self.optional_location(value)
                arguments.append(value)
                if not self.accept(","):
                    break
            self.expect(")")
        block.arguments = tuple(arguments)
        self.expect(":")
        return block
