"""The builder's ground floor: blocks, names, constants and arithmetic."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from spyrelab.ktir.builder_values import (
    BuilderError,
    Element,
    Handle,
    Number,
    Scalar,
    Tensor,
)
from spyrelab.ktir.ir import DenseElements, Location, Operation, Region, Value
from spyrelab.ktir.types import F16, F32, I1, I64, INDEX, ScalarType, TensorType, Type

_FLOAT_OPERATIONS = {
    "add": "addf",
    "sub": "subf",
    "mul": "mulf",
    "div": "divf",
    "min": "minimumf",
    "max": "maximumf",
}
_INTEGER_OPERATIONS = {
    "add": "addi",
    "sub": "subi",
    "mul": "muli",
    "floordiv": "floordivsi",
    "mod": "remsi",
    "min": "minsi",
    "max": "maxsi",
    "and": "andi",
    "or": "ori",
    "xor": "xori",
}
_INDEX_OPERATIONS = {**_INTEGER_OPERATIONS, "floordiv": "divui", "mod": "remui"}
_RESULT_NAMES = {
    "add": "sum",
    "sub": "difference",
    "mul": "product",
    "div": "quotient",
    "floordiv": "quotient",
    "mod": "rest",
    "min": "least",
    "max": "greatest",
    "and": "both",
    "or": "either",
    "xor": "one_of",
}
_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1}


def operation_of(kind: str, dtype: ScalarType) -> str:
    """Name of the ``arith`` operation for ``kind`` on ``dtype``; raises BuilderError."""
    if dtype.is_float:
        table = _FLOAT_OPERATIONS
    else:
        table = _INDEX_OPERATIONS if dtype == INDEX else _INTEGER_OPERATIONS
    if kind not in table:
        hint = "use //" if kind == "div" else f"{dtype} has: {', '.join(table)}"
        raise BuilderError(f"there is no '{kind}' for {dtype}", hint)
    return f"arith.{table[kind]}"


@dataclass(eq=False)
class Block:
    """A region that is being filled, and what may be reused inside it."""

    region: Region
    memo: dict[Any, Scalar] = field(default_factory=dict)
    yielded: tuple[Handle, ...] | None = None


class EmittingBuilder:
    """Appends operations to the innermost open block."""

    def __init__(self) -> None:
        self._blocks = [Block(Region())]
        self._constants: dict[Any, Operation] = {}
        self._names: set[str] = set()
        self._finished = False
        self.location: Location | None = None

    @contextmanager
    def at(self, location: Location | None) -> Iterator[None]:
        """Operations made inside the with block carry a place in the front end's source."""
        outer, self.location = self.location, location
        try:
            yield
        finally:
            self.location = outer

    @property
    def block(self) -> Block:
        """The innermost open block."""
        return self._blocks[-1]

    def unique(self, hint: str) -> str:
        """``hint``, or ``hint_1``, ``hint_2``, ... if it is taken already."""
        name, count = hint, 0
        while name in self._names:
            count += 1
            name = f"{hint}_{count}"
        self._names.add(name)
        return name

    def rename(self, value: Value, name: str) -> None:
        """Give a value another name in the printed text."""
        self._names.discard(value.name)
        value.name = self.unique(name)

    def emit(
        self,
        name: str,
        operands: Sequence[Handle] = (),
        results: Sequence[Type] = (),
        attributes: dict[str, Any] | None = None,
        regions: Sequence[Region] = (),
        hint: str = "value",
    ) -> tuple[Value, ...]:
        """Append one operation; the open door to every operation without its own method."""
        if self._finished:
            raise BuilderError("the module is built already", "start a new Builder")
        values = tuple(self.use(operand) for operand in operands)
        made = tuple(Value(self.unique(hint), kind) for kind in results)
        operation = Operation(
            name, values, made, dict(attributes or {}), tuple(regions), self.location
        )
        self.block.region.operations.append(operation)
        return made

    def use(self, handle: Handle) -> Value:
        """The SSA value of a handle, if it can be seen from here."""
        if not isinstance(handle, Handle):
            raise BuilderError(f"{handle!r} is no value of this program")
        if handle.builder is not self:
            raise BuilderError(f"{handle!r} belongs to another builder")
        if handle.block is not None and handle.block not in self._blocks:
            raise BuilderError(
                f"{handle!r} was made inside a loop or branch that is closed",
                "carry it out: loop(..., carry=...) or yield_",
            )
        return handle.value

    def tensor(self, value: Value) -> Tensor:
        """Handle of a tensor value made in the current block."""
        return Tensor(self, value, self.block)

    def element(self, value: Value, block: Block | None = None) -> Any:
        """Handle of a scalar or tensor value made in a block (default: the current one)."""
        block = block or self.block
        if isinstance(value.type, TensorType):
            return Tensor(self, value, block)
        assert isinstance(value.type, ScalarType)
        return Scalar(self, value.type, value, block=block)

    # ---- constants -------------------------------------------------------------------

    def constant(self, number: Number, dtype: ScalarType = INDEX) -> Scalar:
        """A literal; equal literals share one operation at the top of the function."""
        return Scalar(self, dtype, constant=rounded(number, dtype))

    def materialise(self, scalar: Scalar) -> Value:
        """The operation behind a constant scalar."""
        assert scalar.constant is not None
        hint = _constant_name(scalar.constant, scalar.dtype)
        return self.shared_constant(scalar.constant, scalar.dtype, hint)

    def shared_constant(self, number: Any, kind: Type, hint: str) -> Value:
        """The one ``arith.constant`` of this attribute and type."""
        attribute = number if not isinstance(number, DenseElements) else number.values
        key = (repr(attribute), kind)
        if key not in self._constants:
            result = Value(self.unique(hint), kind)
            self._constants[key] = Operation("arith.constant", (), (result,), {"value": number})
        return self._constants[key].result

    # ---- arithmetic ------------------------------------------------------------------

    def arithmetic(self, kind: str, left: Any, right: Any) -> Any:
        """``left kind right`` for scalars and tensors; numbers take the other side's type."""
        a, b = self.matched(left, right)
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            folded = self._folded(kind, a, b)
            if folded is not None:
                return folded
        name = operation_of(kind, a.dtype)
        return self.pure(name, (a, b), a.type, hint=_RESULT_NAMES[kind])

    def _folded(self, kind: str, a: Scalar, b: Scalar) -> Scalar | None:
        if a.dtype.is_float or kind not in _FOLD:
            return None
        x, y = a.constant, b.constant
        if y is not None and _NEUTRAL.get(kind) == y:
            return a
        if kind in ("add", "mul") and x is not None and _NEUTRAL[kind] == x:
            return b
        if kind == "mul" and 0 in (x, y):
            return self.constant(0, a.dtype)
        if x is None or y is None:
            return None
        if kind in ("floordiv", "mod") and (y <= 0 or x < 0):
            return None
        return self.constant(_FOLD[kind](int(x), int(y)), a.dtype)

    def pure(
        self,
        name: str,
        operands: Sequence[Element],
        result: Type,
        attributes: dict[str, Any] | None = None,
        hint: str = "value",
    ) -> Any:
        """One result without effects; a scalar computed before in sight is used again."""
        if isinstance(result, TensorType):
            return self.tensor(self.emit(name, operands, [result], attributes, hint=hint)[0])
        used = tuple(self.use(operand) for operand in operands)
        key = (name, used, result, tuple((attributes or {}).items()))
        for block in self._blocks:
            if key in block.memo:
                return block.memo[key]
        made = self.element(self.emit(name, operands, [result], attributes, hint=hint)[0])
        self.block.memo[key] = made
        return made

    def matched(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Both sides as handles of one type; raises BuilderError if that cannot be."""
        handles = [side for side in (left, right) if isinstance(side, Element)]
        like = max(handles, key=lambda side: isinstance(side, Tensor), default=None)
        if like is None:
            raise BuilderError(f"neither {left!r} nor {right!r} is a value of this program")
        a, b = self.lifted(left, like), self.lifted(right, like)
        if a.type != b.type:
            hint = "cast one with .to(...)" if a.dtype != b.dtype else "use builder.broadcast"
            raise BuilderError(f"operands of {a.type} and {b.type} do not match", hint)
        return a, b

    def lifted(self, source: Any, like: Element) -> Element:
        """A number or scalar in the type of ``like``."""
        if isinstance(source, Tensor) or (isinstance(source, Scalar) and isinstance(like, Scalar)):
            return source
        if isinstance(source, Scalar):
            assert isinstance(like, Tensor)
            return self.splat(source, like.shape)
        if not isinstance(source, (int, float)):
            raise BuilderError(f"{source!r} is no number and no value of this program")
        if isinstance(like, Tensor):
            return self.full(like.shape, source, like.dtype)
        return self.constant(source, like.dtype)

    def full(self, shape: Sequence[int | None], number: Number, dtype: ScalarType) -> Tensor:
        """A constant tensor with one value everywhere; it takes no room in the scratchpad."""
        kind = TensorType(tuple(shape), dtype)
        number = rounded(number, dtype)
        if None in kind.shape:
            return self.splat(self.constant(number, dtype), kind.shape)
        value = self.shared_constant(
            DenseElements(kind, (number,)), kind, f"all_{_constant_name(number, dtype)}"
        )
        return Tensor(self, value, None)

    def splat(self, scalar: Scalar, shape: Sequence[int | None]) -> Tensor:
        """A tensor with a scalar everywhere; free where elementwise operations use it."""
        kind = TensorType(tuple(shape), scalar.dtype)
        return self.tensor(self.emit("tensor.splat", [scalar], [kind], hint="splat")[0])

    def extract(self, tensor: Tensor, indices: Sequence[Any]) -> Scalar:
        """One element of a tensor."""
        if len(indices) != tensor.rank:
            raise BuilderError(f"{tensor.type} takes {tensor.rank} indices, not {len(indices)}")
        places = [self.constant(i) if isinstance(i, int) else i for i in indices]
        made = self.emit("tensor.extract", [tensor, *places], [tensor.dtype], hint="element")
        return Scalar(self, tensor.dtype, made[0], block=self.block)

    def negate(self, source: Element) -> Any:
        """``-source``."""
        if not source.dtype.is_float:
            return self.arithmetic("sub", 0, source)
        return self.pure("arith.negf", (source,), source.type, hint="negated")

    def compare(self, predicate: str, left: Any, right: Any) -> Any:
        """``i1`` result of ``lt le gt ge eq ne``; index compares unsigned, other ints signed."""
        a, b = self.matched(left, right)
        if a.dtype.is_float:
            name, full = "arith.cmpf", "une" if predicate == "ne" else f"o{predicate}"
        else:
            sign = "" if predicate in ("eq", "ne") else "u" if a.dtype == INDEX else "s"
            name, full = "arith.cmpi", sign + predicate
        kind = TensorType(a.shape, I1) if isinstance(a, Tensor) else I1
        return self.pure(name, (a, b), kind, {"predicate": full}, hint="holds")

    def cast(self, source: Element, dtype: ScalarType) -> Any:
        """The same numbers in another type (``extf``, ``truncf``, ``sitofp``, ...)."""
        if source.dtype == dtype:
            return source
        known = source.constant if isinstance(source, Scalar) else None
        if known is not None and (dtype.is_float or not source.dtype.is_float):
            return self.constant(known, dtype)
        between = _stop_over(source.dtype, dtype)
        if between is not None:
            return self.cast(self.cast(source, between), dtype)
        name = _cast_name(source.dtype, dtype)
        kind = TensorType(source.shape, dtype) if isinstance(source, Tensor) else dtype
        stem = re.sub(r"(_values)?(_\d+)?$", "", source.value.name)
        hint = f"{stem}_{short_name(dtype)}"
        return self.pure(f"arith.{name}", (source,), kind, hint=hint)


def _stop_over(source: ScalarType, target: ScalarType) -> ScalarType | None:
    """The type between the two where no single operation casts."""
    if source.is_float and target.is_float and source.bits == target.bits:
        return F32
    if INDEX in (source, target) and source.is_float != target.is_float:
        return I64
    return None


def _cast_name(source: ScalarType, target: ScalarType) -> str:
    if source.is_float and target.is_float:
        return "extf" if source.bits < target.bits else "truncf"
    if source.is_float:
        return "fptosi"
    if target.is_float:
        return "uitofp" if source == I1 else "sitofp"
    if INDEX in (source, target):
        return "index_castui" if source == I1 else "index_cast"
    if source.bits > target.bits:
        return "trunci"
    return "extui" if source == I1 else "extsi"


def rounded(number: Number, dtype: ScalarType) -> Any:
    """A Python number as the constant of a type that it is meant for."""
    if dtype == I1:
        return bool(number)
    if not dtype.is_float:
        if number != int(number):
            raise BuilderError(f"{number} is no {dtype}", "use a whole number")
        return int(number)
    code = {F32: "<f", F16: "<e"}.get(dtype)
    if code is None or number in (float("inf"), float("-inf")):
        return float(number)
    try:
        return float(struct.unpack(code, struct.pack(code, number))[0])
    except OverflowError:
        raise BuilderError(f"{number} does not fit {dtype}", "use a wider type") from None


def short_name(dtype: ScalarType) -> str:
    """The type's name as part of an identifier."""
    return dtype.name.removeprefix("!spyreop.").lower()


_SPOKEN = {
    "0": "zero",
    "1": "one",
    "inf": "inf",
    "-inf": "neg_inf",
    "True": "true",
    "False": "false",
}


def _constant_name(number: Number, dtype: ScalarType) -> str:
    if dtype == INDEX:
        return f"c{number}".replace("-", "_")
    text = str(number) if isinstance(number, int) else f"{number:.3g}"
    text = _SPOKEN.get(text, "c" + text.replace("-", "_").replace(".", "p").replace("+", ""))
    return text if dtype == I1 else f"{text}_{short_name(dtype)}"
