"""Collectives of random programs: groups, deliveries and folds of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.emulator.random_programs_data import is_float
from tests.emulator.random_programs_linalg import FLOAT_COMBINERS, INTEGER_COMBINERS
from tests.emulator.random_programs_state import (
    MOST_ELEMENTS,
    Growing,
    Scalar,
    SkipStepError,
    Tensor,
    count,
    static,
)
from tests.emulator.random_programs_tiles import like

Fill = Callable[[Growing, int], None]


@dataclass(frozen=True)
class Groups:
    """Number of groups, tiles of each, and the text of their set ``(i)[g]``."""

    number: int
    size: int
    text: str

    @property
    def numbers(self) -> str:
        return f"affine_set<(g) : (g >= 0, -g + {self.number - 1} >= 0)>"


def _groups(g: Growing) -> Groups:
    cores = g.cores
    if g.chance(0.4):
        return Groups(1, cores, f"affine_set<(i)[g] : (i >= 0, -i + {cores - 1} >= 0)>")
    number = g.rng.randint(1, max(1, cores // 2))
    size = cores // number
    if g.chance(0.5):
        text = f"(i - g * {size} >= 0, -i + g * {size} + {size - 1} >= 0)"
    else:
        text = f"((i - g) mod {number} == 0, i >= 0, -i + {number * size - 1} >= 0)"
    return Groups(number, size, f"affine_set<(i)[g] : {text}>")


def _consumers(g: Growing, groups: Groups) -> tuple[str, int]:
    """Who receives: all of the group, or (of a single group) some tiles; and how many."""
    if groups.number > 1 or g.chance(0.5):
        return groups.text, groups.size
    first = g.rng.randrange(groups.size)
    size = groups.size - first
    return f"affine_set<(i)[g] : (i - {first} >= 0, -i + {groups.size - 1} >= 0)>", size


def exchange(g: Growing, fill: Fill) -> None:
    if g.cores < 2 or not g.uniform:
        raise SkipStepError
    groups = _groups(g)
    partials = [g.tensor(lambda t: t.is_static and bool(t.shape))]
    if g.chance(0.3):
        partials.append(like(g, partials[0].shape, g.element()))
    if count(partials[0].sizes) * groups.size > 4 * MOST_ELEMENTS:
        raise SkipStepError
    kind = g.rng.choice(("consume", "reduce", "reduce", "gather", "scatter", "all_to_all",
                         "reduce_scatter"))  # fmt: skip
    consumers, size = _consumers(g, groups)
    dependency, senders = _dependency(g, groups, kind)
    results, lists = _shapes(g, kind, partials, senders, size)
    types = ", ".join(p.type for p in partials)
    future = f"!ktdp.tile_future<({types}), groups = {groups.numbers}>"
    name, group = g.fresh("f"), g.fresh("g")
    with g.nested() as body:
        g.scalars.append(Scalar(group, "index"))
        if g.chance(0.3):
            fill(g, 1)
        sent = [like_in_scope(g, p) for p in partials]
    g.emit(
        f"{name} = ktdp.inter_tile_produce producer_tiles_per_group = {groups.text} -> {future} "
        f"{{\n^bb0({group}: index):",
        body,
        f"ktdp.yield_partial {', '.join(sent)} : {types}\n}}",
    )
    if g.chance(0.3):
        fill(g, 1)
    head = f"ktdp.inter_tile_{kind}({name}) consumer_tiles_per_group = {consumers}{dependency}"
    _deliver(g, kind, head + lists, future, partials, results)


def like_in_scope(g: Growing, tensor: Tensor) -> str:
    found = [t for t in g.tensors if (t.shape, t.element) == (tensor.shape, tensor.element)]
    return g.recent(found).name


def _dependency(g: Growing, groups: Groups, kind: str) -> tuple[str, int]:
    """The dependency set of a delivery, and how many producers a consumer then has."""
    key = ", producer_dependency_per_consumer = affine_set"
    n = groups.size
    if kind in ("consume", "scatter"):
        if groups.number > 1:
            # Every tile receives from itself or from the first of its group.
            if n == 1:
                return "", 1
            if kind == "consume" and g.chance(0.5):
                return f"{key}<(p)[c] : (p - c == 0)>", 1
            raise SkipStepError
        shift = g.rng.randrange(n)
        if kind == "consume" and g.chance(0.6):
            return f"{key}<(p)[c] : ((p - c + {shift}) mod {n} == 0)>", 1
        return f"{key}<(p)[c, g] : (p - {shift} == 0)>", 1
    if groups.number == 1 and g.chance(0.2) and kind == "reduce":
        return f"{key}<(p)[c] : (p - c >= 0)>", -1
    return "", n


def _shapes(
    g: Growing, kind: str, partials: list[Tensor], senders: int, receivers: int
) -> tuple[list[Tensor], str]:
    """Result shapes and dimension lists of a delivery."""
    sizes = list(partials[0].sizes)
    rank = len(sizes)
    lists = ""
    if kind in ("scatter", "reduce_scatter", "all_to_all"):
        dims = _split(g, sizes, receivers)
        word = "split" if kind == "all_to_all" else "scatter"
        lists += f", {word}_dimensions = {sorted(dims)}"
        for axis, parts in dims.items():
            sizes[axis] //= parts
    if kind in ("gather", "all_to_all"):
        dims = _factored(g, rank, senders)
        lists += f", concat_dimensions = {sorted(dims)}"
        for axis, parts in dims.items():
            sizes[axis] *= parts
    return [Tensor(g.fresh("t"), static(*sizes), p.element) for p in partials], lists


def _factored(g: Growing, rank: int, total: int) -> dict[int, int]:
    axis = g.rng.randrange(rank)
    if rank > 1 and g.chance(0.4):
        first = g.pick([d for d in range(1, total + 1) if total % d == 0])
        other = g.pick([a for a in range(rank) if a != axis])
        return {axis: first, other: total // first}
    return {axis: total}


def _split(g: Growing, sizes: Sequence[int], total: int) -> dict[int, int]:
    for _ in range(5):
        dims = _factored(g, len(sizes), total)
        if all(sizes[axis] % parts == 0 for axis, parts in dims.items()):
            return dims
    raise SkipStepError


def _deliver(
    g: Growing, kind: str, head: str, future: str, partials: list[Tensor], results: list[Tensor]
) -> None:
    types = ", ".join(t.type for t in results)
    left = ", ".join(t.name for t in results)
    if "reduce" not in kind:
        g.emit(f"{left} = {head} : {future} -> {types}")
        g.tensors += results
        return
    identities = [like(g, p.shape, p.element) for p in partials]
    arguments = [Tensor(g.fresh("t"), p.shape, p.element) for p in [*partials, *partials]]
    with g.nested() as body:
        folded = []
        for number, partial in enumerate(partials):
            a, b = arguments[number], arguments[number + len(partials)]
            names = FLOAT_COMBINERS if is_float(partial.element) else INTEGER_COMBINERS
            first, second = (a, b) if g.chance(0.8) else (b, a)
            text = f"arith.{g.rng.choice(names)} {first.name}, {second.name} : {partial.type}"
            folded.append(g.define(text, partial.shape, partial.element).name)
        if g.chance(0.2):
            folded = [a.name for a in arguments[len(partials) :]]
    listed = ", ".join(f"{a.name}: {a.type}" for a in arguments)
    named = ", ".join(t.name for t in identities)
    kinds = ", ".join(t.type for t in identities)
    g.emit(
        f"{left} = {head}, identity({named} : {kinds}) : {future} -> {types} {{\n^bb0({listed}):",
        body,
        f"ktdp.yield_reduced {', '.join(folded)} : {kinds}\n}}",
    )
    g.tensors += results
