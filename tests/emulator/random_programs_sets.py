"""Coordinate sets, orders and subscripts of random programs, as text with known values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.emulator.random_programs_state import Extent, Growing, Scalar, Shape, SkipStepError

Grid = Sequence[np.ndarray]


def dims(rank: int) -> list[str]:
    return [f"d{i}" for i in range(rank)]


def _grid(lows: Sequence[int], shape: Shape) -> Grid:
    axes = [low + np.arange(e.size) for low, e in zip(lows, shape, strict=True)]
    return np.meshgrid(*axes, indexing="ij")


def set_text(g: Growing, lows: Sequence[int], shape: Shape, symbols: bool, box: bool) -> str:
    """``affine_set<..>`` of a box, perhaps thinned out so that the bounding box stays.

    ``symbols``: dynamic extents are symbols, in order.
    """
    names, constraints, number = dims(len(shape)), [], 0
    for name, low, extent in zip(names, lows, shape, strict=True):
        constraints.append(f"{name} >= 0" if low == 0 else f"{name} + {-low} >= 0")
        if extent.name and symbols:
            constraints.append(f"-{name} + s{number} + {low - 1} >= 0")
            number += 1
        else:
            constraints.append(f"-{name} + {low + extent.size - 1} >= 0")
    if g.chance(0.1) and any(e.size == 1 and not e.name for e in shape):
        axis = next(i for i, e in enumerate(shape) if e.size == 1 and not e.name)
        position = 2 * axis
        constraints[position : position + 2] = [f"{names[axis]} + {-lows[axis]} == 0"]
    if not box and shape and not any((e.name or "").startswith("%d") for e in shape):
        constraints += _thinning(g, lows, shape)
    listed = f"[{', '.join(f's{i}' for i in range(number))}]" if number else ""
    return f"affine_set<({', '.join(names)}){listed} : ({', '.join(constraints)})>"


def _thinning(g: Growing, lows: Sequence[int], shape: Shape) -> list[str]:
    rank = len(shape)
    for _ in range(6):
        a, b = g.rng.randrange(rank), g.rng.randrange(rank)
        k, m = g.rng.randrange(-3, 4), g.rng.choice((2, 3))
        grid = _grid(lows, shape)
        text, inside = g.rng.choice((
            (f"(d{a} + d{b} + {k}) mod {m} == 0", (grid[a] + grid[b] + k) % m == 0),
            (f"d{a} - d{b} + {k} >= 0", grid[a] - grid[b] + k >= 0),
            (f"(d{a} + {k}) mod {m} >= 0", (grid[a] + k) % m >= 0),
            (f"d{a} floordiv {m} - d{b} + 9 >= 0", grid[a] // m - grid[b] + 9 >= 0),
            (f"(d{a} * 3 + d{b}) mod {m} - 1 == 0", (grid[a] * 3 + grid[b]) % m == 1),
        ))  # fmt: skip
        if inside.any() and all(
            (axis.min(), axis.max()) == (0, e.size - 1)
            for axis, e in zip(np.nonzero(inside), shape, strict=True)
        ):
            return [text]
    return []


@dataclass(frozen=True)
class Order:
    """An order map: its text, and the axes it permutes (None: something else)."""

    text: str
    permutation: tuple[int, ...] | None


def order(g: Growing, shape: Shape) -> Order | None:
    """No order, a permutation, or (for static shapes) some other map."""
    rank = len(shape)
    kind = g.rng.random()
    if kind < 0.4 or rank == 0:
        return None
    names = dims(rank)
    head = f"affine_map<({', '.join(names)}) -> "
    if kind < 0.85 or any(e.name for e in shape):
        axes = g.rng.sample(range(rank), rank) if g.chance(0.7) else list(range(rank))
        return Order(f"{head}({', '.join(f'd{a}' for a in axes)})>", tuple(axes))
    a, b = g.rng.randrange(rank), g.rng.randrange(rank)
    results = g.rng.choice((
        [f"d{a} + d{b}"], [f"-d{a}", f"d{b}"], [f"d{a} mod 2", f"d{b}"],
        [f"d{a} floordiv 2", f"-d{b}"], [f"d{a} * 2 - d{b}", f"d{a}"],
    ))  # fmt: skip
    return Order(f"{head}({', '.join(results)})>", None)


@dataclass(frozen=True)
class Subscript:
    """A subscript over variables: text, and the least and greatest value it takes.

    ``hidden``: the verifier cannot know the range.
    """

    text: str
    low: int
    high: int
    hidden: bool


def start(g: Growing, value: int) -> tuple[str, bool]:
    """Text of a subscript of a known value, and whether the verifier cannot see it."""
    kind = g.rng.random()
    if kind < 0.3:
        return str(value), False
    scalar = g.hidden(value)
    if kind < 0.6:
        return scalar.name, True
    if kind < 0.7:
        return g.constant(value).name, False
    shift = g.rng.randrange(1, 4)
    hidden = g.hidden(value - shift)
    if kind < 0.85:
        return f"{hidden.name} + {shift}", True
    return f"{g.hidden(shift).name} * 2 + {value - 2 * shift}", True


def subscript(g: Growing, variables: Sequence[str], lows: Sequence[int], shape: Shape) -> Subscript:
    """An affine expression over intermediate variables and a captured value."""
    grid = _grid(lows, shape)
    a, b = g.rng.randrange(len(shape)), g.rng.randrange(len(shape))
    x, y = variables[a], variables[b]
    k = g.rng.randrange(0, 4)
    capture: Scalar | None = g.hidden(g.rng.randrange(0, 4)) if g.chance(0.4) else None
    forms: list[tuple[str, Callable[[], np.ndarray]]] = [
        (x, lambda: grid[a]),
        (x, lambda: grid[a]),
        (f"{x} + {k}", lambda: grid[a] + k),
        (f"{x} * 2 + {k}", lambda: grid[a] * 2 + k),
        (f"{x} floordiv 3", lambda: grid[a] // 3),
        (f"{x} mod 4", lambda: grid[a] % 4),
        (f"{x} + {y}", lambda: grid[a] + grid[b]),
        (f"({x} + {y}) floordiv 2", lambda: (grid[a] + grid[b]) // 2),
        (f"({x} * 3 + {y}) mod 5", lambda: (grid[a] * 3 + grid[b]) % 5),
        (f"{k}", lambda: np.full_like(grid[a], k)),
    ]
    text, compute = g.rng.choice(forms)
    values = compute()
    if capture is not None and capture.known is not None:
        text, values = f"{capture.name} + {text}", values + capture.known
    if not values.size:
        raise SkipStepError
    return Subscript(text, int(values.min()), int(values.max()), capture is not None)


def dynamic_extents(g: Growing, sizes: Sequence[int], probability: float) -> Shape:
    """Extents, some of them dynamic."""
    return tuple(_dynamic(g, size) if g.chance(probability) else Extent(size) for size in sizes)


def _dynamic(g: Growing, size: int) -> Extent:
    """The same on every core, or a smaller extent on some cores."""
    if size < 2 or g.cores == 1 or g.depth or g.chance(0.7):
        return Extent(size, g.index(size).name)
    less = g.define_scalar(f"arith.remui %core, {g.constant(min(size, 3)).name} : index", "index")
    name = g.fresh("d")
    g.emit(f"{name} = arith.subi {g.constant(size).name}, {less.name} : index")
    return Extent(size, name)
