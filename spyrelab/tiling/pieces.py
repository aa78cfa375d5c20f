"""Products whose columns go different ways, as several products.

One projection gives queries, keys and values, say.  Planned as three, each can lie on the cores
as those who read it need it.  A piece keeps the place of its columns: in device memory the pieces
are one tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

from spyrelab.opspec.coordinates import Coordinate, Term
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.cut import Slicing, granule
from spyrelab.tiling.fetching import piece_name
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.signature import is_product

__all__ = ["pieces_of"]

Range = tuple[int, int]
_COLUMNS = "N"


def pieces_of(ops: Sequence[OpSpec], live_out: Collection[str]) -> list[OpSpec]:
    """The operations with products in pieces where every reader takes columns of its own."""
    found: list[OpSpec] = list(ops)
    for number in reversed(range(len(ops))):
        spec = found[number]
        if not is_product(spec.op) or spec.outputs[0].name in live_out:
            continue
        ranges = _ranges(spec, found, number)
        if len(ranges) > 1:
            names = {at: piece_name(spec.outputs[0].name, n) for n, at in enumerate(ranges)}
            later = [_reading(reader, spec, names) for reader in found[number + 1 :]]
            found[number:] = [*(_piece(spec, at, names[at]) for at in ranges), *later]
    return found


def _ranges(spec: OpSpec, ops: Sequence[OpSpec], number: int) -> list[Range]:
    """The columns that readers take, in order; none where these overlap or are no whole sticks."""
    name = spec.outputs[0].name
    if any(a.name == name for n, op in enumerate(ops) if n != number for a in op.outputs):
        return []
    taken = {
        _columns(spec, reader, arg)
        for reader in ops[number + 1 :]
        for arg in reader.inputs
        if arg.name == name
    }
    ranges = sorted(at for at in taken if at is not None)
    ends = [(0, 0), *ranges, (spec.iteration_space[_COLUMNS][0],) * 2]
    apart = all(a[1] == b[0] for a, b in itertools.pairwise(ends))
    unit = granule(spec.args, _COLUMNS, spec.iteration_space[_COLUMNS][0])
    whole = all(low % unit == 0 for low, _ in ranges)
    return ranges if None not in taken and apart and whole else []


def _columns(spec: OpSpec, reader: OpSpec, arg: TensorArg) -> Range | None:
    """The columns of a product that an operand covers."""
    out = spec.outputs[0]
    if arg.device_size != out.device_size or arg.stride_map != out.stride_map:
        return None
    slicing = Slicing.of(with_split(reader, Split((1,) * len(reader.iteration_space))))
    box = holding(slicing, arg).boxes[0]
    for dimension, coordinate in enumerate(out.coordinates):
        for term in coordinate.terms:
            if term.symbol == _COLUMNS and term.modulus is None:
                if len(coordinate.terms) > 1 or term.factor > 1 or coordinate.constant:
                    return None
                low, high = (int(n) * term.divisor for n in box[dimension])
                return low, min(high, spec.iteration_space[_COLUMNS][0])
    return None


def _piece(spec: OpSpec, at: Range, name: str) -> OpSpec:
    low, high = at
    _, parts = spec.iteration_space[_COLUMNS]
    space = {**spec.iteration_space, _COLUMNS: (high - low, parts)}

    def moved(arg: TensorArg) -> TensorArg:
        coordinates = tuple(_moved(coordinate, low) for coordinate in arg.coordinates)
        return replace(arg, name=arg.name if arg.is_input else name, coordinates=coordinates)

    return replaced(spec, iteration_space=space, args=moved)


def _moved(coordinate: Coordinate, low: int) -> Coordinate:
    """The coordinate where columns are counted from another one."""
    constant = coordinate.constant
    for term in coordinate.terms:
        if term.symbol == _COLUMNS:
            constant += _value(term, low)
    return Coordinate(coordinate.terms, constant)


def _value(term: Term, index: int) -> int:
    digit = index // term.divisor
    return term.factor * (digit if term.modulus is None else digit % term.modulus)


def _reading(reader: OpSpec, spec: OpSpec, names: dict[Range, str]) -> OpSpec:
    def named(arg: TensorArg) -> TensorArg:
        if arg.name != spec.outputs[0].name:
            return arg
        at = _columns(spec, reader, arg)
        assert at is not None
        return replace(arg, name=names[at])

    return replaced(reader, args=named)
