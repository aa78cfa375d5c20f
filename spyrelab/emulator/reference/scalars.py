"""Constants, grid coordinates and launch arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.errors import ArgumentError, UnsupportedError, place
from spyrelab.emulator.formats import round_to, wrap
from spyrelab.emulator.reference.core import Array, Core
from spyrelab.emulator.reference.registry import reference
from spyrelab.ktir.ir import DenseElements, Operation, Value
from spyrelab.ktir.types import RuntimeArgType, ScalarType, element_of


def typed(value: Any, element: ScalarType) -> Array:
    """Plain numbers as values of a type: rounded, or wrapped to its width."""
    if element.is_float:
        with np.errstate(over="ignore"):
            return round_to(np.asarray(value, np.float32), element)
    return wrap(np.asarray(value, np.int64), element)


@reference("arith.constant")
def constant(core: Core, operation: Operation) -> Array:
    value = operation.attributes["value"]
    element = element_of(operation.result.type)
    if not isinstance(value, DenseElements):
        return typed(value, element)
    shape = tuple(extent or 0 for extent in value.type.shape)
    elements = typed(value.values, element)
    return np.full(shape, elements[0]) if value.is_splat else elements.reshape(shape)


@reference("ktdp.get_compute_tile_id")
def get_compute_tile_id(core: Core, operation: Operation) -> tuple[Array, ...]:
    padded = (*core.tile_id, 0, 0)
    return tuple(np.asarray(padded[d], np.int64) for d in range(len(operation.results)))


@dataclass(frozen=True)
class RuntimeArgument:
    """A launch argument with what its type promises about it."""

    value: Array
    kind: RuntimeArgType


@reference("ktdp.runtime_arg_extract")
def runtime_arg_extract(core: Core, operation: Operation, argument: RuntimeArgument) -> Array:
    name = operation.attributes["field"]
    field = argument.value if name == "value" else getattr(argument.kind, name)
    if field is None:
        raise UnsupportedError(f"{place(operation)}: the type {argument.kind} gives no {name}")
    return typed(field, element_of(operation.result.type))


def bind(argument: Value, value: Any) -> Any:
    """A launch argument as a value of its type.

    Raises
    ------
    ArgumentError
        If the value breaks the granularity or the upper bound that its type promises.
    """
    kind = argument.type
    number = typed(value, element_of(kind))
    if not isinstance(kind, RuntimeArgType):
        return number
    if kind.upperbound is not None and number > kind.upperbound:
        raise ArgumentError(f"%{argument.name} = {number} is above its bound {kind.upperbound}")
    if kind.granularity and number % kind.granularity:
        raise ArgumentError(
            f"%{argument.name} = {number} is not a multiple of its granularity {kind.granularity}"
        )
    return RuntimeArgument(number, kind)
