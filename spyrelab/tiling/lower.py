"""From settled operations to one KTIR program: a bundle.

One core's part of an operation is the operation on slices.  Where each slice begins is linear in
the core's parts and in the turn of the loop, so every operation is emitted once, for all cores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.ktir import Module
from spyrelab.ktir.builder import Builder, Scalar, TileGroups
from spyrelab.ktir.types import F32, I64, MemorySpace
from spyrelab.layout import Access, Digit, contiguous_strides
from spyrelab.machine import SPYRE
from spyrelab.opspec import Operand
from spyrelab.opspec.emit import Given, Partners, emit
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import Buffer, holding, is_sparse
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.digits import is_linear
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.exchange import emit_gather
from spyrelab.tiling.loops import Item, LoopSpec, each
from spyrelab.tiling.requests import joined_axes
from spyrelab.tiling.signature import GATHER, Role, signature_of
from spyrelab.timing.bundles import BUNDLE_ATTRIBUTE

__all__ = ["WORK_BYTES", "Launch", "lower_bundle"]

WORK_BYTES = 256 << 10
"""Scratchpad bytes that the tiles of an operation at work may take."""

_LX = MemorySpace(core_local=True)


class Launch(NamedTuple):
    """A program and the tensors whose addresses it takes, in the order of its arguments."""

    module: Module
    tensors: tuple[str, ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the program's arguments."""
        return tuple(f"t{number}" for number in range(len(self.tensors)))


def lower_bundle(
    items: Sequence[Item],
    name: str = "bundle",
    work_bytes: int = WORK_BYTES,
    assumed: Container[str] = (),
) -> Launch:
    """The program of some settled operations.

    Parameters
    ----------
    assumed
        Tensors that the cores hold as these operations need them, whoever wrote them: for the
        price of a part of a bundle.

    Raises
    ------
    TilingError
        There is no operation, a split is undecided or too fine, or a tensor that stays on the
        cores is not where it is needed.
    """
    return _Bundle(items, name, work_bytes, assumed).lowered()


def local_tensors(loop: LoopSpec, items: Sequence[Item]) -> set[str]:
    """Tensors that live within one turn of a loop."""
    inside = {arg.name for spec in loop.body for arg in spec.outputs}
    others = [item for item in items if item is not loop]
    outside = {arg.name for spec, _ in each(others) for arg in spec.args}
    return inside - outside


