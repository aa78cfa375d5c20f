"""OpSpec: one operation with its iteration space and where each operand lies.

The text form of a spec is Python: evaluated, it gives the spec again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from spyrelab.layout import Access, Digit, Located, SpyreTensorLayout, contiguous_strides
from spyrelab.layout.element import element_type
from spyrelab.opspec.coordinates import Coordinate, Term
from spyrelab.opspec.errors import OpSpecError

__all__ = ["OpSpec", "TensorArg", "operand_of", "tensor_arg"]


@dataclass(frozen=True)
class TensorArg:
    """One operand of an :class:`OpSpec`.

    Attributes
    ----------
    name : str
        Of the tensor.
    is_input : bool
        Read, not written.
    dtype : str
        Element type on the device.
    device_size, stride_map : tuple of int
        Its :class:`~spyrelab.layout.SpyreTensorLayout`.
    coordinates : tuple of Coordinate
        One per device dimension, in the symbols of the iteration space.
    lx_address : int or None
        Byte address in each core's scratchpad, once planned; None means DDR.

    Raises
    ------
    OpSpecError
        The fields contradict each other.
    LayoutError
        There is no such element type, or a coordinate cannot be read.
    """

    name: str
    is_input: bool
    dtype: str
    device_size: tuple[int, ...]
    stride_map: tuple[int, ...]
    coordinates: tuple[Coordinate, ...]
    lx_address: int | None = None

    def __post_init__(self) -> None:
        read = [Coordinate.parse(c) if isinstance(c, str) else c for c in self.coordinates]
        object.__setattr__(self, "coordinates", tuple(read))
        object.__setattr__(self, "device_size", tuple(self.device_size))
        object.__setattr__(self, "stride_map", tuple(self.stride_map))
        element_type(self.dtype)
        ranks = len(self.device_size), len(self.stride_map), len(read)
        if len(set(ranks)) > 1:
            raise OpSpecError(
                f"operand {self.name!r} has {ranks[0]} device dimensions, {ranks[1]} host strides"
                f" and {ranks[2]} coordinates: there is one of each per device dimension"
            )
        if self.lx_address is not None and self.lx_address < 0:
            raise OpSpecError(f"operand {self.name!r} has LX address {self.lx_address}")

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols of its coordinates."""
        return frozenset(term.symbol for c in self.coordinates for term in c.terms)

    @property
    def layout(self) -> SpyreTensorLayout:
        """The device layout of the tensor."""
        return SpyreTensorLayout(self.device_size, self.stride_map, self.dtype)

    def __repr__(self) -> str:
        coordinates = ", ".join(f'"{coordinate}"' for coordinate in self.coordinates)
        place = "" if self.lx_address is None else f", lx_address={self.lx_address}"
        return (
            f'TensorArg({_quoted(self.name)}, is_input={self.is_input}, dtype="{self.dtype}",'
            f" device_size={list(self.device_size)}, stride_map={list(self.stride_map)},"
            f" coordinates=[{coordinates}]{place})"
        )


