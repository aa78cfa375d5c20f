"""Random inputs of a KTIR function: as much as it reaches, values that make sense there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.commands.ktir_reach import Reach, find_reach
from spyrelab.emulator.formats import encode
from spyrelab.errors import UsageError
from spyrelab.ktir import F16, F32, I1, ScalarType

if TYPE_CHECKING:
    from spyrelab.emulator import Program
    from spyrelab.emulator.lowering import Argument

__all__ = ["random_inputs"]

SMALL = 8
"""Random whole numbers stay below this where nothing says what they count or index."""

MOST_BYTES = 1 << 31


def random_inputs(
    program: Program,
    given: Mapping[str, Any],
    memory: Mapping[int, NDArray],
    seed: int,
) -> tuple[dict[str, Any], dict[int, NDArray], list[str]]:
    """All arguments, all arrays at literal addresses, and the names of what is random.

    Raises
    ------
    UsageError
        The size of an array cannot be told from the function.
    """
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    made: list[str] = []
    for argument in program.arguments:
        if argument.name in given:
            values[argument.name] = given[argument.name]
        elif argument.itemsize is None:
            values[argument.name] = _scalar(argument)
            made.append(f"{argument.name} = {values[argument.name]}")
    scalars = {name: value for name, value in values.items() if isinstance(value, int)}
    reached = find_reach(program.function, program.grid, scalars)
    for argument in program.arguments:
        if argument.name not in values:
            if argument.name not in reached.arguments:
                raise UsageError(
                    f"how large %{argument.name} has to be depends on data: give it with --input"
                )
            values[argument.name] = _array(argument.name, reached.arguments[argument.name], rng)
            made.append(argument.name)
    places = dict(memory)
    for address, reach in reached.literal.items():
        if not any(_overlap(address, reach, start, array) for start, array in memory.items()):
            places[address] = _array(f"mem_{address}", reach, rng)
            made.append(f"mem_{address}")
    order = [argument.name for argument in program.arguments]
    return {name: values[name] for name in order}, places, made


def _scalar(argument: Argument) -> int | float:
    if argument.kind.is_float:
        return 1.0
    promise = argument.promise
    if promise is None:
        return SMALL
    step = promise.granularity or 1
    most = promise.upperbound if promise.upperbound is not None else max(SMALL, step)
    return most // step * step


def _array(name: str, reach: Reach, rng: np.random.Generator) -> NDArray:
    count, element = reach.high, reach.element
    if count * element.itemsize > MOST_BYTES:
        size = count * element.itemsize
        raise UsageError(f"%{name} would take {size:,} bytes: give a smaller one with --input")
    if element.is_float:
        return _floats(rng.standard_normal(count, np.float32), element)
    if element == I1:
        return rng.integers(0, 2, count).astype(np.bool_)
    most = SMALL if reach.index_limit is None else max(reach.index_limit, 1)
    most = min(most, 1 << min(element.bits - 1, 62))
    return rng.integers(0, most, count).astype(f"i{element.itemsize}")


def _floats(values: NDArray[np.float32], element: ScalarType) -> NDArray:
    if element == F32:
        return values
    bits = encode(values, element)
    return bits.view(np.float16) if element == F16 else bits


def _overlap(address: int, reach: Reach, start: int, array: NDArray) -> bool:
    first = address * reach.element.itemsize
    other = start * array.dtype.itemsize
    end = first + reach.high * reach.element.itemsize
    return first < other + math.prod(array.shape) * array.dtype.itemsize and other < end
