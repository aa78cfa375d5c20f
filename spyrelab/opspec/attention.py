"""Attention as one operation, its scores never in main memory.

========================== ========================================================
attention                  q ``[b, h, m, d]``, k ``[b, hk, n, d]``, v ``[b, hk, n, e]``,
                           perhaps mask, broadcast to ``[b, h, m, n]`` -> out
                           ``[b, h, m, e]``, logsumexp f32 ``[b, h, m]``
attention_backward_queries gradient of out, q, k, v, out, logsumexp, perhaps mask -> dq,
                           delta f32 ``[b, h, m]``, perhaps dmask ``[b, h, m, n]``
attention_backward_keys    gradient of out, q, k, v, logsumexp, delta, perhaps mask -> dk, dv
========================== ========================================================

``h`` is a multiple of ``hk``: neighbouring query heads share keys and values. Attributes are
``scale`` and ``causal`` (key n counts for query m if n <= m). A boolean mask says which keys
count; another one is added to the scores. A query for which no key counts gives zeros, and
its logsumexp is -inf, which the gradients know.

Scores, maxima and sums are f32; weights (and, backward, gradients of scores) are rounded to
the operands' type before they are multiplied again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spyrelab.kernels.division import LX_BYTES
from spyrelab.ktir.builder import Builder, Scalar
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import BF16, F16, F32, I1, MemorySpace
from spyrelab.machine import SPYRE
from spyrelab.opspec.attention_backward import KeyGradients, QueryGradients
from spyrelab.opspec.attention_plan import AttentionPlan, Extents, plan_keys, plan_queries
from spyrelab.opspec.attention_program import Forward, Share, Walker, one_core, shares
from spyrelab.opspec.attention_scores import Scores
from spyrelab.opspec.attention_space import Field, Loader, Space
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import family
from spyrelab.opspec.target import Target, target

__all__ = ["build_attention", "check_attention", "emit_attention"]

WORK_BYTES = 256 << 10
"""Scratchpad bytes in which one core can always do a slice of an attention that is checked."""

_ROLES = {
    "q": "BHMD",
    "k": "BKND",
    "v": "BKNE",
    "out": "BHME",
    "lse": "BHM",
    "delta": "BHM",
    "mask": "BHMN",
    "grad": "BHME",
    "dq": "BHMD",
    "dk": "BKND",
    "dv": "BKNE",
    "dmask": "BHMN",
}
_OPERANDS = {
    "attention": (("q", "k", "v"), ("out", "lse")),
    "attention_backward_queries": (("grad", "q", "k", "v", "out", "lse"), ("dq", "delta")),
    "attention_backward_keys": (("grad", "q", "k", "v", "lse", "delta"), ("dk", "dv")),
}
_STATISTICS = ("lse", "delta")


@family(*_OPERANDS)
def build_attention(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """The program of an attention, or of one side of its gradient."""
    into = target()
    if into is not None:
        _emitted(into, op, inputs, outputs, **attributes)
        return Module(())
    operands = _named(op, inputs, outputs)
    space, extents = _space(op, operands, bool(attributes.get("causal")))
    plan = _plan(op, extents)
    b = Builder(op, grid=(plan.cores,))
    names = [f"in{i}" for i in range(len(inputs))] + [f"out{i}" for i in range(len(outputs))]
    pointers = dict(zip(operands, b.pointers(*names), strict=True))
    core = b.compute_tile_id()
    _walker(op, b, space, plan, shares(core, plan), pointers, {}, 0, **attributes).emit()
    return b.build()


def check_attention(
    inputs: Sequence[Operand], outputs: Sequence[Operand], causal: bool = False, scale: float = 1.0
) -> None:
    """Raise Unsuitable, Unsupported or OpSpecError where no program does an attention."""
    operands = _named("attention", tuple(inputs), tuple(outputs))
    extents = _space("attention", operands, causal)[1]
    plan_queries(extents, 1, WORK_BYTES)


def _emitted(
    into: Target,
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    **attributes: Any,
) -> None:
    """One core's code, in another program."""
    if into.partners is not None or any(given.sparse for given in into.given.values()):
        raise Unsupported(f"{op} on slices that cores share")
    given = [into.given[f"in{n}"] for n in range(len(inputs))]
    given += [into.given[f"out{n}"] for n in range(len(outputs))]
    emit_attention(
        into.builder,
        op,
        tuple(g.operand for g in given[: len(inputs)]),
        outputs,
        tuple(g.pointer for g in given),
        tuple(g.space for g in given),
        lx_bytes=into.lx_bytes,
        **attributes,
    )