@dataclass
class _Bundle:
    items: Sequence[Item]
    name: str
    work_bytes: int
    assumed: Container[str] = ()
    buffers: dict[str, Buffer] = field(default_factory=dict)
    makers: dict[str, tuple[Slicing, TensorArg]] = field(default_factory=dict)

    def lowered(self) -> Launch:
        specs = [spec for spec, _ in each(self.items)]
        if not specs:
            raise TilingError("a bundle of no operation: there is nothing to lower")
        for spec in specs:
            _require_settled(spec)
        self.slicings = {
            (id(spec), *turns.items()): Slicing.of(spec, turns) for spec, turns in each(self.items)
        }
        self.cores = max(s.cores for s in self.slicings.values())
        tensors = [a.name for spec in specs for a in spec.args if a.lx_address is None]
        names = tuple(dict.fromkeys(tensors))
        self.b = b = Builder(self.name, (self.cores,), {BUNDLE_ATTRIBUTE: len(specs)})
        taken = [f"t{number}" for number in range(len(names))]
        self.pointers = dict(zip(names, b.pointers(*taken), strict=True))
        self.core = b.compute_tile_id() if self.cores > 1 else b.constant(0)
        self.parts: dict[tuple[int, int], Scalar] = {}
        for slicing in self.slicings.values():
            for inner, parts in slicing.places.values():
                self._part(inner, parts)
            # Made here, as what is made in a branch cannot be used in the next.
            self._partners(slicing)
        for item in self.items:
            if isinstance(item, LoopSpec):
                self._loop(item)
            else:
                self._operation(item, {}, None, set())
        return Launch(b.build(), names)

    def _part(self, inner: int, parts: int) -> Scalar:
        key = inner, parts
        if key not in self.parts:
            number = self.core if inner == 1 else self.core // inner
            self.parts[key] = number if inner * parts == self.cores else number % parts
        return self.parts[key]

    def _loop(self, loop: LoopSpec) -> None:
        local = local_tensors(loop, self.items)
        local |= {a.name for spec in loop.body for a in spec.args if a.name in self.assumed}
        with self.b.loop(self.b.constant(0), loop.count, 1, names="turn") as turn:
            for spec, symbol in zip(loop.body, loop.tiled, strict=True):
                self._operation(spec, {symbol: loop.count}, turn, local)

    def _operation(
        self, spec: OpSpec, turns: Mapping[str, int], turn: Scalar | None, local: set[str]
    ) -> None:
        slicing = self.slicings[(id(spec), *turns.items())]
        self._hold(slicing, local)
        uneven = [s for s, cut in slicing.cuts.items() if not cut.is_even]
        if slicing.cores == self.cores:
            self._variants(slicing, uneven, frozenset(), turn, local)
            return
        with self.b.if_(self.core < slicing.cores):
            self._variants(slicing, uneven, frozenset(), turn, local)

    def _hold(self, slicing: Slicing, local: set[str]) -> None:
        """Note what the cores hold of the results that stay on them."""
        for arg in slicing.spec.args:
            written = not arg.is_input or arg.name in self.assumed
            if arg.lx_address is not None and written:
                held = holding(slicing, arg, arg.name not in local)
                self.buffers[arg.name] = Buffer(arg.name, arg.dtype, arg.lx_address, held)
                self.makers[arg.name] = slicing, arg

    def _variants(
        self,
        slicing: Slicing,
        uneven: Sequence[str],
        last: frozenset[str],
        turn: Scalar | None,
        local: set[str],
    ) -> None:
        """The operation on full parts, and on a shorter last part where there is one."""
        if not uneven:
            self._emit(slicing, last, turn, local)
            return
        symbol, rest = uneven[0], uneven[1:]
        found = signature_of(slicing.spec)
        if found is not None and found.roles[symbol] is not Role.FREE:
            raise TilingError(
                f"{slicing.spec.op}: {symbol} = {slicing.cuts[symbol].extent} is shared in unequal"
                " parts, and its cores have to exchange sums: choose a split that divides it"
            )
        inner, parts = slicing.places[symbol]
        number = self._part(inner, parts)
        with self.b.if_(number.equals(parts - 1)) as branch:
            self._variants(slicing, rest, last | {symbol}, turn, local)
        with branch.otherwise():
            self._variants(slicing, rest, last, turn, local)

    def _emit(
        self, slicing: Slicing, last: frozenset[str], turn: Scalar | None, local: set[str]
    ) -> None:
        spec, b = slicing.spec, self.b
        if spec.op == GATHER:
            source, target = spec.args
            emit_gather(
                b, slicing, self._buffer(source), self._buffer(target), target, self.work_bytes
            )
            return
        found = signature_of(spec)
        if found is None:
            raise TilingError(f"{spec.op} cannot be part of a bundle: it is only done whole")
        lengths = {s: cut.last if s in last else cut.step for s, cut in slicing.cuts.items()}
        given = [
            self._given(slicing, arg, symbols, found.joined.get(n), lengths, turn, local)
            for n, (arg, symbols) in enumerate(zip(spec.args, found.operands, strict=True))
        ]
        count = len(spec.inputs)
        tensors = iter(given[:count])
        info = dict(spec.op_info)
        numbers = info.pop("numbers", {})
        info.pop("replicas", None)
        info.pop("first", None)
        room = info.pop("lx_bytes", self.work_bytes)
        if spec.op == "attention" and info.get("causal"):
            info["first_query"] = self._begin(slicing, "M", turn)
        inputs = [
            self._number(numbers[p]) if p in numbers else next(tensors)
            for p in range(count + len(numbers))
        ]
        partners = self._partners(slicing)
        emit(b, spec.op, inputs, given[count:], lx_bytes=room, partners=partners, **info)

    def _begin(self, slicing: Slicing, symbol: str, turn: Scalar | None) -> Scalar:
        """The first index of a symbol that this core has, at this turn."""
        cut, begin = slicing.cuts[symbol], self.b.constant(0)
        if symbol in slicing.places:
            begin = self._part(*slicing.places[symbol]) * cut.piece
        if turn is not None and cut.turns > 1:
            begin = begin + turn * cut.step
        return begin

    def _number(self, value: float) -> Scalar:
        return self.b.constant(value, F32 if isinstance(value, float) else I64)

    def _partners(self, slicing: Slicing) -> Partners | None:
        found = signature_of(slicing.spec)
        split = [s for s in slicing.order if found is not None and s in found.shared]
        if not split:
            return None
        if slicing.replicas > 1:
            raise TilingError(f"{slicing.spec.op}: cores that exchange sums cannot be replicas")
        count = math.prod(slicing.cuts[symbol].parts for symbol in split)
        groups = slicing.cores // count
        if slicing.order[-len(split) :] == tuple(split):
            tiles, part = TileGroups.adjacent(groups, count), self._part(1, count)
        elif slicing.order[: len(split)] == tuple(split):
            tiles, part = TileGroups.strided(groups, count), self._part(groups, count)
        else:
            raise TilingError(
                f"{slicing.spec.op}: partners in a sum are neither next to each other nor"
                " evenly apart"
            )
        assert found is not None
        stays = any(arg.lx_address is not None for arg in slicing.spec.outputs)
        everyone = stays or any(found.roles[s] is Role.ROW for s in split)
        return Partners(tiles, part, count, everyone)

    def _given(
        self,
        slicing: Slicing,
        arg: TensorArg,
        symbols: Sequence[str],
        joined: int | None,
        lengths: Mapping[str, int],
        turn: Scalar | None,
        local: set[str],
    ) -> Given:
        if arg.lx_address is None:
            strides = contiguous_strides(arg.device_size)
            pointer: Scalar = self.pointers[arg.name]
            start = sum(c.constant * s for c, s in zip(arg.coordinates, strides, strict=True))
            pointer = self._moved(
                pointer + start if start else pointer, slicing, arg, strides, turn
            )
            access = joined_axes(_access(arg, symbols, lengths, strides), joined)
            return Given(pointer, Operand(arg.dtype, access), sparse=is_sparse(arg))
        buffer = self._buffer(arg)
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
                pointer = pointer + self._part(inner, parts) * step
        if (found != apart).any():
            raise TilingError(
                f"{slicing.spec.op}: where {arg.name} lies on a core follows no rule: let both"
                " operations split it alike, or let it lie in device memory"
            )
        return pointer

    def _buffer(self, arg: TensorArg) -> Buffer:
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
                pointer = pointer + self._part(*place) * step
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


def _require_settled(spec: OpSpec) -> None:
    parts = math.prod(split for _, split in spec.iteration_space.values())
    if parts > SPYRE.cores:
        raise TilingError(f"{spec.op}: {parts:,} parts for {SPYRE.cores} cores")
    open_ = [s for s, (_, split) in spec.iteration_space.items() if split < 1]
    if open_:
        raise TilingError(
            f"{spec.op}: nobody has decided the split of {', '.join(open_)}: let"
            " spyrelab.tiling.plan settle it"
        )
    found = signature_of(spec)
    roles = found.roles if found is not None else {}
    whole = [
        s for s, (_, n) in spec.iteration_space.items() if n > 1 and roles.get(s) is Role.WHOLE
    ]
    if whole:
        raise TilingError(f"{spec.op}: cores cannot share {', '.join(whole)}: give it split 1")
