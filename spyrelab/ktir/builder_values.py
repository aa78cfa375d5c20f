"""Handles that a `Builder` gives out: scalars, tensors, views and places in views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

from spyrelab.errors import SpyreLabError
from spyrelab.ktir.affine import Binary, Constant, Dim, Expr, Symbol, add, multiply, negate
from spyrelab.ktir.ir import Value
from spyrelab.ktir.types import MemRefType, ScalarType, TensorType, Type

Number = int | float


class BuilderError(SpyreLabError, ValueError):
    """A builder call that cannot become KTIR; ``hint`` says what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint


class Emitter(Protocol):
    """What handles need from their builder."""

    def arithmetic(self, kind: str, left: Any, right: Any) -> Any: ...

    def compare(self, predicate: str, left: Any, right: Any) -> Any: ...

    def cast(self, source: Any, dtype: ScalarType) -> Any: ...

    def negate(self, source: Any) -> Any: ...

    def materialise(self, scalar: Scalar) -> Value: ...

    def rename(self, value: Value, name: str) -> None: ...

    def extract(self, tensor: Tensor, indices: Sequence[Any]) -> Scalar: ...


class Handle:
    """A value of the program under construction, and the block it was made in."""

    def __init__(self, builder: Emitter, value: Value, block: object) -> None:
        self.builder = builder
        self.block = block
        self._value = value

    @property
    def value(self) -> Value:
        """The SSA value."""
        return self._value

    @property
    def type(self) -> Type:
        return self._value.type

    def named(self, name: str) -> Self:
        """The same handle, its value renamed for the printed text."""
        self.builder.rename(self.value, name)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._value!r})"


