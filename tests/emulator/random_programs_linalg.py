"""linalg operations of random programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.emulator.random_programs_data import is_float, is_integer
from tests.emulator.random_programs_state import (
    Extent,
    Growing,
    Scalar,
    Shape,
    SkipStepError,
    Step,
    Tensor,
    count,
    static,
)
from tests.emulator.random_programs_tiles import SPYRE_ONE, like, operation, outs

FLOAT_COMBINERS = ("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf", "subf", "divf")
INTEGER_COMBINERS = ("addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui",
                     "subi", "shli")  # fmt: skip
NAMED_TWO = ("add", "sub", "mul", "div", "max", "min", "powf")
NAMED_ONE = ("exp", "log", "abs", "ceil", "floor", "negf", "tanh", "sqrt", "rsqrt", "square",
             "reciprocal", "erf", "round", "copy")  # fmt: skip
NAMED_INTEGER = ("add", "sub", "mul", "div", "max", "min", "abs", "square", "copy")
CONTRACTIONS = {
    "matmul": "mk,kn->mn", "matmul_transpose_a": "km,kn->mn", "matmul_transpose_b": "mk,nk->mn",
    "batch_matmul": "bmk,bkn->bmn", "batch_matmul_transpose_a": "bkm,bkn->bmn",
    "batch_matmul_transpose_b": "bmk,bnk->bmn", "batch_matvec": "bmk,bk->bm", "matvec": "mk,k->m",
    "vecmat": "k,kn->n", "dot": "k,k->",
}  # fmt: skip


def named(g: Growing) -> None:
    first = g.tensor(lambda t: t.element != "i1")
    element = first.element
    names = (*NAMED_TWO, *NAMED_ONE, "select") if is_float(element) else (*NAMED_INTEGER, "select")
    name = g.rng.choice(names)
    total = 2 if name in NAMED_TWO else 1
    ins = [first, *(like(g, first.shape, element) for _ in range(total - 1))]
    if name == "select":
        ins = [like(g, first.shape, "i1"), first, like(g, first.shape, element)]
    same = is_float if is_float(element) else (lambda e: is_integer(e) and e != "i1")
    target = outs(g, first.shape, g.element(same) if g.chance(0.1) else element)
    _emit_named(g, name, ins, target)


def _emit_named(g: Growing, name: str, ins: Sequence[Tensor], target: Tensor) -> None:
    names, kinds = ", ".join(t.name for t in ins), ", ".join(t.type for t in ins)
    g.define(
        f"linalg.{name} ins({names} : {kinds}) outs({target.name} : {target.type}) -> "
        f"{target.type}", target.shape, target.element,
    )  # fmt: skip


def contraction(g: Growing) -> None:
    name, spec = g.rng.choice(list(CONTRACTIONS.items()))
    extents = {letter: Extent(g.rng.choice((1, 2, 3, 5, 7, 8, 9, 16, 17))) for letter in "bmkn"}
    left, right, out = spec.replace("->", ",").split(",")
    element = g.element(lambda e: e != "i1")
    seeds = [t for t in g.tensors if len(t.shape) == len(left) and t.element != "i1"]
    if seeds and g.chance(0.6):
        seed = g.recent(seeds)
        element = seed.element
        extents.update(zip(left, seed.shape, strict=True))
    total = count([extents[letter].size for letter in set(spec) & set("bmkn")])
    if total > 20000:
        raise SkipStepError
    same = is_float if is_float(element) else (lambda e: is_integer(e) and e != "i1")
    other, result = (g.element(same) if g.chance(0.25) else element for _ in range(2))
    ins = [
        like(g, tuple(extents[x] for x in left), element),
        like(g, tuple(extents[x] for x in right), other),
    ]
    _emit_named(g, name, ins, outs(g, tuple(extents[x] for x in out), result))


def reduce(g: Growing) -> None:
    first = g.tensor(lambda t: bool(t.shape))
    rank = len(first.shape)
    axes = g.rng.sample(range(rank), g.rng.choice((0, *[1] * 6, 2, 2, 3)) % (rank + 1))
    if g.chance(0.7):
        axes.sort()
    shape = tuple(e for axis, e in enumerate(first.shape) if axis not in axes)
    names = FLOAT_COMBINERS if is_float(first.element) else INTEGER_COMBINERS
    name = g.rng.choice(names[: 6 if g.chance(0.8) else None])
    if g.chance(0.6):
        target = outs(g, shape, first.element)
        g.define(
            f"linalg.reduce {{ arith.{name} }} ins({first.name} : {first.type}) "
            f"outs({target.name} : {target.type}) dimensions = {axes}", shape, first.element,
        )  # fmt: skip
        return
    ins = [first]
    if g.chance(0.5):
        ins.append(like(g, first.shape, first.element if g.chance(0.5) else g.element()))
    targets = [outs(g, shape, t.element) for t in ins]
    arguments = [Scalar(g.fresh("b"), t.element) for t in [*ins, *targets]]
    with g.nested() as body:
        plain = len(ins) == 1 and g.chance(0.4)
        yields = _plain(g, name, arguments) if plain else _body(g, arguments, ins, False)
    listed = ", ".join(f"{a.name}: {a.element}" for a in arguments)
    end = _yield("linalg.yield", yields, [t.element for t in targets])
    head = f"linalg.reduce {_groups(ins, targets)} dimensions = {axes} ({listed}) {{"
    _several(g, head, body, end + "\n}", targets)


def _plain(g: Growing, name: str, arguments: Sequence[Scalar]) -> list[str]:
    a, b = (x.name for x in g.rng.sample(list(arguments), 2))
    element = arguments[0].element
    return [g.define_scalar(f"arith.{name} {a}, {b} : {element}", element).name]


def _groups(ins: Sequence[Tensor], targets: Sequence[Tensor]) -> str:
    return " ".join(
        f"{word}({', '.join(t.name for t in group)} : {', '.join(t.type for t in group)})"
        for word, group in (("ins", ins), ("outs", targets))
        if group
    )


def _yield(name: str, values: Sequence[str], elements: Sequence[str]) -> str:
    return f"{name} {', '.join(values)} : {', '.join(elements)}"


def _several(g: Growing, head: str, body: list[Step], end: str, targets: Sequence[Tensor]) -> None:
    """Emit an operation with a body and one result for each target."""
    results = [Tensor(g.fresh("t"), t.shape, t.element) for t in targets]
    g.emit(f"{', '.join(t.name for t in results)} = {head}", body, end)
    g.tensors += results


def _body(
    g: Growing, arguments: Sequence[Scalar], targets: Sequence[Tensor], outer: bool
) -> list[str]:
    """Random scalar code over the arguments; names of one value for every target."""
    pool = [*(g.scalars if outer else []), *arguments]

    def pick(element: str) -> str:
        found = [s for s in pool if s.element == element]
        return g.recent(found).name if found and g.chance(0.85) else g.any_constant(element).name

    for _ in range(g.rng.randint(1, 4)):
        element = g.rng.choice(pool).element if g.chance(0.8) else g.element()
        if element in ("f16", "f32", "!spyreop.df16") and g.chance(0.15):
            text = f"spyreop.{g.rng.choice(SPYRE_ONE)} {pick(element)} : {element}"
            pool.append(g.define_scalar(text, element))
            continue
        text, result = operation(g, element, pick, lambda e: e)
        pool.append(g.define_scalar(text, result))
    return [pick(t.element) for t in targets]


def map_elements(g: Growing) -> None:
    first = g.tensor()
    ins = [first]
    for _ in range(g.rng.randint(0, 2)):
        ins.append(like(g, first.shape, g.element() if g.chance(0.4) else first.element))
    target = outs(g, first.shape, g.element() if g.chance(0.3) else first.element)
    if g.chance(0.3) and len(ins) == 2 and ins[0].element == ins[1].element == target.element:
        name = g.rng.choice(FLOAT_COMBINERS if is_float(first.element) else INTEGER_COMBINERS)
        g.define(
            f"linalg.map {{ arith.{name} }} {_groups(ins, [target])}", first.shape, target.element
        )
        return
    arguments = [Scalar(g.fresh("b"), t.element) for t in ins]
    with g.nested() as body:
        indices = _indices(g, len(first.shape))
        yields = _body(g, [*arguments, *indices], [target], True)
    listed = ", ".join(f"{a.name}: {a.element}" for a in arguments)
    end = _yield("linalg.yield", yields, [target.element]) + "\n}"
    _several(g, f"linalg.map {_groups(ins, [target])} ({listed}) {{", body, end, [target])


def _indices(g: Growing, rank: int) -> list[Scalar]:
    return [
        g.define_scalar(f"linalg.index {axis} : index", "index")
        for axis in range(rank)
        if g.chance(0.4)
    ]


def generic(g: Growing) -> None:
    """Any mixture of parallel and reduction dimensions, in any order."""
    seed = g.tensor(lambda t: bool(t.shape)) if g.chance(0.7) else None
    extents = list(seed.shape) if seed else list(static(*g.sizes(g.rng.randint(0, 3), 80)))
    extents += static(*g.sizes(g.rng.choice((0, 0, 1)), 4))
    order = g.rng.sample(range(len(extents)), len(extents))
    extents = [extents[axis] for axis in order]
    rank = len(extents)
    kinds = ["reduction" if g.chance(0.3) else "parallel" for _ in range(rank)]
    if count([e.size for e in extents]) > 3000:
        raise SkipStepError
    if count([e.size for e, k in zip(extents, kinds, strict=True) if k == "reduction"]) > 150:
        raise SkipStepError
    parallel = [d for d in range(rank) if kinds[d] == "parallel"]
    ins, maps = [], []
    if seed:
        ins.append(seed)
        maps.append([f"d{order.index(axis)}" for axis in range(len(seed.shape))])
    for _ in range(g.rng.randint(0, 2)):
        results, shape = _operand(g, extents)
        ins.append(like(g, shape, g.element() if not ins or g.chance(0.3) else ins[0].element))
        maps.append(results)
    covered = {r for results in maps for r in results}
    missing = [d for d in range(rank) if f"d{d}" not in covered and d not in parallel]
    if missing:
        ins.append(like(g, tuple(extents[d] for d in missing), g.element()))
        maps.append([f"d{d}" for d in missing])
    targets = []
    for _ in range(g.rng.choice((1, 1, 1, 2, 3))):
        axes = list(parallel)
        if g.chance(0.3):
            g.rng.shuffle(axes)
        element = g.element() if not ins or g.chance(0.3) else ins[0].element
        targets.append(outs(g, tuple(extents[d] for d in axes), element))
        maps.append([f"d{d}" for d in axes])
    _emit_generic(g, rank, kinds, ins, targets, maps)


def _emit_generic(
    g: Growing, rank: int, kinds: Sequence[str], ins: list[Tensor], targets: list[Tensor],
    maps: Sequence[Sequence[str]],
) -> None:  # fmt: skip
    head = f"({', '.join(f'd{d}' for d in range(rank))})"
    texts = [f"affine_map<{head} -> ({', '.join(results)})>" for results in maps]
    arguments = [Scalar(g.fresh("b"), t.element) for t in [*ins, *targets]]
    with g.nested() as body:
        pool = [*arguments, *_indices(g, rank)]
        if g.chance(0.2):
            pool += _looked_up(g, pool)
        yields = _body(g, pool, targets, True)
        if len(targets) > 1 and g.chance(0.3):
            yields = _swapped(arguments[len(ins) :], targets) or yields
    iterators = ", ".join(f'"{kind}"' for kind in kinds)
    listed = ", ".join(f"{a.name}: {a.element}" for a in arguments)
    results = ", ".join(t.type for t in targets)
    _several(
        g,
        f"linalg.generic {{indexing_maps = [{', '.join(texts)}], iterator_types = [{iterators}]}} "
        f"{_groups(ins, targets)} {{\n^bb0({listed}):",
        body,
        f"{_yield('linalg.yield', yields, [t.element for t in targets])}\n}} -> ({results})",
        targets,
    )


def _swapped(arguments: Sequence[Scalar], targets: Sequence[Tensor]) -> list[str] | None:
    rotated = [*arguments[1:], arguments[0]]
    if [a.element for a in rotated] != [t.element for t in targets]:
        return None
    return [a.name for a in rotated]


def _looked_up(g: Growing, pool: Sequence[Scalar]) -> list[Scalar]:
    """An element of some tensor at indices that differ from point to point."""
    indices = [s for s in pool if s.element == "index"]
    table = g.tensor(lambda t: t.is_static and len(t.shape) in (1, 2))
    if not indices:
        return []
    places = []
    for size in table.sizes:
        bound = g.constant(size)
        places.append(
            g.define_scalar(
                f"arith.remui {g.rng.choice(indices).name}, {bound.name} : index", "index"
            ).name
        )
    text = f"tensor.extract {table.name}[{', '.join(places)}] : {table.type}"
    return [g.define_scalar(text, table.element)]


def _operand(g: Growing, extents: Sequence[Extent]) -> tuple[list[str], Shape]:
    """Map results and shape of an input: projected, permuted, constant, linear or divided."""
    rank = len(extents)
    axes = g.rng.sample(range(rank), g.rng.randint(0, rank))
    if g.chance(0.6):
        axes.sort()
    results, shape = [f"d{d}" for d in axes], [extents[d] for d in axes]
    if any(e.name for e in extents) or not g.chance(0.35):
        return results, tuple(shape)
    d, e = (g.rng.randrange(rank) for _ in range(2)) if rank else (0, 0)
    forms: list[Callable[[], tuple[str, int]]] = [lambda: ("1", 2), lambda: ("0", 1)]
    if rank:
        n, m = extents[d].size, extents[e].size
        forms += [
            lambda: (f"d{d} + d{e}", n + m - 1),
            lambda: (f"d{d} * 2 + 1", 2 * n),
            lambda: (f"-d{d} + {n - 1}", n),
            lambda: (f"d{d} mod 3", 3),
            lambda: (f"d{d} floordiv 2", n),
            lambda: (f"(d{d} + d{e}) mod 4", 4),
        ]
    text, extent = g.rng.choice(forms)()
    position = g.rng.randint(0, len(results))
    results.insert(position, text)
    shape.insert(position, Extent(extent))
    if count([x.size for x in shape]) > 3000:
        raise SkipStepError
    return results, tuple(shape)
