"""Reads types and attributes of Triton's IR."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.ir import DenseElements
from spyrelab.ktir.parse_attributes import Literal, Number
from spyrelab.ktir.parse_locations import LocationParser
from spyrelab.ktir.types import SCALARS, ScalarType, TensorType
from spyrelab.triton.ttir.types import DescriptorType, FunctionType, PointerType, TtirType

__all__ = ["TtirTypeParser"]

_POINTER_TYPES = ("!tt.ptr", "!tt.tensordesc")


class TtirTypeParser(LocationParser):
    """Adds pointers, descriptors, functions and symbols to what KTIR has."""

    def __init__(self, text: str) -> None:
        self._types: dict[str, TtirType] = {}
        super().__init__(text)

    # ---- types -----------------------------------------------------------------------

    def any_type(self) -> TtirType:
        """A type of KTIR, a pointer, a descriptor, a tensor of pointers."""
        if self.token in _POINTER_TYPES:
            return self._pointer_or_descriptor()
        if self.token == "tensor":
            return self._tensor_of_any()
        if self.kind == "type":
            known = self._types.get(self.token)
            if known is not None:
                self.advance()
                return known
            key = self.token
            self.split()
            self._types[key] = self._tensor_of_any()
            return self._types[key]
        return self._scalar()

    def _address_space(self) -> None:
        """A number, or "constant" of `tl.const` pointers: the card has one memory."""
        if self.token.startswith('"'):
            self.advance()
        else:
            self.integer("an address space")

    def _pointer_or_descriptor(self) -> TtirType:
        name = self.token
        self.advance()
        if name == "!tt.ptr":
            self.expect("<")
            pointee = self.any_type()
            if self.accept(","):
                self._address_space()
            self.expect(">")
            if isinstance(pointee, ScalarType):
                return PointerType(pointee)
            return PointerType(ScalarType(str(pointee)))
        nested = self.text[self.stop :].lstrip().startswith("tensor")
        if nested:
            self.expect("<")
            self.split()
            self.advance()
        shape = self._shape()
        element = _signless(self._scalar())
        while self.accept(","):
            self.attribute()
        self.expect(">")
        if nested:
            self.expect(">")
        return DescriptorType(tuple(extent or 0 for extent in shape), element)

    def _tensor_of_any(self) -> TtirType:
        self.expect("tensor")
        shape = tuple(extent or 0 for extent in self._shape())
        element = self.any_type()
        self.expect(">")
        if isinstance(element, PointerType):
            return PointerType(element.pointee, shape)
        if not isinstance(element, ScalarType):
            self.fail(f"a tensor of {element} is not understood")
        return TensorType(shape, element)

    def _scalar(self) -> ScalarType:
        """Also element types that KTIR lacks (``f64``): the lowering refuses them with a line."""
        known = SCALARS.get(self.token)
        if known is None and self.kind not in ("word", "bang"):
            self.fail(f"expected a type, found {self.found()}")
        known = known or ScalarType(self.token)
        self.advance()
        return known

    def function_type(self) -> FunctionType:
        """``(T, ..) -> (T, ..)``."""
        arguments = self._type_list()
        self.expect("->")
        results = self._type_list() if self.token == "(" else (self.any_type(),)
        return FunctionType(arguments, results)

    def _type_list(self) -> tuple[TtirType, ...]:
        self.expect("(")
        found: list[TtirType] = []
        while self.token != ")":
            found.append(self.any_type())
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(found)

    # ---- attributes ------------------------------------------------------------------

    def attribute(self) -> Any:
        """As in KTIR; also function types and symbols."""
        if self.token == "(":
            return self.function_type()
        if self.kind == "symbol":
            name = self.token[1:]
            self.advance()
            return name.strip('"')
        if self.kind == "type" or self.token in ("tensor", *_POINTER_TYPES):
            return self.any_type()
        return super().attribute()

    def number(self, literal: Literal, kind: ScalarType) -> Number:
        if kind.name in SCALARS:
            return super().number(literal, kind)
        text = literal[0]
        return int(text, 0) if text.lstrip("-")[:2] == "0x" else float(text)

    def dense(self) -> DenseElements:
        """``dense<..> : tensor<..>``, whose type may be one that KTIR lacks."""
        begin = self.start
        self.expect("dense")
        self.expect("<")
        literals: list[Literal] = []
        blob, shape = "", None
        if self.kind == "string":
            blob = self.string()
        elif self.token == "[":
            shape = self._nested_literals(literals)
        elif self.token != ">":
            literals.append(self.literal())
        self.expect(">")
        self.expect(":")
        kind = self.any_type()
        if not isinstance(kind, TensorType):
            self.fail("a dense constant is a tensor", at=begin)
        if blob:
            return self._from_blob(blob, kind, begin)
        values = tuple(self.number(literal, kind.element) for literal in literals)
        self._check_shape(shape, values, kind, begin)
        return DenseElements(kind, values)


def _signless(kind: ScalarType) -> ScalarType:
    """Descriptors alone spell signs (``si32``, ``ui8``): loaded tensors have none."""
    return SCALARS.get(kind.name.removeprefix("s").removeprefix("u"), kind)
