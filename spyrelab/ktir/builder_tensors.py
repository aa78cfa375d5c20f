"""The builder's operations on tensors: functions, reductions, products, shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from spyrelab.ktir.builder_emit import EmittingBuilder, operation_of
from spyrelab.ktir.builder_values import BuilderError, Element, Number, Scalar, Tensor
from spyrelab.ktir.ir import DenseElements, Operation, Region, Value
from spyrelab.ktir.types import F32, I32, I64, INDEX, Dimension, ScalarType, TensorType

_FOLDED = {"add": "total", "mul": "product", "max": "top", "min": "bottom"}
_IDENTITIES: dict[str, Number] = {"add": 0, "mul": 1, "max": -math.inf, "min": math.inf}


class TensorBuilder(EmittingBuilder):
    """Everything between a load and a store."""

    # ---- elementwise -----------------------------------------------------------------

    def exp(self, source: Element) -> Any:
        """Elementwise exponential."""
        return self.math("exp", source)

    def log(self, source: Element) -> Any:
        """Elementwise natural logarithm."""
        return self.math("log", source)

    def sqrt(self, source: Element) -> Any:
        """Elementwise square root."""
        return self.math("sqrt", source)

    def rsqrt(self, source: Element) -> Any:
        """Elementwise ``1 / sqrt``."""
        return self.math("rsqrt", source)

    def tanh(self, source: Element) -> Any:
        """Elementwise hyperbolic tangent."""
        return self.math("tanh", source)

    def erf(self, source: Element) -> Any:
        """Elementwise error function."""
        return self.math("erf", source)

    def absolute(self, source: Element) -> Any:
        """Elementwise absolute value."""
        return self.math("absf" if source.dtype.is_float else "absi", source)

    def math(self, function: str, source: Element) -> Any:
        """Any one-operand function of the ``math`` dialect."""
        if not source.dtype.is_float and function != "absi":
            raise BuilderError(
                f"math.{function} takes floats, not {source.dtype}", "cast with .to(F32)"
            )
        return self.pure(f"math.{function}", (source,), source.type, hint=function)

    def maximum(self, left: Any, right: Any) -> Any:
        """The greater of two values; NaN wins."""
        return self.arithmetic("max", left, right)

    def minimum(self, left: Any, right: Any) -> Any:
        """The lesser of two values; NaN wins."""
        return self.arithmetic("min", left, right)

    def select(self, condition: Element, then: Any, otherwise: Any) -> Any:
        """``then`` where the condition holds, else ``otherwise``."""
        wide = isinstance(condition, Tensor)
        if wide and not isinstance(then, Tensor) and not isinstance(otherwise, Tensor):
            raise BuilderError(
                "select on a tensor condition needs a tensor to choose from",
                "make one with builder.full",
            )
        a, b = self.matched(then, otherwise)
        if isinstance(condition, Tensor) and condition.shape != a.shape:
            raise BuilderError(
                f"condition {condition.type} does not fit {a.type}", "use builder.broadcast"
            )
        return self.pure("arith.select", (condition, a, b), a.type, hint="chosen")

    # ---- making tensors --------------------------------------------------------------

    def fill(
        self, shape: Sequence[int], number: Number | Scalar, dtype: ScalarType = F32
    ) -> Tensor:
        """A tensor with one value everywhere."""
        if isinstance(number, Scalar):
            return self.splat(number, shape)
        return self.full(shape, number, dtype)

    def constant_tensor(self, values: Iterable[Number], dtype: ScalarType = INDEX) -> Tensor:
        """A rank-1 tensor of literals."""
        numbers = tuple(float(v) if dtype.is_float else int(v) for v in values)
        kind = TensorType((len(numbers),), dtype)
        value = self.shared_constant(DenseElements(kind, numbers), kind, "table")
        return Tensor(self, value, None)

    def empty(self, kind: TensorType) -> Tensor:
        """Room for a result; reads as zero."""
        return self.tensor(self.emit("tensor.empty", [], [kind], hint="room")[0])

    # ---- reductions and broadcasts ---------------------------------------------------

    def reduce(
        self,
        kind: str,
        source: Tensor,
        axes: int | Sequence[int] | None = None,
        initial: Tensor | None = None,
    ) -> Tensor:
        """Fold axes away with ``add``, ``mul``, ``max`` or ``min`` (all axes by default).

        ``initial`` is a running result of the reduced shape that is folded in last.
        """
        dimensions = _axes(axes, source.rank)
        kept = tuple(e for axis, e in enumerate(source.shape) if axis not in dimensions)
        if initial is None:
            initial = self.full(kept, _identity(kind, source.dtype), source.dtype)
        result = TensorType(kept, source.dtype)
        if initial.type != result:
            raise BuilderError(f"the initial value is {initial.type}", f"it has to be {result}")
        region = self._fold_region(operation_of(kind, source.dtype), source.dtype)
        attributes = {"inputs": 1, "dimensions": dimensions}
        made = self.emit(
            "linalg.reduce", [source, initial], [result], attributes, [region], _FOLDED[kind]
        )
        return self.tensor(made[0])

    def _fold_region(self, name: str, dtype: ScalarType) -> Region:
        value, total = Value(self.unique("in"), dtype), Value(self.unique("acc"), dtype)
        folded = Value(self.unique("folded"), dtype)
        operation = Operation(name, (total, value), (folded,))
        return Region((value, total), [operation, Operation("linalg.yield", (folded,))])

    def broadcast(
        self, source: Tensor, shape: Sequence[int], dimensions: int | Sequence[int]
    ) -> Tensor:
        """Repeat a tensor along the new ``dimensions`` of ``shape``."""
        added = _axes(dimensions, len(shape))
        kept = tuple(extent for axis, extent in enumerate(shape) if axis not in added)
        if kept != source.shape:
            raise BuilderError(
                f"{source.type} does not fill {tuple(shape)} without dimensions {added}",
                f"the kept dimensions are {kept}",
            )
        kind = TensorType(tuple(shape), source.dtype)
        attributes = {"inputs": 1, "dimensions": added}
        operands = [source, self.empty(kind)]
        return self.tensor(
            self.emit("linalg.broadcast", operands, [kind], attributes, hint="wide")[0]
        )

    def transpose(self, source: Tensor, permutation: Sequence[int] = (1, 0)) -> Tensor:
        """Axis ``i`` of the result is axis ``permutation[i]`` of the source."""
        if sorted(permutation) != list(range(source.rank)):
            raise BuilderError(f"{tuple(permutation)} permutes no {source.type}")
        kind = TensorType(tuple(source.shape[axis] for axis in permutation), source.dtype)
        attributes = {"inputs": 1, "permutation": tuple(permutation)}
        operands = [source, self.empty(kind)]
        return self.tensor(
            self.emit("linalg.transpose", operands, [kind], attributes, hint="turned")[0]
        )

    # ---- products --------------------------------------------------------------------

    def matmul(
        self, left: Tensor, right: Tensor, into: Tensor | None = None, transpose_right: bool = False
    ) -> Tensor:
        """``into + left @ right`` for rank 2, or rank 3 with a batch axis first.

        Without ``into`` the sum starts at zero, in f32 for floats and i32 for integers.
        ``transpose_right`` reads ``right`` as ``[n, k]``.
        """
        rows, cols = _product_shape(left, right, transpose_right)
        batch = left.shape[:-2]
        if into is None:
            wide = F32 if left.dtype.is_float else I64 if left.dtype == I64 else I32
            into = self.full((*batch, rows, cols), 0, wide)
        if into.shape != (*batch, rows, cols):
            raise BuilderError(f"the sum goes into {into.type}", f"not {(*batch, rows, cols)}")
        name = "batch_matmul" if batch else "matmul"
        name += "_transpose_b" if transpose_right else ""
        operands = [left, right, into]
        made = self.emit(f"linalg.{name}", operands, [into.type], {"inputs": 2}, hint="product")
        return self.tensor(made[0])

    # ---- shapes ----------------------------------------------------------------------

    def reshape(self, source: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in row-major order in another shape.

        One side has to be the other with neighbouring axes joined.
        """
        target = tuple(shape)
        if target == source.shape:
            return source
        longer, shorter = sorted((source.shape, target), key=len, reverse=True)
        groups = _reassociation(longer, shorter)
        if groups is None:
            raise BuilderError(f"{source.type} cannot be regrouped as {target}")
        kind = TensorType(target, source.dtype)
        attributes: dict[str, Any] = {"reassociation": groups}
        name = "tensor.collapse_shape"
        if len(target) > len(source.shape):
            name = "tensor.expand_shape"
            attributes["output_shape"] = target
        return self.tensor(self.emit(name, [source], [kind], attributes, hint="reshaped")[0])

    def extract_slice(
        self, source: Tensor, offsets: Sequence[int | Scalar], sizes: Sequence[int]
    ) -> Tensor:
        """A box cut out of a tensor."""
        literals, dynamic = _split_offsets(offsets)
        attributes = {
            "offsets": literals,
            "sizes": tuple(sizes),
            "strides": (1,) * source.rank,
        }
        kind = TensorType(tuple(sizes), source.dtype)
        made = self.emit(
            "tensor.extract_slice", [source, *dynamic], [kind], attributes, hint="part"
        )
        return self.tensor(made[0])

    def insert_slice(self, part: Tensor, whole: Tensor, offsets: Sequence[int | Scalar]) -> Tensor:
        """``whole`` with a box at ``offsets`` replaced by ``part``."""
        literals, dynamic = _split_offsets(offsets)
        attributes = {"offsets": literals, "sizes": part.shape, "strides": (1,) * whole.rank}
        operands = [part, whole, *dynamic]
        made = self.emit("tensor.insert_slice", operands, [whole.type], attributes, hint="patched")
        return self.tensor(made[0])