def emit_attention(
    b: Builder,
    op: str,
    inputs: tuple[Operand, ...],
    outputs: tuple[Operand, ...],
    pointers: tuple[Scalar, ...],
    spaces: tuple[MemorySpace, ...],
    first_query: Scalar | int = 0,
    lx_bytes: int = LX_BYTES,
    **attributes: Any,
) -> None:
    """Append one core's code for an attention on slices.

    Parameters
    ----------
    inputs, outputs
        Slices along batch, heads and queries (for gradients of keys: batch, heads and keys).
    pointers, spaces
        For inputs and outputs in order: the element at which a slice begins, and its memory.
    first_query
        Index of the slice's first query, for causal attention.
    lx_bytes
        What tiles that are alive at once may take.
    """
    operands = _named(op, inputs, outputs)
    space, extents = _space(op, operands, bool(attributes.get("causal")))
    plan = one_core(_plan(op, extents, 1, lx_bytes))
    where = dict(zip(operands, pointers, strict=True))
    kinds = dict(zip(operands, spaces, strict=True))
    _walker(op, b, space, plan, Share(), where, kinds, first_query, **attributes).emit()


def _walker(
    op: str,
    b: Builder,
    space: Space,
    plan: AttentionPlan,
    share: Share,
    pointers: Mapping[str, Scalar],
    spaces: Mapping[str, MemorySpace],
    first_query: Scalar | int,
    scale: float,
    causal: bool = False,
) -> Any:
    loader = Loader(b, space, pointers, spaces)
    scores = Scores(loader, scale, causal, "mask" in space.fields, first_query)
    made: dict[str, type[Walker]] = {
        "attention": Forward,
        "attention_backward_queries": QueryGradients,
        "attention_backward_keys": KeyGradients,
    }
    return made[op](space, loader, scores, plan, share)


def _plan(
    op: str, extents: Extents, cores: int = SPYRE.cores, lx_bytes: int = LX_BYTES
) -> AttentionPlan:
    make = plan_keys if op == "attention_backward_keys" else plan_queries
    return make(extents, cores, lx_bytes)


def _named(op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...]) -> dict[str, Operand]:
    """Operands by name, inputs first."""
    reads, writes = _OPERANDS[op]
    wanted = [*reads, "mask"][: len(inputs)], [*writes, "dmask"][: len(outputs)]
    extra = op == "attention_backward_queries"
    fits = len(inputs) - len(reads) in (0, 1) and len(outputs) - len(writes) in (0, int(extra))
    if not fits or not all(isinstance(operand, Operand) for operand in inputs):
        raise OpSpecError(f"{op} takes {', '.join(reads)} and perhaps a mask, all tensors")
    names = [*wanted[0], *wanted[1]]
    return dict(zip(names, (*inputs, *outputs), strict=True))  # type: ignore[arg-type]


def _space(op: str, operands: Mapping[str, Operand], causal: bool) -> tuple[Space, Extents]:
    sizes = _sizes(operands)
    group = sizes["H"] // sizes["K"]
    kind = operands["q"].element
    fields = {}
    for position, (name, operand) in enumerate(operands.items()):
        _check(name, operand, kind, sizes)
        fields[name] = Field.of(position, operand, _ROLES[name], group)
    extents = {**sizes, "G": group}
    planned = Extents(
        sizes["B"] * sizes["K"],
        group,
        sizes["M"],
        sizes["N"],
        sizes["D"],
        sizes["E"],
        kind.itemsize,
        causal,
        "mask" in operands,
        op != "attention",
    )
    if causal and "dmask" in operands:
        raise Unsupported("the gradient of a mask of causal attention")
    return Space.of(extents, fields), planned


def _sizes(operands: Mapping[str, Operand]) -> dict[str, int]:
    q, k, v = (operands[name] for name in "qkv")
    if q.rank != 4 or k.rank != 4 or v.rank != 4:
        raise OpSpecError("attention takes operands of rank 4")
    sizes = dict(zip("BHMD", q.size, strict=True))
    sizes |= {"K": k.size[1], "N": k.size[2], "E": v.size[3]}
    if min(sizes.values()) < 1 or sizes["H"] % sizes["K"]:
        raise Unsupported(f"attention of {q.size} and {k.size}")
    return sizes


def _check(name: str, operand: Operand, kind: Any, sizes: Mapping[str, int]) -> None:
    if name in _STATISTICS:
        allowed: tuple[Any, ...] = (F32,)
    elif name == "mask":
        allowed = (I1, kind, F32)
    else:
        allowed = (kind,)
    if kind not in (F16, BF16, F32) or operand.element not in allowed:
        raise Unsupported(f"attention with {name} of {operand.dtype}")
    size = tuple(sizes[role] for role in _ROLES[name])
    free = name == "mask"
    if operand.rank != len(size) or any(
        a != b and not (free and a == 1) for a, b in zip(operand.size, size, strict=True)
    ):
        raise OpSpecError(f"attention: {name} of size {operand.size} is no {size}")