class Element(Handle):
    """Something arithmetic works on: a scalar or a tensor.

    Operators emit ``arith`` operations.  Comparisons with ``<`` and friends give ``i1``
    values; equality is spelled `equals`, so that handles stay ordinary Python objects.
    """

    dtype: ScalarType

    def _accepts(self, other: object) -> bool:
        return isinstance(other, (int, float, type(self)))

    def _apply(self, kind: str, left: object, right: object, other: object) -> Self:
        if not self._accepts(other):
            return NotImplemented
        result: Self = self.builder.arithmetic(kind, left, right)
        return result

    def __add__(self, other: Any) -> Self:
        return self._apply("add", self, other, other)

    def __radd__(self, other: Any) -> Self:
        return self._apply("add", other, self, other)

    def __sub__(self, other: Any) -> Self:
        return self._apply("sub", self, other, other)

    def __rsub__(self, other: Any) -> Self:
        return self._apply("sub", other, self, other)

    def __mul__(self, other: Any) -> Self:
        return self._apply("mul", self, other, other)

    def __rmul__(self, other: Any) -> Self:
        return self._apply("mul", other, self, other)

    def __truediv__(self, other: Any) -> Self:
        return self._apply("div", self, other, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._apply("div", other, self, other)

    def __floordiv__(self, other: Any) -> Self:
        return self._apply("floordiv", self, other, other)

    def __mod__(self, other: Any) -> Self:
        return self._apply("mod", self, other, other)

    def __and__(self, other: Any) -> Self:
        return self._apply("and", self, other, other)

    def __or__(self, other: Any) -> Self:
        return self._apply("or", self, other, other)

    def __neg__(self) -> Self:
        result: Self = self.builder.negate(self)
        return result

    def __lt__(self, other: Any) -> Any:
        return self.builder.compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self.builder.compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.builder.compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.builder.compare("ge", self, other)

    def equals(self, other: Any) -> Any:
        """``self == other`` as an ``i1`` value."""
        return self.builder.compare("eq", self, other)

    def differs(self, other: Any) -> Any:
        """``self != other`` as an ``i1`` value."""
        return self.builder.compare("ne", self, other)

    def to(self, dtype: ScalarType) -> Self:
        """The same numbers in another element type, by the fitting cast."""
        result: Self = self.builder.cast(self, dtype)
        return result

    def __bool__(self) -> bool:
        raise BuilderError(
            f"the truth of {self!r} is not known while the program is built",
            "use builder.if_ or builder.select",
        )


class Scalar(Element):
    """A number; ``constant`` holds it where the builder knows it already."""

    def __init__(
        self,
        builder: Emitter,
        dtype: ScalarType,
        value: Value | None = None,
        constant: Number | None = None,
        block: object = None,
    ) -> None:
        self.builder = builder
        self.dtype = dtype
        self.constant = constant
        self.block = block
        self._known = value

    @property
    def value(self) -> Value:
        """The SSA value; a constant becomes an operation when it is first needed."""
        if self._known is None:
            self._known = self.builder.materialise(self)
        return self._known

    @property
    def type(self) -> Type:
        return self.dtype

    def __repr__(self) -> str:
        text = self._known if self.constant is None else f"{self.constant} : {self.dtype}"
        return f"Scalar({text})"


class Tensor(Element):
    """A tile that lives in the scratchpad."""

    def __init__(self, builder: Emitter, value: Value, block: object) -> None:
        super().__init__(builder, value, block)
        kind = value.type
        if not isinstance(kind, TensorType):
            raise BuilderError(f"{value!r} is no tensor")
        self.shape = kind.shape
        self.dtype = kind.element

    def _accepts(self, other: object) -> bool:
        return isinstance(other, (int, float, Scalar, Tensor))

    @property
    def rank(self) -> int:
        return len(self.shape)

    def item(self, *indices: Scalar | int) -> Scalar:
        """One element as a scalar; no index is needed for a single element."""
        return self.builder.extract(self, indices or (0,) * self.rank)


class Index:
    """An affine expression over the variables of an indirect tile and captured scalars."""

    def __init__(self, expr: Expr, captures: tuple[Scalar, ...] = ()) -> None:
        self.expr = expr
        self.captures = captures

    @staticmethod
    def of(source: Index | Scalar | int) -> Index:
        """An int, a scalar or an index as an index."""
        if isinstance(source, Index):
            return source
        if isinstance(source, Scalar):
            known = source.constant
            return Index(Symbol(0), (source,)) if known is None else Index(Constant(int(known)))
        if isinstance(source, int):
            return Index(Constant(source))
        raise BuilderError(f"{source!r} cannot stand in a subscript", "use ints and index scalars")

    def in_terms_of(self, captures: Sequence[Scalar], symbols: bool) -> Expr:
        """The expression with its captures numbered as in ``captures``."""
        places = [_position(captures, own) for own in self.captures]
        return _renumber(self.expr, places, symbols)

    def _join(self, other: Index | Scalar | int, combine: Any, swap: bool = False) -> Index:
        right = Index.of(other)
        captures = _unique((*self.captures, *right.captures))
        a, b = self.in_terms_of(captures, True), right.in_terms_of(captures, True)
        return Index(combine(b, a) if swap else combine(a, b), captures)

    def __add__(self, other: Index | Scalar | int) -> Index:
        return self._join(other, add)

    def __radd__(self, other: Scalar | int) -> Index:
        return self._join(other, add, swap=True)

    def __sub__(self, other: Index | Scalar | int) -> Index:
        return self._join(other, lambda a, b: add(a, negate(b)))

    def __mul__(self, other: int) -> Index:
        return self._join(other, multiply)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> Index:
        return self._join(other, lambda a, b: Binary("floordiv", a, b))

    def __mod__(self, other: int) -> Index:
        return self._join(other, lambda a, b: Binary("mod", a, b))


def _position(captures: Sequence[Scalar], wanted: Scalar) -> int:
    return [scalar.value for scalar in captures].index(wanted.value)


def _unique(scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return tuple({scalar.value: scalar for scalar in scalars}.values())


def _renumber(expr: Expr, places: Sequence[int], symbols: bool) -> Expr:
    match expr:
        case Symbol(index):
            return Symbol(places[index]) if symbols else Dim(places[index])
        case Binary(operator, left, right):
            parts = (_renumber(left, places, symbols), _renumber(right, places, symbols))
            return Binary(operator, *parts)
    return expr


class View(Handle):
    """A strided region of memory; ``view[i, j]`` is a place in it."""

    @property
    def memref(self) -> MemRefType:
        kind = self.value.type
        assert isinstance(kind, MemRefType)
        return kind

    @property
    def dtype(self) -> ScalarType:
        return self.memref.element

    @property
    def rank(self) -> int:
        return len(self.memref.shape)

    def __getitem__(self, subscripts: Any) -> Place:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != self.rank:
            raise BuilderError(
                f"{self!r} takes {self.rank} subscripts, not {len(given)}",
                "give one per dimension of the view",
            )
        return Place(self, tuple(Index.of(entry) for entry in given))


class Place:
    """A view and the coordinates of a tile's first element in it."""

    def __init__(self, view: View, subscripts: tuple[Index, ...]) -> None:
        self.view = view
        self.subscripts = subscripts

    @property
    def captures(self) -> tuple[Scalar, ...]:
        """Scalars in the subscripts, each once, in order of appearance."""
        return _unique([scalar for entry in self.subscripts for scalar in entry.captures])


class AccessTile(Handle):
    """A set of coordinates that `load` and `store` move."""


class Future(Handle):
    """Partial results that tiles have published for others."""
