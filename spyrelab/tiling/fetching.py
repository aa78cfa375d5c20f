"""Steps that bring a tensor to cores that need it: copies of inputs, and gathers over the ring.

Neither computes anything.  A copy puts what an operation reads from device memory into every
core's scratchpad, for it and for those that come after.  A gather gives every core of a group
what all of them hold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from spyrelab.opspec.coordinates import Coordinate, Term
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import holding, is_sparse
from spyrelab.tiling.candidates import Split
from spyrelab.tiling.cut import REPLICAS, Slicing
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.signature import GATHER

__all__ = [
    "Moved",
    "computing",
    "copied",
    "gathers",
    "is_local_name",
    "local_name",
    "renamed",
    "tensor_of",
]

_MARK, _PIECE = "@", "%"


class Moved(NamedTuple):
    """An operation that moves a tensor, and how cores share it.  Its result is its last operand."""

    spec: OpSpec
    split: Split


def local_name(name: str, step: int) -> str:
    """What a tensor is called that cores fetched for an operation."""
    return f"{name.partition(_MARK)[0]}{_MARK}{step}"


def is_local_name(name: str) -> bool:
    """Whether a name stands for something that cores fetched."""
    return _MARK in name


def piece_name(name: str, number: int) -> str:
    """What some columns of a tensor are called."""
    return f"{name}{_PIECE}{number}"


def tensor_of(name: str) -> str:
    """The tensor that was fetched, or of which something is a piece."""
    return name.partition(_MARK)[0].partition(_PIECE)[0]


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A name where tensors are called otherwise."""
    tensor = tensor_of(name)
    return names[tensor] + name[len(tensor) :]


def computing(specs: Sequence[OpSpec]) -> list[OpSpec]:
    """Settled operations without those that fetch something, on the tensors themselves."""
    return [
        replaced(spec, args=lambda arg: replace(arg, name=tensor_of(arg.name)))
        for spec in specs
        if not any(is_local_name(arg.name) for arg in spec.outputs)
    ]


def copied(slicing: Slicing, arg: TensorArg, name: str) -> Moved | None:
    """The copy that gives every core what an operation reads of an operand.

    None where cores that need the same are not evenly apart.
    """
    if is_sparse(arg) or not arg.symbols:
        return None
    order = slicing.order
    own = [s for s in order if s in arg.symbols]
    alike = [at for at, s in enumerate(order) if s not in arg.symbols]
    copies = math.prod(slicing.places[order[at]][1] for at in alike)
    if alike not in (list(range(len(alike))), list(range(len(own), len(order)))):
        return None
    rest = [s for s in slicing.spec.iteration_space if s in arg.symbols and s not in own]
    space = {s: slicing.spec.iteration_space[s] for s in (*own, *rest)}
    target = replace(arg, name=name, is_input=False)
    spec = OpSpec("copy", {s: (extent, 0) for s, (extent, _) in space.items()}, (arg, target))
    first = REPLICAS if copies > 1 and own and alike[0] == 0 else ""
    return Moved(spec, Split(tuple(max(parts, 1) for _, parts in space.values()), copies, first))


def gathers(slicing: Slicing, arg: TensorArg, name: str) -> Iterator[Moved]:
    """Gathers of an operand that an operation left on the cores, each over other groups."""
    cuts = slicing.cuts
    order = slicing.order
    if is_sparse(arg) or REPLICAS in order or not set(order) <= arg.symbols:
        return
    if any(not cuts[s].is_even or cuts[s].turns > 1 for s in arg.symbols):
        return
    # Whole boxes are moved: nobody has written what only fills up a stick.
    if math.prod(holding(slicing, arg).extents) != math.prod(cuts[s].piece for s in arg.symbols):
        return
    choices = [[n for n in range(1, cuts[s].parts + 1) if cuts[s].parts % n == 0] for s in order]
    for kept in itertools.product(*choices):
        outer = dict(zip(order, kept, strict=True))
        made = _gather(slicing, arg, name, outer)
        if made is not None:
            yield made


def _gather(slicing: Slicing, arg: TensorArg, name: str, outer: Mapping[str, int]) -> Moved | None:
    """The gather after which cores hold parts of these numbers; None if its groups are scattered,
    or a part is no box."""
    space: dict[str, tuple[int, int]] = {}
    joined: dict[str, str] = {}
    late: dict[str, int] = {}
    inner: dict[str, int] = {}
    for symbol in (*slicing.order, *(s for s in arg.symbols if s not in outer)):
        cut = slicing.cuts[symbol]
        parts = outer.get(symbol, 1)
        if symbol not in outer or parts == cut.parts:
            space[symbol] = cut.extent, cut.parts
            continue
        if parts > 1:
            space[symbol] = parts, parts
        inner[symbol] = cut.extent // parts
        part, whole = f"{symbol}_part", f"{symbol}_all"
        space[part] = inner[symbol], cut.parts // parts
        late[whole] = inner[symbol]
        joined[part] = whole
    if not joined or not _adjoin([s in joined for s, (_, n) in space.items() if n > 1]):
        return None
    space |= {whole: (extent, 1) for whole, extent in late.items()}
    args = []
    for suffix in ("part", "all"):
        terms = [_turned(c, inner, outer, suffix) for c in arg.coordinates]
        if None in terms:
            return None
        args.append(replace(arg, coordinates=tuple(c for c in terms if c is not None)))
    source, target = args
    made = replace(source, is_input=True), replace(target, name=name, is_input=False)
    spec = OpSpec(GATHER, {s: (n, 0) for s, (n, _) in space.items()}, made, {"gathered": joined})
    return Moved(spec, Split(tuple(parts for _, parts in space.values())))


def _adjoin(marks: Sequence[bool]) -> bool:
    """Whether what is marked is one run."""
    return sum(1 for mark, _ in itertools.groupby(marks) if mark) == 1


def _turned(
    coordinate: Coordinate, inner: Mapping[str, int], outer: Mapping[str, int], suffix: str
) -> Coordinate | None:
    """A coordinate in two symbols for each one whose parts are gathered."""
    terms: list[Term] = []
    for term in coordinate.terms:
        extent = inner.get(term.symbol)
        if extent is None:
            terms.append(term)
            continue
        span = term.divisor * (term.modulus or 1)
        if extent % span:
            return None
        if outer[term.symbol] > 1 and term.modulus is None:
            terms.append(Term(term.symbol, term.factor * (extent // term.divisor)))
        terms.append(replace(term, symbol=f"{term.symbol}_{suffix}"))
    return Coordinate(tuple(terms), coordinate.constant)
