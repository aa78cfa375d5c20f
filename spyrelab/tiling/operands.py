"""Where a core finds its slice of an operand, in device memory or in its scratchpad."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spyrelab.ktir.builder import Builder, Scalar
from spyrelab.ktir.types import MemorySpace
from spyrelab.layout import Access, Digit, contiguous_strides
from spyrelab.opspec import Operand
from spyrelab.opspec.emit import Given
from spyrelab.opspec.spec import TensorArg
from spyrelab.tiling.buffers import Buffer, holding, is_sparse
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.digits import is_linear
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.requests import joined_axes

__all__ = ["Operands"]

_LX = MemorySpace(core_local=True)


@dataclass
class Operands:
    """What the operations of a program read and write, seen from one core.

    Attributes
    ----------
    core : Scalar
        The number of this core, of ``cores``.
    pointers : mapping of str to Scalar
        Addresses of the tensors in device memory.
    assumed
        Tensors that the cores hold whoever wrote them.
    """

    b: Builder
    core: Scalar
    cores: int
    pointers: Mapping[str, Scalar]
    assumed: Container[str] = ()
    buffers: dict[str, Buffer] = field(default_factory=dict)
    makers: dict[str, tuple[Slicing, TensorArg]] = field(default_factory=dict)
    parts: dict[tuple[int, int], Scalar] = field(default_factory=dict)

    def part(self, inner: int, parts: int) -> Scalar:
        """Which of ``parts`` this core has, where ``inner`` cores in a row have the same."""
        key = inner, parts
        if key not in self.parts:
            number = self.core if inner == 1 else self.core // inner
            self.parts[key] = number if inner * parts == self.cores else number % parts
        return self.parts[key]

    def hold(self, slicing: Slicing, local: set[str]) -> None:
        """Note what the cores hold of the results that stay on them."""
        for arg in slicing.spec.args:
            written = not arg.is_input or arg.name in self.assumed
            if arg.lx_address is not None and written:
                held = holding(slicing, arg, arg.name not in local)
                self.buffers[arg.name] = Buffer(arg.name, arg.dtype, arg.lx_address, held)
                self.makers[arg.name] = slicing, arg

    def given(
        self,
        slicing: Slicing,
        arg: TensorArg,
        symbols: Sequence[str],
        joined: int | None,
        lengths: Mapping[str, int],
        turn: Scalar | None,
        local: set[str],
    ) -> Given:
        """An operand as the emitter of an operation takes it: pointer, walk and memory.

        Parameters
        ----------
        symbols, joined
            Symbols of the operation, one per axis, and the axis that others are joined to.
        lengths
            Length of this core's part of each symbol.
        turn
            Of the loop, if there is one.
        local
            Tensors that live within one turn.

        Raises
        ------
        TilingError
            The tensor lies on other cores than need it.
        """
        if arg.lx_address is None:
            strides = contiguous_strides(arg.device_size)
            pointer: Scalar = self.pointers[arg.name]
            start = sum(c.constant * s for c, s in zip(arg.coordinates, strides, strict=True))
            pointer = self._moved(
                pointer + start if start else pointer, slicing, arg, strides, turn
            )
            access = joined_axes(_access(arg, symbols, lengths, strides), joined)
            return Given(pointer, Operand(arg.dtype, access), sparse=is_sparse(arg))
        buffer = self.buffer(arg)
        apart = buffer.held.apart(holding(slicing, arg, arg.name not in local))
        maker, made = self.makers[arg.name]
        gaps = maker.gaps(made)
        if apart is None or (gaps is not None and gaps != slicing.gaps(arg)):
            raise TilingError(
                f"{slicing.spec.op} needs {arg.name} on other cores than hold it: let both"
                " operations split it alike, or let it lie in device memory"
            )
        strides = buffer.strides
        pointer = self._inside(slicing, arg, buffer, apart @ np.array(strides))
        if turn is not None and arg.name not in local:
            pointer = self._moved(pointer, slicing, arg, strides, turn, parts=False)
        access = joined_axes(_access(arg, symbols, lengths, strides), joined)
        return Given(pointer, Operand(arg.dtype, access), _LX, sparse=is_sparse(arg))

    def _inside(
        self, slicing: Slicing, arg: TensorArg, buffer: Buffer, apart: NDArray[np.int64]
    ) -> Scalar:
        """A pointer at the elements that a core needs, ``apart`` from what it holds."""
        pointer = self.b.constant(buffer.address // buffer.itemsize + int(apart[0]))
        if (apart == apart[0]).all():
            return pointer
        maker, made = self.makers[arg.name]
        steps = Counter(slicing.steps(arg, buffer.strides))
        steps.subtract(maker.steps(made, buffer.strides))
        found = np.full_like(apart, apart[0])
        for (inner, parts), step in steps.items():
            if step:
                found += np.arange(len(apart)) // inner % parts * step
                pointer = pointer + self.part(inner, parts) * step
        if (found != apart).any():
            raise TilingError(
                f"{slicing.spec.op}: where {arg.name} lies on a core follows no rule: let both"
                " operations split it alike, or let it lie in device memory"
            )
        return pointer

    def begin(self, slicing: Slicing, symbol: str, turn: Scalar | None) -> Scalar:
        """The first index of a symbol that this core has, at this turn."""
        cut, begin = slicing.cuts[symbol], self.b.constant(0)
        if symbol in slicing.places:
            begin = self.part(*slicing.places[symbol]) * cut.piece
        if turn is not None and cut.turns > 1:
            begin = begin + turn * cut.step
        return begin

    def buffer(self, arg: TensorArg) -> Buffer:
        """What the cores hold of a tensor that stays on them."""
        if arg.name not in self.buffers:
            raise TilingError(f"{arg.name} is read from the scratchpad before anything wrote it")
        return self.buffers[arg.name]

    def _moved(
        self,
        pointer: Scalar,
        slicing: Slicing,
        arg: TensorArg,
        strides: Sequence[int],
        turn: Scalar | None,
        parts: bool = True,
    ) -> Scalar:
        """A pointer at the part of this core, and at this turn."""
        for place, step in slicing.steps(arg, strides).items() if parts else ():
            if step:
                pointer = pointer + self.part(*place) * step
        jumps = 0
        for term, unit in slicing.moving(arg, strides):
            cut = slicing.cuts[term.symbol]
            if cut.turns > 1:
                jumps += unit * (cut.step // term.divisor)
        if turn is not None and jumps:
            pointer = pointer + turn * jumps
        return pointer


def _access(
    arg: TensorArg, symbols: Sequence[str], lengths: Mapping[str, int], strides: Sequence[int]
) -> Access:
    """How a slice of an operand is walked, one axis per symbol."""
    axes = []
    for symbol in symbols:
        steps: dict[tuple[int, int | None], int] = {}
        for coordinate, stride in zip(arg.coordinates, strides, strict=True):
            for term in coordinate.terms:
                if term.symbol == symbol:
                    key = term.divisor, term.modulus
                    steps[key] = steps.get(key, 0) + term.factor * stride
        digits: list[Digit] = []
        for (divisor, modulus), step in sorted(steps.items(), key=lambda item: -item[0][0]):
            count = -(-lengths[symbol] // divisor)
            count = count if modulus is None else min(modulus, count)
            if digits and is_linear(arg) and digits[-1].stride == count * step:
                count *= digits.pop().count
            digits.append(Digit(count, step))
        axes.append(tuple(digits) or (Digit(lengths[symbol], 0),))
    return Access(tuple(lengths[s] for s in symbols), tuple(axes))
