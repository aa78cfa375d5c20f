"""The splits of an operation over cores that are worth a look."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from spyrelab.machine import SPYRE, Machine
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.cut import REPLICAS, granule, parts_of
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.signature import Role, signature_of

__all__ = [
    "Split",
    "legal_parts",
    "reordered",
    "replicated",
    "span_bytes",
    "split_of",
    "splits",
    "with_split",
]


class Split(NamedTuple):
    """How cores share an operation.

    Attributes
    ----------
    parts : tuple of int
        Of every symbol, in the order of the iteration space.
    replicas : int
        Cores that all do the same, so that each has the result.
    first : str
        The symbol (or `REPLICAS`) in which cores far apart differ; by default cores count along
        the iteration space, with partners in a sum, or replicas, next to each other.
    """

    parts: tuple[int, ...]
    replicas: int = 1
    first: str = ""

    @property
    def cores(self) -> int:
        """Cores at work."""
        return self.replicas * math.prod(self.parts)


def with_split(spec: OpSpec, split: Split) -> OpSpec:
    """The spec with this split."""
    space = {
        symbol: (extent, parts)
        for (symbol, (extent, _)), parts in zip(
            spec.iteration_space.items(), split.parts, strict=True
        )
    }
    info = dict(spec.op_info)
    if split.replicas > 1:
        info["replicas"] = split.replicas
    if split.first:
        info["first"] = split.first
    return OpSpec(spec.op, space, spec.args, info)


def split_of(spec: OpSpec) -> Split:
    """The split of a settled spec."""
    parts = tuple(parts for _, parts in spec.iteration_space.values())
    return Split(parts, spec.op_info.get("replicas", 1), spec.op_info.get("first", ""))


def legal_parts(spec: OpSpec, symbol: str, cores: int) -> tuple[int, ...]:
    """Into how many parts a symbol's range can be cut for at most ``cores`` cores."""
    found = signature_of(spec)
    extent = spec.iteration_space[symbol][0]
    if found is None:
        return (1,)
    return _legal_parts(extent, granule(spec.args, symbol, extent), found.roles[symbol], cores)


@lru_cache(maxsize=4096)
def _legal_parts(extent: int, unit: int, role: Role, cores: int) -> tuple[int, ...]:
    units = -(-extent // unit)
    found = set()
    if role is Role.WHOLE:
        return (1,)
    for parts in range(1, min(cores, units) + 1):
        piece = parts_of(extent, unit, parts)
        real = -(-extent // piece)
        if real != parts or (role is not Role.FREE and extent % piece):
            continue
        found.add(parts)
    return tuple(sorted(found))


def splits(
    spec: OpSpec, machine: Machine = SPYRE, fixed: Mapping[str, int] | None = None
) -> list[Split]:
    """Splits over at most all cores, most cores first.

    Kept are those that use at least half as many cores as the best, and keep every operand
    within the reach of a core.
    """
    fixed = fixed or {}
    choices: list[tuple[int, ...]] = []
    for symbol in spec.iteration_space:
        legal = legal_parts(spec, symbol, machine.cores)
        if symbol in fixed and legal != (1,):
            choices.append((fixed[symbol],))
            continue
        choices.append(tuple(p for p in legal if _is_round(p, legal)))
    found = [Split(s) for s in itertools.product(*choices) if math.prod(s) <= machine.cores]
    found = _within_reach(spec, found, machine)
    most = max((split.cores for split in found), default=1)
    found = [split for split in found if split.cores * 2 > most or fixed]
    return sorted(found, key=lambda split: -split.cores)


def reordered(spec: OpSpec, splits: Iterable[Split]) -> list[Split]:
    """The same splits with another symbol first."""
    symbols = tuple(spec.iteration_space)
    made = []
    for split in splits:
        several = [s for s, parts in zip(symbols, split.parts, strict=True) if parts > 1]
        if split.replicas > 1:
            several.append(REPLICAS)
        if len(several) > 1:
            made += [split._replace(first=symbol) for symbol in several]
    return made


def replicated(spec: OpSpec, machine: Machine = SPYRE) -> list[Split]:
    """Splits over few cores, done by several neighbours at once: worth a look where these have
    all they need."""
    choices = [legal_parts(spec, symbol, machine.cores) for symbol in spec.iteration_space]
    found = []
    for parts in itertools.product(*choices):
        cores = math.prod(parts)
        copies = 2
        while cores * copies <= machine.cores:
            found.append(Split(parts, copies))
            copies *= 2
    return _within_reach(spec, found, machine)


def _within_reach(spec: OpSpec, found: list[Split], machine: Machine) -> list[Split]:
    """Splits that let every core stay within its reach of each tensor."""
    sizes = [arg.layout.nbytes for arg in spec.args]
    if max(sizes) <= machine.span_bytes:
        return found
    kept = [split for split in found if span_bytes(spec, split) <= machine.span_bytes]
    if found and not kept:
        least = min(span_bytes(spec, split) for split in found)
        raise TilingError(
            f"{spec.op}: a core reaches at most {machine.span_bytes:,} B of a tensor, and every"
            f" split over {machine.cores} cores has one that needs {least:,} B or more: let more"
            " cores share it, or cut the tensor"
        )
    return kept


def _is_round(parts: int, legal: tuple[int, ...]) -> bool:
    """Powers of two, and the most that there are."""
    return parts & (parts - 1) == 0 or parts == legal[-1] or parts in (3, 5, 6, 7, 12, 24)


def span_bytes(spec: OpSpec, split: Split) -> int:
    """Bytes between the first and the last element that a core touches, over all operands."""
    from spyrelab.layout import contiguous_strides
    from spyrelab.opspec import element_type
    from spyrelab.tiling.buffers import holding
    from spyrelab.tiling.cut import Slicing

    slicing = Slicing.of(with_split(spec, split))
    widest = 0
    for arg in spec.args:
        boxes = holding(slicing, arg).boxes
        strides = contiguous_strides(arg.device_size)
        reach = ((boxes[:, :, 1] - boxes[:, :, 0] - 1) * strides).sum(axis=1).max()
        widest = max(widest, (int(reach) + 1) * element_type(arg.dtype).itemsize)
    return widest
