"""The builder that kernels are lowered with: operations may go to an outer block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.builder_emit import Block
from spyrelab.ktir.builder_values import Element, Handle
from spyrelab.ktir.ir import Region, Value
from spyrelab.ktir.types import I1, INDEX, ScalarType

__all__ = ["Index", "KernelBuilder"]

Index = int | Scalar
"""A number of elements: known, or a scalar of type index."""


class KernelBuilder(Builder):
    """Adds arithmetic on indices, done as far out as its operands allow."""

    def __init__(self, name: str, grid: Sequence[int], attributes: dict[str, Any]) -> None:
        super().__init__(name, grid, attributes)
        self._not_negative: set[Value] = set()
        self._reshaped: dict[Value, Tensor] = {}
        self._named: set[Value] = set()

    # ---- tensors ---------------------------------------------------------------------

    def reshape(self, source: Tensor, shape: Sequence[int]) -> Tensor:
        """As in `Builder`; back to the shape that a tensor had before gives that tensor."""
        first = self._reshaped.get(source.value, source)
        if first.shape == tuple(shape):
            return first
        made = super().reshape(source, shape)
        if made is not source:
            self._reshaped[made.value] = first
        return made

    def name_after(self, handle: Handle, name: str) -> None:
        """Name a value after a variable of the kernel, unless it has such a name already."""
        value = handle.value
        if handle.block is None or value in self._named:
            return
        self._named.add(value)
        if value.name.rstrip("_0123456789") != name:
            self.rename(value, name)

    # ---- blocks ----------------------------------------------------------------------

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Operations go to the end of an open block, so in front of what is open inside it."""
        outer = self._blocks
        if block in outer:
            self._blocks = outer[: outer.index(block) + 1]
        try:
            yield
        finally:
            self._blocks = outer

    @contextmanager
    def near(self, handles: Sequence[Handle]) -> Iterator[None]:
        """Operations go to the innermost of the blocks that the handles were made in."""
        depths = [self._blocks.index(h.block) for h in handles if h.block in self._blocks]
        with self.inside(self._blocks[max(depths, default=0)]):
            yield

    def sees(self, handle: Handle) -> bool:
        """Whether a handle may be used here."""
        return handle.block is None or handle.block in self._blocks

    def suspend(self) -> Block:
        """Leave the innermost block without ending it; `resume` enters it again."""
        return self._blocks.pop()

    def resume(self, block: Block) -> None:
        """Enter a block that was left."""
        self._blocks.append(block)

    def stack(self) -> list[Block]:
        """The open blocks, to go back to."""
        return list(self._blocks)

    def unwind(self, blocks: list[Block]) -> None:
        """Forget blocks that were opened since `stack`."""
        self._blocks = list(blocks)

    def free_name(self, name: str) -> str:
        """The name, or one like it that no value has."""
        return name if name not in self._names else self.free_name(f"{name}_")

    def begin(self, arguments: Sequence[Value] = ()) -> Region:
        """Open a block and return its region; `suspend` leaves it."""
        return self.open(arguments).region

    # ---- facts -----------------------------------------------------------------------

    def never_negative(self, scalar: Scalar) -> Scalar:
        """Note that an integer scalar is at least zero."""
        if scalar.constant is None:
            self._not_negative.add(scalar.value)
        return scalar

    def is_not_negative(self, number: Index) -> bool:
        """Whether a number is known to be at least zero."""
        known = number if isinstance(number, int) else number.constant
        if known is not None:
            return known >= 0
        return isinstance(number, Scalar) and number.value in self._not_negative

    # ---- indices ---------------------------------------------------------------------

    def index(self, number: Scalar | int) -> Index:
        """A whole number as an index; a literal if it is known."""
        if isinstance(number, int):
            return number
        if number.constant is not None:
            return int(number.constant)
        if number.dtype == INDEX:
            return number
        with self.near([number]):
            made: Scalar = self.cast(number, INDEX)
        return self.never_negative(made) if self.is_not_negative(number) else made

    def scalar_of(self, number: Index, dtype: ScalarType = INDEX) -> Scalar:
        """An index as a scalar of a type."""
        if isinstance(number, int):
            return self.constant(number, dtype)
        with self.near([number]):
            made: Scalar = self.cast(number, dtype)
        return self.never_negative(made) if self.is_not_negative(number) else made

    def plus(self, a: Index, b: Index) -> Index:
        return self._combine("arith.addi", a, b, a + b if _both(a, b) else None, 0, True)

    def minus(self, a: Index, b: Index) -> Index:
        if isinstance(b, int):
            return self.plus(a, -b)
        if isinstance(a, Scalar) and a.value is b.value:
            return 0
        return self._combine("arith.subi", a, b, None, None, False)

    def times(self, a: Index, b: Index) -> Index:
        if 0 in (a, b):
            return 0
        return self._combine("arith.muli", a, b, a * b if _both(a, b) else None, 1, True)

    def least(self, a: Index, b: Index) -> Index:
        return self._combine("arith.minsi", a, b, min(a, b) if _both(a, b) else None, None, False)

    def most(self, a: Index, b: Index) -> Index:
        if b == 0 and self.is_not_negative(a):
            return a
        return self._combine("arith.maxsi", a, b, max(a, b) if _both(a, b) else None, None, False)

    def floor_divided(self, a: Index, b: Index) -> Index:
        """``a // b`` for positive b."""
        if b == 1:
            return a
        known = a // b if isinstance(a, int) and isinstance(b, int) else None
        return self._combine("arith.floordivsi", a, b, known, None, True)

    def ceil_divided(self, a: Index, b: Index) -> Index:
        """``-(-a // b)`` for positive b."""
        if b == 1:
            return a
        known = -(-a // b) if isinstance(a, int) and isinstance(b, int) else None
        return self._combine("arith.ceildivsi", a, b, known, None, True)

    def rest_of(self, a: Index, b: Index) -> Index:
        """``a % b`` for a that is not negative and positive b."""
        known = a % b if isinstance(a, int) and isinstance(b, int) else None
        return self._combine("arith.remui", a, b, known, None, True)

    def is_less(self, a: Index, b: Index) -> Scalar:
        """``a < b`` with signs."""
        if isinstance(a, int) and isinstance(b, int):
            return self.constant(a < b, I1)
        with self.near([x for x in (a, b) if isinstance(x, Scalar)]):
            operands = (self._lift(a), self._lift(b))
            made: Scalar = self.pure("arith.cmpi", operands, I1, {"predicate": "slt"}, "holds")
        return made

    def if_else(self, condition: Scalar, a: Index, b: Index) -> Index:
        """``a`` where the condition holds, else ``b``."""
        if condition.constant is not None:
            return a if condition.constant else b
        if _same(a, b):
            return a
        with self.near([condition, *(x for x in (a, b) if isinstance(x, Scalar))]):
            operands = (condition, self._lift(a), self._lift(b))
            made: Scalar = self.pure("arith.select", operands, INDEX, hint="chosen")
        both = self.is_not_negative(a) and self.is_not_negative(b)
        return self.never_negative(made) if both else made

    def all_of(self, conditions: Sequence[Scalar]) -> Scalar:
        """``i1`` scalars, all of which have to hold."""
        result = self.constant(True, I1)
        for condition in conditions:
            if condition.constant is not None and condition.constant:
                continue
            if result.constant:
                result = condition
                continue
            with self.near([result, condition]):
                result = self.pure("arith.andi", (result, condition), I1, hint="both")
        return result

    def _lift(self, number: Index) -> Scalar:
        return self.constant(number) if isinstance(number, int) else number

    def _combine(
        self, name: str, a: Index, b: Index, known: Any, neutral: int | None, keeps_sign: bool
    ) -> Index:
        if known is not None:
            return int(known)
        if neutral is not None and b == neutral and not isinstance(b, Scalar):
            return a
        if neutral is not None and a == neutral and not isinstance(a, Scalar):
            return b
        operands: list[Element] = [self._lift(a), self._lift(b)]
        with self.near(operands):
            made: Scalar = self.pure(name, operands, INDEX, hint=_NAMES[name])
        positive = self.is_not_negative(a) and self.is_not_negative(b)
        clamped = name == "arith.maxsi" and (self.is_not_negative(a) or self.is_not_negative(b))
        if clamped or (positive and (keeps_sign or name == "arith.minsi")):
            self.never_negative(made)
        return made


_NAMES = {
    "arith.addi": "sum",
    "arith.subi": "rest",
    "arith.muli": "product",
    "arith.minsi": "least",
    "arith.maxsi": "most",
    "arith.floordivsi": "quotient",
    "arith.ceildivsi": "quotient",
    "arith.remui": "rest",
}


def _both(a: Index, b: Index) -> bool:
    return isinstance(a, int) and isinstance(b, int)


def _same(a: Index, b: Index) -> bool:
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.value is b.value
    return isinstance(a, int) and isinstance(b, int) and a == b
