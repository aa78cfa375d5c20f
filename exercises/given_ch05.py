"""What chapter 5 hands out: programs that take your plans, and a planner with a bug.

The tests use the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from spyrelab.ktir import Module
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling import Launch, LoopSpec, Plan, lower_bundle
from spyrelab.tiling.blocks import Draft
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.lx import Buffer, Problem, Solution, solve
from spyrelab.tiling.planning import Bundle

Addresses = Mapping[str, int | None]
"""Where tensors lie in the scratchpad, by name; None: in device memory."""


class Step(NamedTuple):
    """An operation: the tensors that it reads, and those that it writes."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


def lives(
    steps: Sequence[Step], wanted: Sequence[str], loop: tuple[int, int] | None = None
) -> dict[str, tuple[int, int]]:
    """First and last step of the life of every tensor that the steps write.

    There is a bug in it.
    """
    found: dict[str, tuple[int, int]] = {}
    for number, step in enumerate(steps):
        for name in step.writes:
            found[name] = (number, number)
        for name in step.reads:
            if name in found:
                found[name] = (found[name][0], number)
    return {
        name: (first, len(steps) - 1 if name in wanted else last)
        for name, (first, last) in found.items()
    }


def softmax_program(rows: int, cols: int, turns: int, addresses: Addresses) -> Launch:
    """Softmax over the rows of x, f16 [rows, cols], by five operations on one core.

    ``addresses`` speaks of ``x`` (a copy of it), ``top``, ``shifted``, ``powers`` and ``total``.
    """
    draft = Draft()
    x = draft.input("given", rows, cols)
    copied = draft.op("copy", x) if addresses.get("x") is not None else x
    top = draft.op("amax", copied, size=(rows, 1), sparse=True, dims=(1,), keepdim=True)
    shifted = draft.op("sub", copied, top)
    powers = draft.op("exp", shifted)
    total = draft.op("sum", powers, size=(rows, 1), sparse=True, dims=(1,), keepdim=True)
    out = draft.op("div", powers, total)
    names = {view.name: name for view, name in ((top, "top"), (shifted, "shifted"))}
    names |= {view.name: name for view, name in ((powers, "powers"), (total, "total"))}
    names |= {copied.name: "x"} if copied is not x else {}
    names |= {out.name: "out"}

    def settled(arg: TensorArg) -> TensorArg:
        name = names.get(arg.name, arg.name)
        return replace(arg, name=name, lx_address=addresses.get(name))

    whole = Split((1, 1))
    ops = tuple(replaced(with_split(spec, whole), args=settled) for spec in draft.ops)
    loop = LoopSpec(turns, ops, ("d0",) * len(ops))
    return lower_bundle([loop] if turns > 1 else ops)


def pair_program(
    rows: int,
    depth: int,
    cols: int,
    product: tuple[int, int, int],
    softmax: tuple[int, int],
) -> Module:
    """``softmax(x @ w)``, f16, in one launch; what lies between stays on the cores.

    ``product`` says into how many parts cores share M, N and K, ``softmax`` the same of the rows
    and columns.  Raises TilingError where a core does not find what it needs.
    """
    draft = Draft()
    x, w = draft.input("x", rows, depth), draft.input("w", depth, cols)
    draft.op("softmax", draft.op("mm", x, w, size=(rows, cols)), dim=-1)
    one, two = (with_split(s, Split(p)) for s, p in zip(draft.ops, (product, softmax), strict=True))
    return lower_bundle([_kept(one), _kept(two)]).module


def _kept(spec: OpSpec) -> OpSpec:
    """The spec with the result of the product at address 0 of the scratchpad."""
    args = tuple(replace(a, lx_address=0) if a.name == "t0" else a for a in spec.args)
    return replaced(spec, args=args)


Lives = Callable[[Sequence[Step], Sequence[str], tuple[int, int]], dict[str, tuple[int, int]]]


def norm_plan(rows: int, cols: int, turns: int, lives_of: Lives) -> tuple[Plan, Solution]:
    """RMS norm with a weight on one core: the weight is fetched before the loop.

    ``lives_of`` is `lives`, or what takes its place; addresses follow from it.
    """
    draft = Draft()
    x = draft.op("copy", draft.input("given", rows, cols))
    weight = draft.op("copy", draft.input("w", cols))
    scaled = draft.op("mul", x, weight)
    square = draft.op("square", x)
    mean = draft.op("mean", square, size=(rows, 1), sparse=True, dims=(1,), keepdim=True)
    scale = draft.op("rsqrt", draft.op("add", mean, 1e-6, sparse=True), sparse=True)
    out = draft.op("mul", scaled, scale)
    ops = [draft.ops[1], draft.ops[0], *draft.ops[2:]]  # the weight comes first
    steps = [Step(tuple(a.name for a in s.inputs), (s.outputs[0].name,)) for s in ops]
    alive = lives_of(steps, [out.name], (1, len(ops) - 1))
    each = rows // turns
    sizes = dict.fromkeys((x.name, scaled.name, square.name), each * cols * 2)
    sizes |= {weight.name: cols * 2}
    names = {x.name: "x", weight.name: "weight", scaled.name: "scaled", square.name: "square"}
    buffers = [
        Buffer(names.get(name, name), sizes.get(name, each * 128), *life, required=True)
        for name, life in alive.items()
        if name != out.name
    ]
    least = 3 * each * cols * 2 + (cols * 2 if alive[weight.name][1] > 3 else 0)
    found = solve(Problem(tuple(buffers), least, tuple(s.op for s in ops)), "first-fit")

    def settled(arg: TensorArg) -> TensorArg:
        return replace(arg, lx_address=found.addresses.get(names.get(arg.name, arg.name)))

    made = [
        replaced(with_split(s, Split((1,) * len(s.iteration_space))), args=settled) for s in ops
    ]
    loop = LoopSpec(turns, tuple(made[1:]), ("d0",) * len(made[1:]))
    return Plan((Bundle((made[0], loop)),), live_out=frozenset([out.name])), found
