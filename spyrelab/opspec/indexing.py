"""Reading and writing by index tensors: embedding, gather, index_put, scatter and their kin.

Operands of each operation, in order (``dim`` and ``dims`` are attributes):

============================ ==================================================================
embedding                    table ``[n, ...]``, index of any rank
index_select                 source, index ``[i]``; ``dim``
gather, take_along_dim       source, index of the source's rank; ``dim``
index                        source, index tensors that broadcast; ``dims``, one for each
index_put                    index tensors, values; ``dims``, ``accumulate``; into ``out0``
index_copy, index_add        index ``[i]``, source; ``dim``; into ``out0``
scatter, scatter_add         index, source (or for scatter a number); ``dim``; into ``out0``
embedding_dense_backward     gradient, index; ``padding_idx``; added into ``out0``
============================ ==================================================================

The last four lines change ``out0``, which holds the other tensor already (zeros for the
embedding). Indices are i64 or i32; negative ones count from the end. One that is out of range
moves nothing: who launches checks with `index_ranges` before.

Sums of halves are taken in f32, in a temporary as large as ``out0``, and rounded once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import BF16, F16, F32, I1, I32, I64
from spyrelab.layout.access import Axis
from spyrelab.opspec.chain import Chain
from spyrelab.opspec.compile import Compiled
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.lookup import IndexTensor, Lookup, Move
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import composite, family
from spyrelab.opspec.spans import plain

__all__ = ["build_indexed_read", "build_indexed_write", "compile_sum", "index_ranges"]

_READS = ("embedding", "index_select", "gather", "take_along_dim", "index")
_WRITES = ("index_put", "index_copy", "index_add", "scatter", "scatter_add")
_BACKWARD = "embedding_dense_backward"


@family(*_READS)
def build_indexed_read(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """``out`` from the places of the first input that the others name."""
    table, *rest = inputs
    if not isinstance(table, Operand):
        raise OpSpecError(f"{op} reads a tensor")
    indices = _index_operands(op, rest)
    dims = _dims(op, table, len(indices), attributes)
    lookup = _lookup(op, Move.READ, table, outputs[0], indices, dims, first=1)
    return lookup.build([*((f"in{i}", None) for i in range(len(inputs))), ("out0", None)])


@family(*_WRITES, _BACKWARD, updates=True)
def build_indexed_write(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """Elements of the last input (or of the gradient) written or added into ``out``."""
    table = outputs[0]
    backward = op == _BACKWARD
    data = inputs[0] if backward else inputs[-1]
    indices = _index_operands(op, inputs[1:] if backward else inputs[:-1])
    padding = attributes.pop("padding_idx", None) if backward else None
    accumulate = attributes.pop("accumulate", False) if op == "index_put" else op[-3:] == "add"
    move = Move.ADD if accumulate or backward else Move.WRITE
    if move is Move.ADD and table.element == I1:
        raise Unsupported(f"{op} that adds to {table.dtype}")
    dims = _dims(op, table, len(indices), attributes)
    skip = padding if padding is not None and padding >= 0 else None
    lookup = _lookup(op, move, table, data, indices, dims, first=int(backward), skip=skip)
    kinds = [None if isinstance(i, Operand) else {"f32": F32, "i64": I64}[i] for i in inputs]
    return lookup.build([*((f"in{i}", kind) for i, kind in enumerate(kinds)), ("out0", None)])


@composite("index_put", "index_add", "scatter_add", _BACKWARD)
def compile_sum(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Compiled | None:
    """Sums into halves by way of f32."""
    accumulates = attributes.get("accumulate", False) if op == "index_put" else True
    if not accumulates or outputs[0].element not in (F16, BF16):
        return None
    chain = Chain(inputs, outputs)
    wide = chain.temporary(outputs[0].size, "f32")
    chain.add("copy", chain.outputs, [wide])
    chain.add(op, chain.inputs, [wide], **attributes)
    chain.add("copy", [wide], chain.outputs)
    return chain.finish()


def index_ranges(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> tuple[tuple[int, int, int], ...]:
    """For each index tensor its position among the inputs, and its range ``low <= i < high``.

    As in torch, only ``index`` and ``index_put`` take negative ones. Other operations have no
    index tensors.
    """
    if op in _READS:
        positions, table = range(1, len(inputs)), inputs[0]
    elif op == _BACKWARD:
        positions, table = range(1, 2), outputs[0]
    elif op in _WRITES:
        positions, table = range(len(inputs) - 1), outputs[0]
    else:
        return ()
    assert isinstance(table, Operand)
    known = {k: v for k, v in attributes.items() if k in ("dim", "dims")}
    dims = _dims(op, table, len(positions), known)
    signed = op in ("index", "index_put")
    extents = [table.size[dim] for dim in dims]
    return tuple(
        (position, -n if signed else 0, n) for position, n in zip(positions, extents, strict=True)
    )


def _index_operands(op: str, given: Sequence[Input]) -> list[Operand]:
    found = [operand for operand in given if isinstance(operand, Operand)]
    if not found or len(found) != len(given):
        raise OpSpecError(f"{op} needs index tensors")
    for operand in found:
        if operand.element not in (I32, I64):
            raise Unsupported(f"{op} by an index of {operand.dtype}")
    return found


def _dims(op: str, table: Operand, count: int, attributes: dict[str, Any]) -> tuple[int, ...]:
    """Dimensions of the table that are indexed, one for each index tensor."""
    given = dict(attributes)
    if op in ("index", "index_put"):
        dims = tuple(given.pop("dims", range(count)))
    elif op in ("embedding", _BACKWARD):
        dims = (0,)
    else:
        dims = (given.pop("dim"),)
    if given:
        raise Unsupported(f"{op} with {', '.join(given)}")
    rank = table.rank
    wrapped = tuple(dim + rank if dim < 0 else dim for dim in dims)
    if len(wrapped) != count or any(not 0 <= dim < rank for dim in wrapped):
        raise OpSpecError(f"{op} of a tensor of rank {rank} along {dims} by {count} index tensors")
    return wrapped


def _lookup(
    op: str,
    move: Move,
    table: Operand,
    data: Input,
    indices: list[Operand],
    dims: tuple[int, ...],
    first: int,
    skip: int | None = None,
) -> Lookup:
    pointwise = op in ("gather", "take_along_dim", "scatter", "scatter_add")
    if pointwise:
        extents = indices[0].size
        along = [plain(extent) if d in dims else table.axes[d] for d, extent in enumerate(extents)]
        places = [list(indices[0].axes)]
    else:
        extents, along, places = _spread(table, indices, dims)
    number = not isinstance(data, Operand)
    reading = move is Move.READ
    if isinstance(data, Operand):
        data_axes = _aligned(data, extents, truncated=pointwise)
        data_element = data.element
    else:
        data_axes, data_element = tuple(plain(extent) for extent in extents), table.element
    inputs = len(indices) + 1
    last = inputs - 1 if op != _BACKWARD else 0
    return Lookup(
        op,
        move,
        tuple(extents),
        tuple(along),
        data_axes,
        tuple(
            IndexTensor(f"in{first + i}", o.element, tuple(axes), table.size[d], table.axes[d])
            for i, (o, axes, d) in enumerate(zip(indices, places, dims, strict=True))
        ),
        "in0" if reading else "out0",
        "out0" if reading else f"in{last}",
        table.element,
        data_element,
        (*((inputs, 0) if reading else (last, inputs)), *range(first, first + len(indices))),
        number,
        skip,
    )


def _spread(
    table: Operand, indices: list[Operand], dims: tuple[int, ...]
) -> tuple[tuple[int, ...], list[Axis], list[list[Axis]]]:
    """The result's extents, the table's axes along them, and those of every index tensor."""
    shape = _broadcast([index.size for index in indices])
    apart = any(b - a != 1 for a, b in itertools.pairwise(dims))
    begin = 0 if apart else dims[0]
    kept = [d for d in range(table.rank) if d not in dims]
    before = kept[: begin if not apart else 0]
    after = kept[len(before) :]
    extents = (*(table.size[d] for d in before), *shape, *(table.size[d] for d in after))
    axes = table.axes
    along = [axes[d] for d in before] + [plain(e) for e in shape] + [axes[d] for d in after]
    places = []
    for index in indices:
        own = _aligned(index, shape)
        places.append(
            [plain(table.size[d]) for d in before] + [*own] + [plain(table.size[d]) for d in after]
        )
    return extents, along, places


def _broadcast(sizes: list[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(len(size) for size in sizes)
    padded = [(1,) * (rank - len(size)) + size for size in sizes]
    return tuple(max(extents) for extents in zip(*padded, strict=True))


def _aligned(operand: Operand, extents: Sequence[int], truncated: bool = False) -> tuple[Axis, ...]:
    """An operand's axes along extents that it broadcasts to; ``truncated``: it may be larger."""
    missing = len(extents) - operand.rank
    if missing < 0:
        raise OpSpecError(f"an operand of size {operand.size} does not fit {tuple(extents)}")
    found = [plain(extent) for extent in extents[:missing]]
    for own, extent, axis in zip(operand.size, extents[missing:], operand.axes, strict=True):
        if own != extent and own != 1 and not (truncated and own > extent):
            raise OpSpecError(f"an operand of size {operand.size} does not fit {tuple(extents)}")
        found.append(plain(extent) if own == 1 else axis)
    return tuple(found)
