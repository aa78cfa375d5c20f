"""From a list of operations to buffers with lives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.lx.problem import Buffer, Kind

__all__ = ["Step", "clones", "lifetimes"]


class Step(NamedTuple):
    """One operation: what it reads and writes.

    Attributes
    ----------
    name : str
    reads, writes : tuple of str
    in_place : bool
        Whether a result may take the address of an operand that is read for the last time:
        true of elementwise operations.
    """

    name: str
    reads: Sequence[str]
    writes: Sequence[str]
    in_place: bool = False


class _Life(NamedTuple):
    """When a tensor is written and read."""

    writes: list[int]
    reads: list[int]


def lifetimes(
    items: Sequence[Step],
    nbytes: Mapping[str, int],
    live_in: Collection[str] | None = None,
    live_out: Collection[str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
) -> tuple[Buffer, ...]:
    """Buffers of a run of operations that would avoid DDR traffic if they stayed on the core.

    An intermediate avoids its writes and reads; a tensor that is live at the end is written to
    DDR once in any case; one that is live at the beginning has to be copied in, so it avoids all
    reads but one (see `clones`).  A tensor that would avoid nothing is left out.

    Parameters
    ----------
    items : sequence of Step
    nbytes : mapping
        Bytes of each tensor on one core.
    live_in, live_out : collection of str, optional
        What is in DDR before and has to be there after; by default what is read but never
        written, and what is written but never read.
    kinds : mapping, optional
        For drawings.

    Raises
    ------
    TilingError
        A tensor without a size, or read before it is written and not live at the beginning.
    """
    lives = _lives(items)
    if live_in is None:
        live_in = {name for name, life in lives.items() if not life.writes}
    if live_out is None:
        live_out = {name for name, life in lives.items() if not life.reads}
    found: list[Buffer] = []
    for name, life in lives.items():
        if name not in nbytes:
            raise TilingError(f"{name} has no size: give its bytes on one core")
        kind = (kinds or {}).get(name, _kind(name, live_in, live_out))
        if name in live_in:
            if not life.writes:  # what is overwritten stays where others will look for it
                found += clones(name, nbytes[name], life.reads, kind)
            continue
        _check_order(name, life, items)
        uses = len(life.writes) + len(life.reads) - (name in live_out)
        if uses:
            steps = life.writes + life.reads
            found.append(Buffer(name, nbytes[name], min(steps), max(steps), uses, kind=kind))
    return tuple(_with_parents(items, found))


def clones(name: str, nbytes: int, reads: Sequence[int], kind: Kind = Kind.INPUT) -> list[Buffer]:
    """Ways to copy an input into the scratchpad: for all its reads, or for runs of them.

    A run is halved where the wait between two reads is longest, down to two reads.  A copy that
    serves n reads costs one, so it avoids n - 1.
    """
    if len(reads) < 2:
        return []
    first, last = reads[0], reads[-1]
    uses = len(reads) - 1
    whole = Buffer(f"{name}@{first}-{last}", nbytes, first, last, uses, clone_of=name, kind=kind)
    cut = max(range(1, len(reads)), key=lambda i: reads[i] - reads[i - 1])
    return [
        whole,
        *clones(name, nbytes, reads[:cut], kind),
        *clones(name, nbytes, reads[cut:], kind),
    ]


def _lives(items: Sequence[Step]) -> dict[str, _Life]:
    lives: dict[str, _Life] = {}
    for step, item in enumerate(items):
        for name in dict.fromkeys(item.reads):
            lives.setdefault(name, _Life([], [])).reads.append(step)
        for name in dict.fromkeys(item.writes):
            lives.setdefault(name, _Life([], [])).writes.append(step)
    return lives


def _kind(name: str, live_in: Collection[str], live_out: Collection[str]) -> Kind:
    if name in live_in:
        return Kind.INPUT
    return Kind.OUTPUT if name in live_out else Kind.ACTIVATION


def _check_order(name: str, life: _Life, items: Sequence[Step]) -> None:
    if life.reads and (not life.writes or life.reads[0] < life.writes[0]):
        reader = items[life.reads[0]].name
        raise TilingError(f"{reader} reads {name} before anything writes it: is it live-in?")


def _with_parents(items: Sequence[Step], buffers: Sequence[Buffer]) -> Iterator[Buffer]:
    for child in buffers:
        item = items[child.first]
        if child.clone_of is not None or not item.in_place:
            yield child
            continue
        parents = tuple(
            b.name
            for b in buffers
            if (b.clone_of or b.name) in item.reads
            and b.first < b.last == child.first
            and b.size >= child.size
        )
        yield Buffer(
            child.name, child.nbytes, child.first, child.last, child.uses, parents, kind=child.kind
        )
