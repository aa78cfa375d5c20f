"""Pointwise operations on operands of any mixture of layouts and types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32, I1, I8, I64, ScalarType, TensorType
from spyrelab.opspec import activations, arithmetic, elementary, gradients, special
from spyrelab.opspec.division import divide
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.expressions import LARGEST, TABLE, Pointwise, as_type, compute_type
from spyrelab.opspec.iteration import Box, boxes
from spyrelab.opspec.operand import UNSIGNED, Input, Operand, element_type
from spyrelab.opspec.pointwise_tiles import fitting_division, live_bytes, reading_least
from spyrelab.opspec.registry import family
from spyrelab.opspec.target import Target, target
from spyrelab.opspec.walk import Place, Walk

__all__ = ["arguments_of", "build_pointwise"]

_TABLES = (arithmetic, elementary, activations, gradients, special)
"""Modules that fill the table."""


@family(*TABLE, takes_shifted=True, takes_unsigned=True)
def build_pointwise(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """The program of an operation of `spyrelab.opspec.expressions.TABLE`.

    Tensors broadcast against each other and may have any types and accesses whose digits have
    a common refinement; a number is the same for all elements.

    Parameters
    ----------
    **attributes
        As the operation takes them: ``approximate``, ``rounding_mode``, ``decimals``, ...

    Raises
    ------
    Unsuitable, Unsupported
    """
    body = _Body(TABLE[op], inputs, outputs, attributes)
    tensors = [operand for operand in inputs if isinstance(operand, Operand)]
    operands = (*tensors, *outputs)
    positions = [p for p, operand in enumerate(inputs) if isinstance(operand, Operand)]
    positions += range(len(inputs), len(inputs) + len(outputs))
    itemsizes = [operand.element.itemsize for operand in operands]
    found = boxes([operand.access for operand in operands], len(tensors), positions)
    into = target()
    if into is not None:
        return _emitted(into, body, found, positions)
    divisions = [divide(box, itemsizes) for box in found]
    cores = max(division.cores for division in divisions)
    b = Builder(op, grid=(cores,))
    arguments = arguments_of(b, inputs, outputs)
    places = [
        Place(arguments[p], operand.element) for p, operand in zip(positions, operands, strict=True)
    ]
    for division in divisions:
        walk = Walk(b, division, places, cores)
        walk.run(len(tensors), body.prepare, partial(body.run, walk, arguments))
    return b.build()


def _emitted(
    into: Target,
    body: _Body,
    found: Sequence[Box],
    positions: Sequence[int],
) -> Module:
    """One core's code, in another program."""
    count = len(body.kinds)
    names = [f"in{p}" if p < count else f"out{p - count}" for p in positions]
    places = [
        Place(given.pointer, given.operand.element, given.space, given.sparse)
        for given in (into.given[name] for name in names)
    ]
    numbers = [into.scalars[f"in{p}"] for p in range(count)]
    live = body.live_bytes()
    for box in found:
        division = fitting_division(box, places, live, into.lx_bytes)
        division = reading_least(division, places, len(body.tensors))
        walk = Walk(into.builder, division, places, 1)
        walk.run(len(body.tensors), body.prepare, partial(body.run, walk, numbers))
    return Module(())


def arguments_of(
    b: Builder, inputs: tuple[Input, ...], outputs: tuple[Operand, ...]
) -> list[Scalar]:
    """Declare a program's arguments: pointers for tensors, scalars of the given types."""
    made: list[Scalar] = []
    for number, operand in enumerate(inputs):
        name = f"in{number}"
        pointer = isinstance(operand, Operand)
        made += b.pointers(name) if pointer else [b.argument(name, element_type(str(operand)))]
    return made + list(b.pointers(*(f"out{number}" for number in range(len(outputs)))))


