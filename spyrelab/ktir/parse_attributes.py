"""Reading attributes: numbers, strings, lists, dictionaries, dense constants."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.floats import decode_bits
from spyrelab.ktir.ir import DenseElements, EnumAttribute
from spyrelab.ktir.lexer import MAX_DIGITS
from spyrelab.ktir.parse_types import TypeParser
from spyrelab.ktir.types import SCALARS, ScalarType, TensorType

Number = int | float | bool
Literal = tuple[str, int]
"""Characters of a number (with its sign) and where they stand."""


class AttributeParser(TypeParser):
    """Adds attributes to the token stream."""

    def dictionary(self, known: Collection[str] = (), what: str = "") -> dict[str, Any]:
        """``{key = value, flag, ..}``, or nothing at all.

        Where ``known`` names the keys of an operation (called ``what``), other keys must
        carry a dialect's prefix.
        """
        if self.token != "{":
            return {}
        self.advance()
        self.enter()
        found: dict[str, Any] = {}
        while self.token != "}":
            key = self._key(known, what, found)
            found[key] = self.attribute() if self.accept("=") else True
            if not self.accept(","):
                break
        self.leave()
        self.expect("}", "separate attributes by commas")
        return found

    def _key(self, known: Collection[str], what: str, found: dict[str, Any]) -> str:
        at = self.start
        if self.kind == "string":
            key = self.string()
        else:
            key = self.expect_kind("word", "an attribute name")
        if key in found:
            self.fail(f"attribute {key} is given twice", at=at)
        if what and key not in known and "." not in key:
            hint = did_you_mean(key, known)
            if known and hint is None:
                hint = f"its attributes are {', '.join(sorted(known))}"
            self.fail(f"{what} has no attribute {key}", hint, at=at)
        return key

    def attribute(self) -> Any:
        """One attribute value."""
        match self.kind:
            case "string":
                return self.string()
            case "affine":
                return self.affine()
            case "hash":
                return self._hash()
            case "number":
                return self._typed_number()
            case "type" | "bang":
                return self.type()
        match self.token:
            case "-":
                return self._typed_number()
            case "true" | "false":
                value = self.token == "true"
                self.advance()
                return value
            case "[":
                return self._list()
            case "{":
                self.enter()
                nested = self.dictionary()
                self.leave()
                return nested
            case "dense":
                return self.dense()
            case "array":
                return self._array()
            case "unit":
                self.advance()
                return True
            case "affine_map" | "affine_set":
                return self.affine()
        if self.kind == "word":
            return self.type()
        raise self.error(f"expected an attribute value, found {self.found()}")

    def _list(self) -> tuple[Any, ...]:
        self.expect("[")
        self.enter()
        items: list[Any] = []
        while self.token != "]":
            items.append(self.attribute())
            if not self.accept(","):
                break
        self.leave()
        self.expect("]")
        return tuple(items)

    def _array(self) -> tuple[Any, ...]:
        self.advance()
        self.expect("<")
        kind = self._scalar()
        items: list[Number] = []
        if self.accept(":"):
            while True:
                items.append(self.number(self.literal(), kind))
                if not self.accept(","):
                    break
        self.expect(">")
        return tuple(items)

    def _hash(self) -> Any:
        name = self.token
        if name in self.aliases or "." not in name:
            return self.alias()
        if name in ("#ktdp.memory_space", "#ktdp.spyre_memory_space"):
            return self.memory_space()
        self.advance()
        value = self._skip_brackets()[1:-1].strip() if self.token == "<" else ""
        return EnumAttribute(name[1:], value)

    def literal(self) -> Literal:
        """A number with its sign, or true / false, not yet converted."""
        at = self.start
        sign = "-" if self.accept("-") else ""
        if self.kind != "number" and (sign or self.token not in ("true", "false")):
            bits = "write its bits: 0xFC00 is minus infinity in f16"
            infinite = self.token in ("inf", "nan")
            self.fail(f"expected a number, found {self.found()}", bits if infinite else None)
        if len(self.token) > MAX_DIGITS:
            self.fail("this number is too long", f"write at most {MAX_DIGITS} digits")
        text = sign + self.token
        self.advance()
        return text, at

    def number(self, literal: Literal, kind: ScalarType) -> Number:
        """The value of a literal in a type; hexadecimal stands for bits of a float type."""
        text, at = literal
        if kind.is_float:
            return self._float(text, at, kind)
        if text in ("true", "false"):
            if kind.name != "i1":
                self.fail(f"{text} is not a value of type {kind}", "only i1 has it", at=at)
            return text == "true"
        digits = text.lstrip("-")
        if not (digits.isdigit() or digits[:2] == "0x"):
            self.fail(f"{text} is not a whole number", f"{kind} takes whole numbers", at=at)
        return self._integer(int(text, 0 if digits[:2] == "0x" else 10), at, kind)

    def _integer(self, value: int, at: int, kind: ScalarType) -> Number:
        half = 1 << (kind.bits - 1)
        if not -half <= value < 2 * half:
            self.fail(
                f"{value} does not fit {kind}", f"its values lie in [{-half}, {2 * half})", at=at
            )
        if kind.name == "i1":
            return value != 0
        return value - 2 * half if value >= half else value

    def _float(self, text: str, at: int, kind: ScalarType) -> float:
        if text[:2] == "0x":
            bits = int(text, 16)
            if bits >> kind.bits:
                self.fail(f"{text} has more than the {kind.bits} bits of {kind}", at=at)
            return decode_bits(bits, kind)
        if text in ("true", "false") or "x" in text:
            self.fail(f"{text} is not a value of type {kind}", at=at)
        value = float(text)
        if math.isinf(value):
            self.fail(f"{text} is too large", "write an infinity as its bit pattern", at=at)
        return value

    def _typed_number(self) -> Number:
        literal = self.literal()
        if self.accept(":"):
            return self.number(literal, self._scalar())
        digits = literal[0].lstrip("-")
        if digits.isdigit() or digits[:2] == "0x":
            return int(literal[0], 0 if digits[:2] == "0x" else 10)
        return self.number(literal, SCALARS["f32"])

    def dense(self) -> DenseElements:
        """``dense<..> : tensor<..>``."""
        begin = self.start
        self.expect("dense")
        self.expect("<")
        literals: list[Literal] = []
        blob = ""
        shape: tuple[int, ...] | None = None
        if self.kind == "string":
            blob = self.string()
        elif self.token == "[":
            shape = self._nested_literals(literals)
        elif self.token != ">":
            literals.append(self.literal())
        self.expect(">")
        self.expect(":")
        at = self.start
        kind = self.type()
        if not isinstance(kind, TensorType):
            self.fail("a dense constant is a tensor", "write dense<..> : tensor<..>", at=at)
        if blob:
            return self._from_blob(blob, kind, begin)
        values = tuple(self.number(literal, kind.element) for literal in literals)
        self._check_shape(shape, values, kind, begin)
        return DenseElements(kind, values)

    def _nested_literals(self, literals: list[Literal]) -> tuple[int, ...]:
        """Appends the numbers of ``[[..], ..]`` and returns its shape."""
        self.expect("[")
        self.enter()
        count, inner = 0, None
        while self.token != "]":
            at = self.start
            if self.token == "[":
                shape: tuple[int, ...] = self._nested_literals(literals)
            else:
                literals.append(self.literal())
                shape = ()
            if inner is not None and shape != inner:
                self.fail("rows of different lengths in one dense constant", at=at)
            count, inner = count + 1, shape
            if not self.accept(","):
                break
        self.leave()
        self.expect("]")
        return (count, *(inner or ()))

    def _check_shape(
        self, shape: tuple[int, ...] | None, values: tuple[Any, ...], kind: TensorType, at: int
    ) -> None:
        if None in kind.shape:
            self.fail("a constant needs static extents", at=at)
        total = math.prod(extent or 0 for extent in kind.shape)
        if shape is None and len(values) == (1 if total else len(values)):
            return
        if shape != kind.shape and not (total == 0 and not values):
            written = "x".join(map(str, shape or (0,)))
            self.fail(f"a dense constant of shape {written} cannot be a {kind}", at=at)

    def _from_blob(self, blob: str, kind: TensorType, at: int) -> DenseElements:
        digits = blob.removeprefix("0x")
        try:
            raw = bytes.fromhex(digits)
        except ValueError:
            self.fail("this is not a hexadecimal string", at=at)
        size = kind.element.itemsize
        total = math.prod(extent or 0 for extent in kind.shape)
        if len(raw) not in (size, size * total) or not raw:
            self.fail(f"{kind} takes {size * total} bytes, this string has {len(raw)}", at=at)
        chunks = (raw[i : i + size] for i in range(0, len(raw), size))
        values = [self._from_bits(int.from_bytes(c, "little"), kind.element, at) for c in chunks]
        return DenseElements(kind, tuple(values))

    def _from_bits(self, bits: int, kind: ScalarType, at: int) -> Number:
        return decode_bits(bits, kind) if kind.is_float else self._integer(bits, at, kind)
