"""Programs over rows: say what happens to a row, and every core does it to its own.

A *row* runs over the reduced axes, one for each index of the kept ones.  An operation is written
on tiles of rows, once::

    def softmax(row):
        x = row.load("in0")
        powers = row.map(row.b.exp, row.map(lambda v, top: v - top, x, row.fold("max", x)))
        row.store("out0", row.map(lambda p, total: p / total, powers, row.fold("add", powers)))

    build_rows("softmax", space, bounds, Demand(passes=2), softmax)

Where a row fits the scratchpad it is loaded once.  A longer one is read again in every pass.
Where there are fewer rows than cores, the cores share them and exchange what they folded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spyrelab.ktir.builder import Builder, Scalar
from spyrelab.ktir.ir import Module
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.row import Row, Stream
from spyrelab.opspec.row_chunks import chunks_of
from spyrelab.opspec.row_plan import Demand, Layout, Share, arrange, cut
from spyrelab.opspec.row_space import Bound, Segment, Space, refined, simplified
from spyrelab.opspec.row_windows import Start, Window
from spyrelab.opspec.target import SPARSE_BYTES, Target, emitting, target

__all__ = ["Row", "Stream", "build_rows"]


def build_rows(
    name: str,
    space: Space,
    bounds: Sequence[Bound],
    demand: Demand,
    operation: Callable[[Row], None],
) -> Module:
    """The program of an operation on rows; arguments are named as the bounds are.

    The first bound decides in which order memory is walked.
    """
    space, bound = simplified(*refined(space, bounds))
    into = target()
    if into is not None:
        _emitted(name, into, space, bound, demand, operation)
        return Module(())
    layout = arrange(space, bound)
    b = Builder(name, grid=(layout.cores,))
    names = [entry.name for entry in sorted(bound, key=lambda entry: entry.position)]
    pointers = dict(zip(names, b.pointers(*names), strict=True))
    core = b.compute_tile_id()
    for number, segments in enumerate(layout.combinations(False)):
        own = core if number % 2 == 0 else (layout.cores - 1) - core
        _rows_of(b, layout, segments, demand, operation, pointers, own)
    return b.build()


def _emitted(
    name: str,
    into: Target,
    space: Space,
    bounds: Sequence[Bound],
    demand: Demand,
    operation: Callable[[Row], None],
) -> None:
    """One core's code, in another program."""
    if into.partners is not None and (demand.ordered or demand.alone or demand.whole):
        raise Unsupported(f"{name} of rows that several cores share")
    b, sparse = into.builder, sum(given.sparse for given in into.given.values())
    own = replace(demand, lx_bytes=into.lx_bytes, row_bytes=sparse * SPARSE_BYTES)
    layout, core = arrange(space, bounds, 1), b.constant(0)
    with emitting(replace(into, sharing=demand.passes > 1)):
        for segments in layout.combinations(False):
            _rows_of(b, layout, segments, own, operation, into.scalars, core)


def _rows_of(
    b: Builder,
    layout: Layout,
    segments: Mapping[int, Segment],
    demand: Demand,
    operation: Callable[[Row], None],
    pointers: Mapping[str, Scalar],
    core: Scalar,
) -> None:
    share = cut(layout, segments, demand)
    into = target()
    given = into.given if into is not None else {}
    groups = (layout.kept, layout.reduced) if layout.rows_first else (layout.reduced, layout.kept)
    windows = {
        (bound.name, number): Window(
            b, pointers[bound.name], bound, {**segments, **own}, groups, given.get(bound.name)
        )
        for number, own in enumerate(layout.combinations(True))
        for bound in layout.bounds
    }
    chunks = chunks_of(b, layout, share, core)
    nothing: dict[int, Start] = dict.fromkeys(layout.kept, 0)
    row = Row(b, layout, share, core, windows, chunks, nothing)
    if share.grouped:
        operation(row)
        return
    row.preload(
        [
            bound.name
            for bound in layout.bounds
            if bound.name.startswith("in")
            and not any(bound.has(axis) for axis in layout.kept)
            and any(bound.has(axis) for axis in layout.reduced)
        ]
    )
    total = math.prod(share.counts.values())
    if total == 1 and layout.cores == 1:
        operation(row)
        return
    each = -(-total // layout.cores)
    first = core * each
    with b.loop(first, b.minimum(first + each, total), 1, names="tile") as number:
        operation(row.moved(_starts(b, layout, share, number)))


def _starts(b: Builder, layout: Layout, share: Share, number: Scalar) -> dict[int, Start]:
    """Where tile ``number`` begins along each kept axis."""
    found: dict[int, Start] = {}
    counts, rest = share.counts, number
    outer = [axis for axis in layout.kept if counts[axis] > 1]
    for axis in reversed(layout.kept):
        if counts[axis] == 1:
            found[axis] = 0
            continue
        last = axis == outer[0]
        found[axis] = (rest if last else rest % counts[axis]) * share.tile[axis]
        if not last:
            rest = rest // counts[axis]
    return found