def _axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    given = range(rank) if axes is None else (axes,) if isinstance(axes, int) else axes
    found = tuple(sorted(axis % rank if -rank <= axis < rank else -1 for axis in given))
    if len(set(found)) != len(found) or any(axis < 0 for axis in found):
        raise BuilderError(f"{axes} does not name axes of rank {rank}")
    return found


def _identity(kind: str, dtype: ScalarType) -> Number:
    if kind not in _IDENTITIES:
        raise BuilderError(f"there is no fold '{kind}'", f"use one of {', '.join(_IDENTITIES)}")
    number = _IDENTITIES[kind]
    if dtype.is_float or math.isfinite(number):
        return number
    return -(1 << dtype.bits - 1) if kind == "max" else (1 << dtype.bits - 1) - 1


def _product_shape(left: Tensor, right: Tensor, transposed: bool) -> tuple[Dimension, Dimension]:
    fits = left.rank == right.rank and left.rank in (2, 3) and left.shape[:-2] == right.shape[:-2]
    depth, cols = right.shape[-2:][:: -1 if transposed else 1] if fits else (None, None)
    if not fits or left.shape[-1] != depth or left.dtype != right.dtype:
        raise BuilderError(
            f"{left.type} @ {right.type} does not match",
            "use [m, k] @ [k, n] or [b, m, k] @ [b, k, n] of one type",
        )
    return left.shape[-2], cols


def _reassociation(
    longer: tuple[Dimension, ...], shorter: tuple[Dimension, ...]
) -> tuple[tuple[int, ...], ...] | None:
    """Groups of axes of ``longer`` that make up each axis of ``shorter``."""
    groups: list[tuple[int, ...]] = []
    axis = 0
    for position, extent in enumerate(shorter):
        first, product = axis, 1
        last = position == len(shorter) - 1
        while axis < len(longer) and (axis == first or product != extent or last):
            product *= longer[axis] or 0
            axis += 1
        if product != extent:
            return None
        groups.append(tuple(range(first, axis)))
    return tuple(groups) if axis == len(longer) or not shorter else None


def _split_offsets(
    offsets: Sequence[int | Scalar],
) -> tuple[tuple[int | None, ...], list[Scalar]]:
    literals = tuple(
        o if isinstance(o, int) else None if o.constant is None else int(o.constant)
        for o in offsets
    )
    dynamic = [o for o in offsets if isinstance(o, Scalar) and o.constant is None]
    return literals, dynamic
