"""Views, access tiles, loads and stores of random programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.emulator.random_programs_data import dtype_of, is_integer, random_array
from tests.emulator.random_programs_sets import (
    dims,
    dynamic_extents,
    order,
    set_text,
    start,
    subscript,
)
from tests.emulator.random_programs_state import (
    Growing,
    Shape,
    SkipStepError,
    Tensor,
    count,
    dynamic_sizes,
    static,
)

GLOBAL = "#ktdp.memory_space<global>"


@dataclass(frozen=True)
class Base:
    """A view: its name and type, and whether the verifier knows its bounds."""

    name: str
    type: str
    bounded: bool


def _strides(g: Growing, sizes: Sequence[int], store: bool) -> list[int]:
    axes = list(range(len(sizes)))
    if g.chance(0.3):
        g.rng.shuffle(axes)
    pad, step = g.rng.choice((0, 0, 0, 1, 3)), g.rng.choice((1, 1, 1, 1, 2, 3, 5))
    strides = [0] * len(sizes)
    for axis in reversed(axes):
        strides[axis] = -step if g.chance(0.05) else step
        step = step * max(sizes[axis], 1) + pad
    if sizes and g.chance(0.05):
        # Elements that share an address: what was stored last stays.
        strides[g.rng.randrange(len(sizes))] = g.rng.choice((0, 1, 2))
    return strides


def view(
    g: Growing,
    element: str,
    lows: Sequence[int],
    sizes: Sequence[int],
    store: bool,
    data: np.ndarray | None = None,
    simple: bool = False,
) -> Base:
    """A memory view over memory of its own; ``data`` are its values in no special order."""
    shape = dynamic_extents(g, sizes, 0.0 if simple else 0.15)
    strides = _strides(g, sizes, store) if not simple else _row_major(sizes)
    ends = [s * max(n - 1, 0) for s, n in zip(strides, sizes, strict=True)]
    least = sum(min(0, end) for end in ends)
    length = sum(map(abs, ends)) + 1 + g.rng.randrange(0, 3)
    shift = -least
    space, address = _placed(g, element, length, shift, store, data)
    box = g.chance(0.9) or simple
    symbols = g.chance(0.8)
    given = [e.name or str(e.size) for e in shape]
    steps = [g.index(s).name if g.chance(0.05) and not simple else str(s) for s in strides]
    attributes = [f"memory_space = {space}"] if space != GLOBAL or g.chance(0.9) else []
    if any(lows) or not box or g.chance(0.8):
        attributes.insert(0, f"coordinate_set = {set_text(g, lows, shape, symbols, box)}")
    kind = f"memref<{''.join(f'{e}x' for e in shape)}{element}>"
    name = g.fresh("m")
    braces = f" {{{', '.join(attributes)}}}" if attributes else ""
    g.emit(
        f"{name} = ktdp.construct_memory_view {address}, sizes: [{', '.join(given)}], "
        f"strides: [{', '.join(steps)}]{braces} : {kind}"
    )
    return Base(name, kind, box and not dynamic_sizes(shape))


def _row_major(sizes: Sequence[int]) -> list[int]:
    return [count(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _placed(
    g: Growing, element: str, length: int, shift: int, store: bool, data: np.ndarray | None
) -> tuple[str, str]:
    """Memory space and address of a fresh region."""
    total = length * g.cores if store else length
    if data is not None:
        data = np.resize(data, total).astype(dtype_of(element))
    kind = g.rng.random()
    itemsize = dtype_of(element).itemsize
    if kind < 0.75 or (store and g.cores > 1 and kind < 0.9):
        base = g.pointer(element, total, data)
    elif kind < 0.85 or length * itemsize > 4096:
        address = -(-g.literal // itemsize)
        g.literal = (address + total) * itemsize + g.rng.randrange(0, 64)
        g.memory[address] = random_array(g.numpy, element, total) if data is None else data
        # An argument in such a sum would be taken for a pointer.
        base, shift = g.constant(address + shift).name, 0
    else:
        return _in_scratchpad(g, element, length, shift, store, data)
    if store and g.cores > 1:
        offset = g.define_scalar(f"arith.muli %core, {g.constant(length).name} : index", "index")
        base = g.define_scalar(f"arith.addi {base}, {offset.name} : index", "index").name
    if shift:
        base = g.define_scalar(f"arith.addi {base}, {g.index(shift).name} : index", "index").name
    return GLOBAL, base


def _in_scratchpad(
    g: Growing, element: str, length: int, shift: int, store: bool, data: np.ndarray | None
) -> tuple[str, str]:
    itemsize = dtype_of(element).itemsize
    address = -(-g.scratchpad // itemsize)
    g.scratchpad = (address + length) * itemsize + g.rng.randrange(0, 64)
    core = g.rng.randrange(g.cores)
    owners = range(g.cores)
    if store and g.cores > 1:
        core = None
    elif g.chance(0.5):
        owners = range(core, core + 1)
    else:
        core = None
    for owner in owners:
        g.memory["LX", owner, address] = (
            random_array(g.numpy, element, length) if data is None else data[:length]
        )
    place = "ct_local" if core is None else f"ct_local, ct_id = {core}"
    return f"#ktdp.memory_space<{place}>", g.constant(address + shift).name


def base(g: Growing, element: str, lows: Sequence[int], sizes: Sequence[int], store: bool) -> Base:
    """A view, or several as one."""
    if any(lows) or not sizes or g.chance(0.8):
        return view(g, element, lows, sizes, store)
    axis = g.rng.randrange(len(sizes))
    if sizes[axis] < 2:
        return view(g, element, lows, sizes, store)
    cut = g.rng.randrange(1, sizes[axis])
    overlap = g.rng.choice((0, 0, 0, 1, -1))
    pieces = [(0, cut), (max(0, min(cut - overlap, sizes[axis] - 1)), sizes[axis])]
    if g.chance(0.3):
        g.rng.shuffle(pieces)
    parts = []
    for first, end in pieces:
        part_lows, part_sizes = list(lows), list(sizes)
        part_lows[axis], part_sizes[axis] = first, end - first
        parts.append(view(g, element, part_lows, part_sizes, store))
    kind = f"memref<{''.join(f'{n}x' for n in sizes)}{element}>"
    name = g.fresh("m")
    names, kinds = ", ".join(p.name for p in parts), ", ".join(p.type for p in parts)
    g.emit(f"{name} = ktdp.construct_distributed_memory_view ({names} : {kinds}) : {kind}")
    return Base(name, kind, True)


@dataclass(frozen=True)
class Tile:
    """An access tile: name, type, and the shape of what is loaded."""

    name: str
    type: str
    shape: Shape


def _tile_type(shape: Shape) -> str:
    return f"!ktdp.access_tile<{''.join(f'{e}x' for e in shape)}index>"


def _finish(
    g: Growing,
    head: str,
    kinds: str,
    prefix: str,
    lows: Sequence[int],
    shape: Shape,
    wanted: Shape | None = None,
) -> Tile:
    """Emit an access tile of a set with an order; its shape, or ``wanted`` in the end."""
    visit = order(g, shape) if wanted is None else None
    points = set_text(g, lows, shape, True, g.chance(0.85))
    attributes = [f"{prefix}_set = {points}"]
    result = shape
    if visit is not None:
        attributes.append(f"{prefix}_order = {visit.text}")
        if visit.permutation is not None:
            result = tuple(shape[axis] for axis in visit.permutation)
    symbols = dynamic_sizes(shape)
    listed = f" symbols({', '.join(symbols)})" if symbols else ""
    name = g.fresh("a")
    g.emit(f"{name} = {head}{listed} {{{', '.join(attributes)}}} : {kinds} -> {_tile_type(result)}")
    return Tile(name, _tile_type(result), result)


def direct_tile(g: Growing, element: str, shape: Shape, store: bool, plain: bool) -> Tile:
    """An access tile of a fresh view; it may hang over the edge."""
    rank = len(shape)
    lows = [g.rng.choice((0, 0, 0, 1, -2)) for _ in range(rank)]
    corner = [0 if g.chance(0.7) else g.rng.choice((1, 2, -3)) for _ in range(rank)]
    slack = [g.rng.choice((0, 0, 1, 5)) for _ in range(rank)]
    sizes = [e.size + more for e, more in zip(shape, slack, strict=True)]
    whole = base(g, element, corner, sizes, store)
    starts = []
    for axis in range(rank):
        inside = corner[axis] + g.rng.randint(0, slack[axis]) - lows[axis]
        text, hidden = start(g, inside)
        if g.chance(0.15):
            shifted, hidden = start(g, inside + g.rng.choice((-2, -1, 1, 3, 200)))
            text = shifted if hidden else text
        starts.append(text)
    head = f"ktdp.construct_access_tile {whole.name}[{', '.join(starts)}]"
    wanted = shape if plain else None
    return _finish(g, head, whole.type, "access_tile", lows, shape, wanted)


def indirect_tile(g: Growing, element: str, shape: Shape, store: bool, plain: bool) -> Tile:
    """An access tile whose subscripts are read from index views or computed."""
    rank = len(shape)
    lows = [g.rng.choice((0, 0, 0, 1)) for _ in range(rank)]
    variables = [g.fresh("k") for _ in range(rank)]
    subscripts, kinds, corner, sizes = [], [], [], []
    for _ in range(g.rng.randint(1, 3)):
        if g.chance(0.5):
            extent = g.rng.randint(1, 9)
            text, kind = _index_view(g, variables, lows, shape, extent)
            subscripts.append(text)
            kinds.append(kind)
            corner.append(0)
            sizes.append(extent)
        else:
            found = subscript(g, variables, lows, shape)
            clip = 1 if found.hidden and found.high > found.low and g.chance(0.2) else 0
            subscripts.append(f"({found.text})")
            corner.append(found.low + clip if found.low + clip and g.chance(0.9) else 0)
            if found.low < corner[-1] and not found.hidden:
                corner[-1] = found.low
            sizes.append(max(1, found.high - corner[-1] + 1))
    if count(sizes) > 20000:
        raise SkipStepError
    whole = base(g, element, corner, sizes, store)
    head = (
        f"ktdp.construct_indirect_access_tile intermediate_variables({', '.join(variables)}) "
        f"{whole.name}[{', '.join(subscripts)}]"
    )
    wanted = shape if plain else None
    listed = ", ".join([whole.type, *kinds])
    return _finish(g, head, listed, "variables_space", lows, shape, wanted)


def _index_view(
    g: Growing, variables: Sequence[str], lows: Sequence[int], shape: Shape, extent: int
) -> tuple[str, str]:
    element = g.element(lambda e: is_integer(e) and e != "i1")
    found = [subscript(g, variables, lows, shape) for _ in range(g.rng.randint(1, 2))]
    wild = g.chance(0.3)
    data = g.numpy.integers(-1 if wild else 0, extent + wild, 64)
    corner, sizes = [s.low for s in found], [s.high - s.low + 1 for s in found]
    if count(sizes) > 5000:
        raise SkipStepError
    whole = view(g, element, corner, sizes, False, data)
    return f"ind({whole.name}[{', '.join(s.text for s in found)}])", whole.type


# -- steps -----------------------------------------------------------------------------------


def load(g: Growing) -> None:
    element = g.element()
    if g.tensors and g.chance(0.4):
        shape = g.pick([t.shape for t in g.tensors])
    else:
        sizes = g.sizes(g.rng.choice((1, 1, 2, 2, 2, 3, 4)))
        shape = dynamic_extents(g, sizes, 0.08)
    make = indirect_tile if g.chance(0.3) and shape else direct_tile
    tile = make(g, element, shape, False, False)
    g.define(
        f"ktdp.load {tile.name} : {tile.type} -> {_loaded(tile, element)}", tile.shape, element
    )


def _loaded(tile: Tile, element: str) -> str:
    return f"tensor<{''.join(f'{e}x' for e in tile.shape)}{element}>"


def store(g: Growing, tensor: Tensor | None = None, simple: bool = False) -> None:
    """Store a tensor into memory of its own, each core into its own part."""
    tensor = tensor or g.tensor()
    if not tensor.shape:
        grown = g.define(
            f"tensor.expand_shape {tensor.name} [] output_shape [1] : {tensor.type} into "
            f"tensor<1x{tensor.element}>", static(1), tensor.element,
        )  # fmt: skip
        tensor = grown
    shape, rank = tensor.shape, len(tensor.shape)
    if simple:
        whole = view(g, tensor.element, [0] * rank, tensor.sizes, True, simple=True)
        points = set_text(g, [0] * rank, shape, True, True)
        symbols = dynamic_sizes(shape)
        listed = f" symbols({', '.join(symbols)})" if symbols else ""
        name = g.fresh("a")
        g.emit(
            f"{name} = ktdp.construct_access_tile {whole.name}[{', '.join('0' * rank)}]{listed} "
            f"{{access_tile_set = {points}}} : {whole.type} -> {_tile_type(shape)}"
        )
        tile = Tile(name, _tile_type(shape), shape)
    else:
        make = indirect_tile if g.chance(0.3) else direct_tile
        tile = make(g, tensor.element, shape, True, g.chance(0.5))
        if [str(e) for e in tile.shape] != [str(e) for e in shape] or tile.shape != shape:
            raise SkipStepError
    g.emit(f"ktdp.store {tensor.name}, {tile.name} : {tensor.type}, {tile.type}")


def reload(g: Growing) -> None:
    """Store a tensor, then load it back."""
    g.rereads = True
    tensor = g.tensor(lambda t: bool(t.shape) and t.is_static)
    whole = view(g, tensor.element, [0] * len(tensor.shape), tensor.sizes, True, simple=True)
    names = dims(len(tensor.shape))
    points = set_text(g, [0] * len(names), tensor.shape, True, True)
    tile = g.fresh("a")
    zeros = ", ".join("0" * len(names))
    g.emit(
        f"{tile} = ktdp.construct_access_tile {whole.name}[{zeros}] {{access_tile_set = {points}}} "
        f": {whole.type} -> {_tile_type(tensor.shape)}"
    )
    g.emit(f"ktdp.store {tensor.name}, {tile} : {tensor.type}, {_tile_type(tensor.shape)}")
    g.define(
        f"ktdp.load {tile} : {_tile_type(tensor.shape)} -> {tensor.type}",
        tensor.shape,
        tensor.element,
    )