@dataclass(frozen=True)
class OpSpec:
    """One operation: what it computes, over which indices, on which operands.

    Attributes
    ----------
    op : str
        Its name, as opspec's families know it.
    iteration_space : mapping of str to (int, int)
        Range and split of every symbol: the split is how many cores share the range, 0 while
        nobody has decided.
    args : tuple of TensorArg
        Inputs in the operation's order, then outputs.
    op_info : mapping
        Attributes of the operation: reduced dimensions, an epsilon, a rounding mode, ...

    Raises
    ------
    OpSpecError
        The fields contradict each other.
    """

    op: str
    iteration_space: Mapping[str, tuple[int, int]]
    args: tuple[TensorArg, ...]
    op_info: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))
        for symbol, (extent, split) in self.iteration_space.items():
            if extent < 0 or not 0 <= split <= max(extent, 1):
                raise OpSpecError(
                    f"{self.op}: {symbol} has {extent} indices in {split} parts: the parts are as"
                    " many as the indices at most, 0 while nobody has decided"
                )
        for before, arg in zip((None, *self.args), self.args, strict=False):
            unknown = arg.symbols.difference(self.iteration_space)
            if unknown:
                raise OpSpecError(
                    f"{self.op}: the coordinates of {arg.name!r} have symbols that the iteration"
                    f" space lacks: {', '.join(sorted(unknown))}"
                )
            if before and arg.is_input and not before.is_input:
                raise OpSpecError(f"{self.op}: the input {arg.name!r} comes after an output")

    @property
    def inputs(self) -> tuple[TensorArg, ...]:
        """Operands that are read."""
        return tuple(arg for arg in self.args if arg.is_input)

    @property
    def outputs(self) -> tuple[TensorArg, ...]:
        """Operands that are written."""
        return tuple(arg for arg in self.args if not arg.is_input)

    def __repr__(self) -> str:
        space = ", ".join(f"{_quoted(s)}: {pair}" for s, pair in self.iteration_space.items())
        lines = [f"OpSpec({_quoted(self.op)}, {{{space}}}, ("]
        lines += [f"    {arg!r}," for arg in self.args]
        return "\n".join([*lines, f"), {_evaluable(self.op_info)})"])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _evaluable(value: Any) -> str:
    """A value's ``repr``, which for infinities and mappings that are no dict is no Python."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_evaluable(k)}: {_evaluable(v)}" for k, v in value.items())
        return f"{{{pairs}}}"
    if type(value) in (tuple, list):
        inside = ", ".join(map(_evaluable, value))
        if type(value) is list:
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


def tensor_arg(
    name: str,
    layout: SpyreTensorLayout,
    located: Located,
    symbols: Sequence[str],
    is_input: bool = True,
    lx_address: int | None = None,
) -> TensorArg:
    """The operand that ``located`` reaches in a tensor of ``layout``.

    ``symbols`` names the symbol that runs along each dimension of the view; broadcast
    dimensions appear in no coordinate.
    """
    strides = layout.device_strides
    starts = _digits(located.start, layout.device_size, strides)
    terms: list[list[Term]] = [[] for _ in strides]
    for symbol, axis, extent in zip(symbols, located.access.axes, located.access.size, strict=True):
        divisor = 1
        for position, digit in reversed(list(enumerate(axis))):
            modulus = digit.count if position else None
            for dimension, factor in enumerate(_digits(digit.stride, layout.device_size, strides)):
                if factor and extent > 1:
                    terms[dimension].append(Term(symbol, factor, divisor, modulus))
            divisor *= digit.count
    coordinates = tuple(
        Coordinate(tuple(found), start) for found, start in zip(terms, starts, strict=True)
    )
    return TensorArg(
        name, is_input, layout.dtype, layout.device_size, layout.stride_map, coordinates, lx_address
    )


def operand_of(arg: TensorArg, iteration_space: Mapping[str, tuple[int, int]]) -> Located:
    """The access that an operand's coordinates spell, one axis per symbol of the space."""
    strides = contiguous_strides(arg.device_size)
    start = sum(c.constant * s for c, s in zip(arg.coordinates, strides, strict=True))
    axes = []
    for symbol, (extent, _) in iteration_space.items():
        steps: dict[tuple[int, int | None], int] = {}
        for coordinate, stride in zip(arg.coordinates, strides, strict=True):
            for term in coordinate.terms:
                if term.symbol == symbol:
                    key = term.divisor, term.modulus
                    steps[key] = steps.get(key, 0) + term.factor * stride
        axes.append(_axis(extent, steps))
    sizes = tuple(extent for extent, _ in iteration_space.values())
    return Located(Access(sizes, tuple(axes)), start)


def _axis(extent: int, steps: Mapping[tuple[int, int | None], int]) -> tuple[Digit, ...]:
    if not steps:
        return (Digit(extent, 0),)
    found = []
    for (divisor, modulus), stride in sorted(steps.items(), key=lambda item: -item[0][0]):
        count = modulus if modulus is not None else -(-extent // divisor)
        found.append(Digit(count, stride))
    return tuple(found)


def _digits(offset: int, size: Sequence[int], strides: Sequence[int]) -> list[int]:
    if offset < 0:  # backwards along the same coordinates
        return [-at for at in _digits(-offset, size, strides)]
    found = []
    for extent, stride in zip(size, strides, strict=True):
        at, rest = divmod(offset, stride) if extent > 1 else (0, offset)
        found.append(at)
        offset = rest
    return found
