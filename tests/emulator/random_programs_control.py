"""Loops and branches of random programs, with steps of every kind inside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.emulator.random_programs_state import Growing, Scalar, SkipStepError, Tensor
from tests.emulator.random_programs_tiles import CMPI, like

Fill = Callable[[Growing, int], None]
Value = Tensor | Scalar


def _carried(g: Growing) -> list[Value]:
    """Values that a loop carries; two of one type often, so that they can change places."""
    values: list[Value] = []
    for _ in range(g.rng.choice((0, 1, 1, 2, 3))):
        if g.chance(0.7) and g.tensors:
            tensor = g.tensor()
            values.append(tensor)
            if g.chance(0.4):
                values.append(like(g, tensor.shape, tensor.element))
        elif g.scalars:
            values.append(g.rng.choice(g.scalars))
    return values[:4]


def _renamed(g: Growing, values: Sequence[Value]) -> list[Value]:
    return [
        Tensor(g.fresh("t"), v.shape, v.element) if isinstance(v, Tensor)
        else Scalar(g.fresh("s"), v.element)
        for v in values
    ]  # fmt: skip


def _enter(g: Growing, values: Sequence[Value]) -> None:
    g.tensors += [v for v in values if isinstance(v, Tensor)]
    g.scalars += [v for v in values if isinstance(v, Scalar)]


def _chosen(g: Growing, like_these: Sequence[Value]) -> list[str]:
    """Names of values in scope with the types of others; the others themselves often."""
    names = []
    for value in like_these:
        pool: Sequence[Value] = g.tensors if isinstance(value, Tensor) else g.scalars
        same = [v for v in pool if _matches(v, value)]
        names.append(g.recent(same).name if same else value.name)
    return names


def _matches(a: Value, b: Value) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shape == b.shape and a.element == b.element
    return isinstance(a, Scalar) and isinstance(b, Scalar) and a.element == b.element


def _types(values: Sequence[Value]) -> str:
    return ", ".join(v.type for v in values)


def _yield(names: Sequence[str], values: Sequence[Value]) -> str:
    return f"scf.yield {', '.join(names)} : {_types(values)}" if names else "scf.yield"


def _results(g: Growing, values: Sequence[Value]) -> tuple[str, list[Value]]:
    results = _renamed(g, values)
    return (f"{', '.join(v.name for v in results)} = " if results else ""), results


def loop(g: Growing, fill: Fill) -> None:
    if g.depth > 2:
        raise SkipStepError
    inits = _carried(g)
    carried = _renamed(g, inits)
    element = g.rng.choice(("index", "index", "index", "i32"))
    low, step, trips = g.rng.randrange(-2, 3), g.rng.choice((1, 1, 2, 3)), g.rng.randrange(0, 4)
    bounds = [low, low + step * trips - g.rng.randrange(0, step), step]
    if element == "index":
        texts = [g.index(b).name for b in bounds]
    else:
        texts = [g.constant(b, element).name for b in bounds]
    uniform = True
    if element == "index" and g.chance(0.2):
        texts[1], uniform = "%core", False
    counter = Scalar(g.fresh("i"), element)
    with g.nested(uniform) as body:
        _enter(g, [counter, *carried])
        fill(g, g.rng.randint(1, 3))
        names = _chosen(g, carried)
    head = f"scf.for {counter.name} = {texts[0]} to {texts[1]} step {texts[2]}"
    if inits:
        pairs = ", ".join(f"{c.name} = {i.name}" for c, i in zip(carried, inits, strict=True))
        head += f" iter_args({pairs}) -> ({_types(carried)})"
    if element != "index":
        head += f" : {element}"
    left, results = _results(g, carried)
    g.emit(f"{left}{head} {{", body, f"{_yield(names, carried)}\n}}")
    _enter(g, results)


def _condition(g: Growing) -> tuple[Scalar, bool]:
    """An i1, and whether it is the same on every core."""
    choice = g.rng.randrange(4)
    if choice == 0:
        core = Scalar("%core", "index")
        other = g.constant(g.rng.randrange(0, 3))
        text = f"arith.cmpi {g.rng.choice(CMPI)}, {core.name}, {other.name} : index"
        return g.define_scalar(text, "i1"), False
    if choice == 1:
        found = [t for t in g.tensors if t.is_static and t.element == "i1"]
        source = g.recent(found)
        zeros = ", ".join(g.constant(0).name for _ in source.shape)
        text = f"tensor.extract {source.name}[{zeros}] : {source.type}"
        return g.define_scalar(text, "i1"), False
    if choice == 2:
        a, b = g.hidden(g.rng.randrange(3)), g.hidden(g.rng.randrange(3))
        text = f"arith.cmpi {g.rng.choice(CMPI)}, {a.name}, {b.name} : index"
        return g.define_scalar(text, "i1"), True
    return g.scalar("i1"), False


def branch(g: Growing, fill: Fill) -> None:
    if g.depth > 2:
        raise SkipStepError
    condition, uniform = _condition(g)
    wanted = _carried(g)
    arms = []
    for _ in range(2 if wanted or g.chance(0.5) else 1):
        with g.nested(uniform) as body:
            fill(g, g.rng.randint(0, 2))
            arms.append((body, _yield(_chosen(g, wanted), wanted)))
    left, results = _results(g, wanted)
    kinds = f" -> ({_types(wanted)})" if wanted else ""
    parts = [f"{left}scf.if {condition.name}{kinds} {{"]
    for number, (body, end) in enumerate(arms):
        parts += [body, end + ("\n} else {" if number + 1 < len(arms) else "\n}")]
    g.emit(*parts)
    _enter(g, results)


def while_loop(g: Growing, fill: Fill) -> None:
    if g.depth > 1:
        raise SkipStepError
    limit = g.index(g.rng.randrange(0, 4))
    inits: list[Value] = [g.constant(0), *_carried(g)]
    carried = _renamed(g, inits)
    one = g.constant(1)
    with g.nested() as before:
        _enter(g, carried)
        go_on = g.define_scalar(f"arith.cmpi slt, {carried[0].name}, {limit.name} : index", "i1")
        if g.chance(0.4):
            fill(g, 1)
        passed = [carried[0].name, *_chosen(g, carried[1:])]
    inner = _renamed(g, carried)
    with g.nested() as after:
        _enter(g, inner[1:])
        fill(g, g.rng.randint(1, 2))
        following = g.define_scalar(f"arith.addi {inner[0].name}, {one.name} : index", "index")
        names = [following.name, *_chosen(g, inner[1:])]
    left, results = _results(g, carried)
    pairs = ", ".join(f"{c.name} = {i.name}" for c, i in zip(carried, inits, strict=True))
    arguments = ", ".join(f"{v.name}: {v.type}" for v in inner)
    g.emit(
        f"{left}scf.while ({pairs}) : ({_types(carried)}) -> ({_types(carried)}) {{",
        before,
        f"scf.condition({go_on.name}) {', '.join(passed)} : {_types(carried)}\n"
        f"}} do {{\n^bb0({arguments}):",
        after,
        f"{_yield(names, carried)}\n}}",
    )
    _enter(g, results[1:])
