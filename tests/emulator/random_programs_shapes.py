"""Shapes, slices and single elements of tensors in random programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tests.emulator.random_programs_state import (
    MOST_ELEMENTS,
    Extent,
    Growing,
    Scalar,
    SkipStepError,
    Tensor,
    count,
    dynamic_sizes,
    static,
    tensor_type,
)
from tests.emulator.random_programs_tiles import cast_name, like, outs


def _factors(g: Growing, size: int) -> list[int]:
    parts = []
    for _ in range(g.rng.randint(1, 3)):
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        parts.append(g.rng.choice(divisors))
        size //= parts[-1]
    return [*parts, size] if size > 1 or not parts else parts


def reshape(g: Growing) -> None:
    source = g.tensor(lambda t: t.is_static and bool(t.shape))
    choice = g.rng.randrange(3)
    if choice == 0:
        groups, shape, axis = [], [], 0
        for extent in source.sizes:
            parts = _factors(g, extent)
            groups.append(list(range(axis, axis + len(parts))))
            shape += parts
            axis += len(parts)
        if len(shape) > 6:
            raise SkipStepError
        result = static(*shape)
        g.define(
            f"tensor.expand_shape {source.name} {groups} output_shape {shape} : {source.type} into "
            f"{tensor_type(result, source.element)}", result, source.element,
        )  # fmt: skip
    elif choice == 1:
        cuts = sorted(
            g.rng.sample(range(len(source.shape)), g.rng.randint(0, len(source.shape) - 1))
        )
        edges = [0, *[c for c in cuts if c], len(source.shape)]
        groups = [list(range(a, b)) for a, b in pairwise(edges)]
        result = static(*(count([source.sizes[d] for d in group]) for group in groups))
        g.define(
            f"tensor.collapse_shape {source.name} {groups} : {source.type} into "
            f"{tensor_type(result, source.element)}", result, source.element,
        )  # fmt: skip
    else:
        shape = _factors(g, count(source.sizes))
        wanted = g.fresh("c")
        kind = f"tensor<{len(shape)}xindex>"
        g.emit(f"{wanted} = arith.constant dense<{shape}> : {kind}")
        result = static(*shape)
        kinds = f"({source.type}, {kind}) -> {tensor_type(result, source.element)}"
        g.define(f"tensor.reshape {source.name}({wanted}) : {kinds}", result, source.element)


def transpose(g: Growing) -> None:
    source = g.tensor(lambda t: len(t.shape) > 0)
    axes = g.rng.sample(range(len(source.shape)), len(source.shape))
    shape = tuple(source.shape[axis] for axis in axes)
    target = outs(g, shape, source.element)
    g.define(
        f"linalg.transpose ins({source.name} : {source.type}) outs({target.name} : {target.type}) "
        f"permutation = {axes}", shape, source.element,
    )  # fmt: skip


def _window(g: Growing, sizes: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Offsets, sizes and steps of a slice inside a shape."""
    window = []
    for extent in sizes:
        step = g.rng.choice((1, 1, 1, 2, 3))
        size = g.rng.randint(1, (extent - 1) // step + 1)
        window.append((g.rng.randint(0, extent - 1 - (size - 1) * step), size, step))
    offsets, lengths, steps = zip(*window, strict=True)
    return list(offsets), list(lengths), list(steps)


def _mixed(g: Growing, numbers: Sequence[int], probability: float) -> list[str]:
    return [g.index(n).name if g.chance(probability) else str(n) for n in numbers]


def _bracketed(*lists: Sequence[str]) -> str:
    return " ".join(f"[{', '.join(entries)}]" for entries in lists)


def extract_slice(g: Growing) -> None:
    source = g.tensor(lambda t: t.is_static and bool(t.shape))
    offsets, sizes, steps = _window(g, source.sizes)
    shape = tuple(Extent(n, g.index(n).name if g.chance(0.1) else None) for n in sizes)
    if g.chance(0.1):
        position = g.rng.randrange(len(shape))
        shape = (*shape[:position], Extent(0, g.hidden(0).name), *shape[position + 1 :])
        offsets[position] = g.rng.choice((0, source.sizes[position]))
    listed = _bracketed(_mixed(g, offsets, 0.3), [e.name or str(e.size) for e in shape],
                        _mixed(g, steps, 0.1))  # fmt: skip
    result = shape
    if g.chance(0.4) and not dynamic_sizes(shape):
        kept = [e for e in shape if e.size != 1]
        result = tuple(kept)
    g.define(
        f"tensor.extract_slice {source.name}{listed} : {source.type} to "
        f"{tensor_type(result, source.element)}", result, source.element,
    )  # fmt: skip


def insert_slice(g: Growing) -> None:
    target = g.tensor(lambda t: t.is_static and bool(t.shape))
    offsets, sizes, steps = _window(g, target.sizes)
    block = like(g, static(*sizes), target.element)
    listed = _bracketed(_mixed(g, offsets, 0.3), list(map(str, sizes)), _mixed(g, steps, 0.1))
    g.define(
        f"tensor.insert_slice {block.name} into {target.name}{listed} : {block.type} into "
        f"{target.type}", target.shape, target.element,
    )  # fmt: skip


def concat(g: Growing) -> None:
    first = g.tensor(lambda t: t.is_static and bool(t.shape))
    axis = g.rng.randrange(len(first.shape))
    parts = [first]
    for _ in range(g.rng.randint(0, 2)):
        shape = list(first.shape)
        shape[axis] = Extent(g.rng.randint(1, 4))
        parts.append(like(g, tuple(shape), first.element))
    g.rng.shuffle(parts)
    shape = list(first.shape)
    shape[axis] = Extent(sum(p.shape[axis].size for p in parts))
    if count([e.size for e in shape]) > 2 * MOST_ELEMENTS:
        raise SkipStepError
    names, kinds = ", ".join(p.name for p in parts), ", ".join(p.type for p in parts)
    result = tensor_type(tuple(shape), first.element)
    g.define(
        f"tensor.concat dim({axis}) {names} : ({kinds}) -> {result}", tuple(shape), first.element
    )


def pad(g: Growing) -> None:
    source = g.tensor(lambda t: t.is_static and bool(t.shape))
    low = [g.rng.choice((0, 0, 1, 2)) for _ in source.shape]
    high = [g.rng.choice((0, 0, 1, 3)) for _ in source.shape]
    shape = static(*(a + n + b for a, n, b in zip(low, source.sizes, high, strict=True)))
    if count([e.size for e in shape]) > 2 * MOST_ELEMENTS:
        raise SkipStepError
    indices = [g.fresh("i") for _ in shape]
    with g.nested() as body:
        g.scalars += [Scalar(name, "index") for name in indices]
        value = body_value(g, source.element, indices)
    arguments = ", ".join(f"{name}: index" for name in indices)
    tensor = Tensor(g.fresh("t"), shape, source.element)
    g.emit(
        f"{tensor.name} = tensor.pad {source.name} low{low} high{high} {{\n^bb0({arguments}):",
        body, f"tensor.yield {value} : {source.element}\n}} : {source.type} to {tensor.type}",
    )  # fmt: skip
    g.tensors.append(tensor)


def body_value(g: Growing, element: str, indices: Sequence[str]) -> str:
    """A scalar of an element type inside a body, perhaps computed from the indices."""
    if not indices or g.chance(0.3):
        return g.any_constant(element).name if g.chance(0.5) else g.scalar(element).name
    pool = list(indices)
    for _ in range(g.rng.randint(0, 2)):
        other = g.constant(g.rng.choice((1, 2, 3, 5))).name if g.chance(0.5) else g.rng.choice(pool)
        name = g.rng.choice(("addi", "subi", "muli", "remsi", "floordivsi", "xori", "maxsi"))
        pool.append(g.define_scalar(f"arith.{name} {pool[-1]}, {other} : index", "index").name)
    if element == "index":
        return pool[-1]
    return g.define_scalar(
        f"{cast_name(g, 'index', element)} {pool[-1]} : index to {element}", element
    ).name


def generate(g: Growing) -> None:
    element = g.element()
    if g.chance(0.5):
        shape = g.pick([t.shape for t in g.tensors if t.shape])
    else:
        shape = static(*g.sizes(g.rng.randint(1, 3), 300))
    indices = [g.fresh("i") for _ in shape]
    with g.nested() as body:
        g.scalars += [Scalar(name, "index") for name in indices]
        value = body_value(g, element, indices)
    arguments = ", ".join(f"{name}: index" for name in indices)
    sizes = ", ".join(dynamic_sizes(shape))
    tensor = Tensor(g.fresh("t"), shape, element)
    g.emit(
        f"{tensor.name} = tensor.generate {sizes} {{\n^bb0({arguments}):", body,
        f"tensor.yield {value} : {element}\n}} : {tensor.type}",
    )  # fmt: skip
    g.tensors.append(tensor)


def extract(g: Growing) -> None:
    source = g.tensor(lambda t: t.is_static and all(t.sizes))
    indices = [g.index(g.rng.randrange(n)).name for n in source.sizes]
    g.define_scalar(
        f"tensor.extract {source.name}[{', '.join(indices)}] : {source.type}", source.element
    )


def insert(g: Growing) -> None:
    target = g.tensor(lambda t: t.is_static and all(t.sizes))
    indices = [g.index(g.rng.randrange(n)).name for n in target.sizes]
    value = g.scalar(target.element)
    g.define(
        f"tensor.insert {value.name} into {target.name}[{', '.join(indices)}] : {target.type}",
        target.shape, target.element,
    )  # fmt: skip


def from_elements(g: Growing) -> None:
    element = g.element()
    shape = static(*g.sizes(g.rng.choice((0, 1, 1, 2)), 9))
    values = [g.scalar(element).name for _ in range(count([e.size for e in shape]))]
    g.define(
        f"tensor.from_elements {', '.join(values)} : {tensor_type(shape, element)}", shape, element
    )


def dimension(g: Growing) -> None:
    source = g.tensor(lambda t: bool(t.shape))
    axis = g.rng.randrange(len(source.shape))
    extent = source.shape[axis]
    index = g.constant(axis)
    g.define_scalar(
        f"tensor.dim {source.name}, {index.name} : {source.type}",
        "index",
        None if extent.name else extent.size,
    )


def forget_size(g: Growing) -> None:
    """tensor.cast to a dynamic type and on, with operations between them."""
    source = g.tensor(lambda t: t.is_static and bool(t.shape))
    axis = g.rng.randrange(len(source.shape))
    loose = list(source.shape)
    loose[axis] = Extent(source.sizes[axis], g.index(source.sizes[axis]).name)
    kind = tensor_type(tuple(loose), source.element)
    g.define(f"tensor.cast {source.name} : {source.type} to {kind}", tuple(loose), source.element)


def recall_size(g: Growing) -> None:
    source = g.tensor(lambda t: not t.is_static)
    if any(e.name and e.name.startswith("%d") for e in source.shape):
        raise SkipStepError
    shape = static(*source.sizes)
    kind = tensor_type(shape, source.element)
    g.define(f"tensor.cast {source.name} : {source.type} to {kind}", shape, source.element)