class _Body:
    """An operation of the table on operands of given types."""

    def __init__(
        self,
        row: Pointwise,
        inputs: tuple[Input, ...],
        outputs: tuple[Operand, ...],
        attributes: dict[str, Any],
    ) -> None:
        least = row.inputs - len(row.defaults)
        if not least <= len(inputs) <= row.inputs:
            raise Unsupported(f"{row.name} of {len(inputs)} operands")
        self.row = row
        self.inputs, self.outputs = inputs, outputs
        self.attributes = attributes
        self.kinds = [
            operand.element if isinstance(operand, Operand) else element_type(operand)
            for operand in inputs
        ]
        self.unsigned = {
            p
            for p, operand in enumerate((*inputs, *outputs))
            if isinstance(operand, Operand) and operand.dtype == UNSIGNED
        }
        self.results = [operand.element for operand in outputs]
        if self.unsigned:
            self.kinds = [I64 if kind == I8 else kind for kind in self.kinds]
        weighed = [kind for p, kind in enumerate(self.kinds) if p not in row.conditions]
        self.wide = compute_type(row.domain, weighed)
        self.tensors = [p for p, operand in enumerate(inputs) if isinstance(operand, Operand)]
        self.missing = row.defaults[len(inputs) - least :]

    def live_bytes(self) -> int:
        """Scratchpad bytes per element of a tile."""
        inputs = tuple(
            (o.dtype, True) if isinstance(o, Operand) else (o, False) for o in self.inputs
        )
        outputs = tuple(operand.dtype for operand in self.outputs)
        attributes = tuple(sorted(self.attributes.items()))
        return live_bytes(self.row.name, inputs, outputs, attributes)

    def prepare(self, tensor: int, tile: Tensor | Scalar) -> Tensor | Scalar:
        """A loaded tile in the type that is computed with."""
        brought: Tensor | Scalar = self._brought(self.tensors[tensor], tile)
        return brought

    def run(self, walk: Walk, arguments: list[Scalar], tiles: list[Tensor]) -> list[Tensor]:
        """Tiles of all results."""
        b, given = walk.builder, iter(tiles)
        operands = []
        for position in range(len(self.kinds)):
            if position in self.tensors:
                operands.append(next(given))
            else:
                number = self._rounded(b, self._brought(position, arguments[position]))
                operands.append(b.splat(number, walk.shape))
        for default in self.missing:
            if default is not None:
                operands.append(b.full(walk.shape, self._number(default), self.wide))
        found = self.row.emit(b, *operands, **self.attributes)
        results = found if isinstance(found, tuple) else (found,)
        stored = []
        for position, (result, kind) in enumerate(
            zip(results, self.results, strict=True), len(self.kinds)
        ):
            whole = as_type(result, I64) if position in self.unsigned else result
            stored.append(_stored(whole, kind))
        return stored

    def _brought(self, position: int, tile: Any) -> Any:
        if position in self.unsigned:
            tile = _without_sign(tile)
        return as_type(tile, I1 if position in self.row.conditions else self.wide)

    def _rounded(self, b: Builder, number: Scalar) -> Scalar:
        """A number as ATen compares it: in the type of the tensors, if that is a short one."""
        kinds = {self.kinds[p] for p in self.tensors} if self.row.rounds_numbers else set()
        if len(kinds) != 1 or not number.dtype.is_float:
            return number
        (kind,) = kinds
        if not kind.is_float or kind == F32:
            return number
        if number.constant is None:
            return number.to(kind).to(F32)
        # A constant would be cast without being rounded to types that Python does not have.
        short: Scalar = b.pure("arith.truncf", (number,), kind, hint="short")
        return short.to(F32)

    def _number(self, default: float | str) -> float:
        if isinstance(default, str):
            largest = LARGEST.get(self.results[0].name, 0.0)
            return largest if default == "max" else -largest
        return default


def _without_sign(tile: Any) -> Any:
    kind = TensorType(tile.shape, I64) if isinstance(tile, Tensor) else I64
    return tile.builder.pure("arith.extui", (tile,), kind)


def _stored(tile: Tensor, kind: ScalarType) -> Tensor:
    """A result in a type that the store rounds to."""
    if kind.is_float and tile.dtype.is_float:
        return tile
    converted: Tensor = as_type(tile, kind)
    return converted
