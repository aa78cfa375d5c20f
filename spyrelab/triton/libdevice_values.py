"""Small words that the recipes of libdevice functions are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.ktir import F32, I1, I32, Builder, ScalarType, TensorType, Type
from spyrelab.ktir.builder_values import Element, Tensor

__all__ = ["Words"]


class Words:
    """Elementwise operations on scalars or tensors of one builder."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def typed(self, like: Element, dtype: ScalarType) -> Type:
        """The type of ``like`` with other elements."""
        return TensorType(like.shape, dtype) if isinstance(like, Tensor) else dtype

    def op(self, name: str, *operands: Any) -> Any:
        """An operation whose operands and result have one type; numbers take it."""
        like = next(o for o in operands if isinstance(o, Element))
        values = [self.builder.lifted(o, like) for o in operands]
        return self.builder.pure(name, values, like.type)

    def math(self, name: str, *operands: Any) -> Any:
        """An operation of the ``math`` dialect."""
        return self.op(f"math.{name}", *operands)

    def arith(self, name: str, *operands: Any) -> Any:
        """An operation of the ``arith`` dialect."""
        return self.op(f"arith.{name}", *operands)

    def cast(self, name: str, source: Element, dtype: ScalarType) -> Any:
        """A named cast: ``bitcast``, ``extui``, ``fptosi``, ..."""
        if source.dtype == dtype:
            return source
        return self.builder.pure(f"arith.{name}", (source,), self.typed(source, dtype))

    def test(self, name: str, source: Element) -> Any:
        """``isnan``, ``isinf`` or ``isfinite`` as an ``i1``."""
        return self.builder.pure(f"math.{name}", (source,), self.typed(source, I1))

    def choose(self, condition: Element, then: Any, otherwise: Any) -> Any:
        """One or the other, element by element."""
        like = next(o for o in (then, otherwise) if isinstance(o, Element))
        lifted = [self.builder.lifted(o, like) for o in (then, otherwise)]
        return self.builder.select(condition, *lifted)

    def number(self, value: float, like: Element) -> Any:
        """A constant in the type of ``like``."""
        return self.builder.lifted(value, like)

    def polynomial(self, x: Element, coefficients: Sequence[float]) -> Any:
        """Horner's rule; the highest power comes first."""
        total = self.number(coefficients[0], x)
        for coefficient in coefficients[1:]:
            total = self.math("fma", total, x, coefficient)
        return total

    def bits(self, source: Element) -> Any:
        """The bits of an f32 as an i32."""
        return self.cast("bitcast", source, I32)

    def from_bits(self, source: Element) -> Any:
        """An f32 of the bits of an i32."""
        return self.cast("bitcast", source, F32)
