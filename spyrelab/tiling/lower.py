"""From settled operations to one KTIR program: a bundle.

One core's part of an operation is the operation on slices.  Where each slice begins is linear in
the core's parts and in the turn of the loop, so every operation is emitted once, for all cores.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spyrelab.ktir import Module
from spyrelab.ktir.builder import Builder, Scalar, TileGroups
from spyrelab.ktir.types import F32, I64
from spyrelab.machine import SPYRE
from spyrelab.opspec.emit import Partners, emit
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.exchange import emit_gather
from spyrelab.tiling.loops import Item, LoopSpec, each
from spyrelab.tiling.operands import Operands
from spyrelab.tiling.signature import GATHER, Role, signature_of
from spyrelab.timing.bundles import BUNDLE_ATTRIBUTE

__all__ = ["WORK_BYTES", "Launch", "lower_bundle"]

WORK_BYTES = 256 << 10
"""Scratchpad bytes that the tiles of an operation at work may take."""


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
        pointers = dict(zip(names, b.pointers(*taken), strict=True))
        self.core = b.compute_tile_id() if self.cores > 1 else b.constant(0)
        self.operands = Operands(b, self.core, self.cores, pointers, self.assumed)
        for slicing in self.slicings.values():
            for inner, parts in slicing.places.values():
                self.operands.part(inner, parts)
            # Made here, as what is made in a branch cannot be used in the next.
            self._partners(slicing)
        for item in self.items:
            if isinstance(item, LoopSpec):
                self._loop(item)
            else:
                self._operation(item, {}, None, set())
        return Launch(b.build(), names)

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
        self.operands.hold(slicing, local)
        uneven = [s for s, cut in slicing.cuts.items() if not cut.is_even]
        if slicing.cores == self.cores:
            self._variants(slicing, uneven, frozenset(), turn, local)
            return
        with self.b.if_(self.core < slicing.cores):
            self._variants(slicing, uneven, frozenset(), turn, local)

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
        number = self.operands.part(inner, parts)
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
                b,
                slicing,
                self.operands.buffer(source),
                self.operands.buffer(target),
                target,
                self.work_bytes,
            )
            return
        found = signature_of(spec)
        if found is None:
            raise TilingError(f"{spec.op} cannot be part of a bundle: it is only done whole")
        lengths = {s: cut.last if s in last else cut.step for s, cut in slicing.cuts.items()}
        given = [
            self.operands.given(slicing, arg, symbols, found.joined.get(n), lengths, turn, local)
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
            info["first_query"] = self.operands.begin(slicing, "M", turn)
        inputs = [
            self._number(numbers[p]) if p in numbers else next(tensors)
            for p in range(count + len(numbers))
        ]
        partners = self._partners(slicing)
        emit(b, spec.op, inputs, given[count:], lx_bytes=room, partners=partners, **info)

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
            tiles, part = TileGroups.adjacent(groups, count), self.operands.part(1, count)
        elif slicing.order[: len(split)] == tuple(split):
            tiles, part = TileGroups.strided(groups, count), self.operands.part(groups, count)
        else:
            raise TilingError(
                f"{slicing.spec.op}: partners in a sum are neither next to each other nor"
                " evenly apart"
            )
        assert found is not None
        stays = any(arg.lx_address is not None for arg in slicing.spec.outputs)
        everyone = stays or any(found.roles[s] is Role.ROW for s in split)
        return Partners(tiles, part, count, everyone)


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
