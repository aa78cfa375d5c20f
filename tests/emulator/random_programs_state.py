"""What a random program is made of while it grows: values, steps, scopes, arguments."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.emulator.random_programs_data import BITS, constant_text, is_float, random_array

NAME = re.compile(r"%[A-Za-z_0-9]+")
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 63, 64, 65, 127, 129)
MOST_ELEMENTS = 700


class SkipStepError(Exception):
    """A step that does not fit the values there are; another one is tried."""


@dataclass(frozen=True)
class Extent:
    """An extent: its value (an upper bound where it differs between cores), its name if dynamic."""

    size: int
    name: str | None = None

    def __str__(self) -> str:
        return "?" if self.name else str(self.size)


Shape = tuple[Extent, ...]


def static(*sizes: int) -> Shape:
    return tuple(map(Extent, sizes))


@dataclass(frozen=True)
class Tensor:
    """A tensor value by its name."""

    name: str
    shape: Shape
    element: str

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.element)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(extent.size for extent in self.shape)

    @property
    def is_static(self) -> bool:
        return not any(extent.name for extent in self.shape)


@dataclass(frozen=True)
class Scalar:
    """A scalar value; ``known`` where the generator knows it on every core."""

    name: str
    element: str
    known: int | None = None

    @property
    def type(self) -> str:
        return self.element


def tensor_type(shape: Shape, element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def dynamic_sizes(shape: Shape) -> list[str]:
    """Names of the dynamic extents of a shape, in order."""
    return [extent.name for extent in shape if extent.name]


def count(sizes: Sequence[int]) -> int:
    return int(np.prod(sizes, dtype=np.int64))


@dataclass
class Step:
    """Lines of text, and lists of steps nested between them."""

    parts: list[Any]

    def text(self) -> str:
        return "\n".join(
            part if isinstance(part, str) else "\n".join(step.text() for step in part)
            for part in self.parts
        )

    def own_text(self) -> str:
        return "\n".join(part for part in self.parts if isinstance(part, str))

    def defined(self) -> set[str]:
        """Names of its results."""
        left, equals, _ = self.own_text().partition(" = ")
        return set(NAME.findall(left)) if equals and left.lstrip().startswith("%") else set()


@dataclass
class Growing:
    """A program under construction."""

    rng: random.Random
    grid: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    memory: dict[Any, np.ndarray] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)
    rereads: bool = False
    depth: int = 0
    uniform: bool = True
    counter: int = 0
    literal: int = 1 << 12
    scratchpad: int = 1 << 9

    def __post_init__(self) -> None:
        self.numpy = np.random.default_rng(self.rng.getrandbits(32))

    @property
    def cores(self) -> int:
        return count(self.grid)

    # -- text --------------------------------------------------------------------------------

    def fresh(self, stem: str = "v") -> str:
        self.counter += 1
        return f"%{stem}{self.counter}"

    def emit(self, *parts: Any) -> Step:
        step = Step(list(parts))
        self.steps.append(step)
        return step

    def define(self, operation: str, shape: Shape, element: str) -> Tensor:
        """Emit an operation with a tensor result that later steps may use."""
        tensor = Tensor(self.fresh("t"), shape, element)
        self.emit(f"{tensor.name} = {operation}")
        self.tensors.append(tensor)
        return tensor

    def define_scalar(self, operation: str, element: str, known: int | None = None) -> Scalar:
        scalar = Scalar(self.fresh("s"), element, known)
        self.emit(f"{scalar.name} = {operation}")
        self.scalars.append(scalar)
        return scalar

    @contextmanager
    def nested(self, uniform: bool = True) -> Iterator[list[Step]]:
        """Collect the steps of a region; its values are gone afterwards."""
        saved = self.steps, list(self.tensors), list(self.scalars), self.uniform
        self.steps, self.depth = [], self.depth + 1
        self.uniform = self.uniform and uniform
        try:
            yield self.steps
        finally:
            self.steps, self.tensors, self.scalars, self.uniform = saved
            self.depth -= 1

    # -- choices -----------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, items: Sequence[Any]) -> Any:
        if not items:
            raise SkipStepError
        return self.rng.choice(items)

    def recent(self, items: Sequence[Any]) -> Any:
        """One of the items, the latest ones more often."""
        if not items:
            raise SkipStepError
        return items[-1 - min(int(self.rng.expovariate(0.4)), len(items) - 1)]

    def element(self, test: Callable[[str], bool] = lambda element: True) -> str:
        weighted = ["f16"] * 4 + ["f32"] * 3 + ["i32", "i64", "index"] + list(BITS)
        return self.pick([element for element in weighted if test(element)])

    def sizes(self, rank: int, most: int = MOST_ELEMENTS) -> tuple[int, ...]:
        while True:
            sizes = tuple(self.rng.choice(EXTENTS) for _ in range(rank))
            if count(sizes) <= most:
                return sizes

    def tensor(self, test: Callable[[Tensor], bool] = lambda tensor: True) -> Tensor:
        return self.recent([t for t in self.tensors if test(t)])

    # -- scalars -----------------------------------------------------------------------------

    def constant(self, value: int, element: str = "index") -> Scalar:
        return self.define_scalar(f"arith.constant {value} : {element}", element, value)

    def any_constant(self, element: str) -> Scalar:
        text = constant_text(self.rng, element)
        return self.define_scalar(f"arith.constant {text}", element)

    def scalar(self, element: str) -> Scalar:
        found = [s for s in self.scalars if s.element == element]
        if found and self.chance(0.6):
            return self.recent(found)
        return self.argument(element) if self.chance(0.2) else self.any_constant(element)

    def argument(self, element: str) -> Scalar:
        """A scalar argument of any type but index; its number need not be of the type."""
        if element == "index":
            return self.hidden(self.rng.randrange(-3, 9))
        name = self.fresh("x")
        self.types[name] = element
        numbers = (0.1, -0.0, 1e5, 7.25) if is_float(element) else (0, 1, -3, 200, 1 << 40)
        self.values[name] = self.rng.choice(numbers)
        return Scalar(name, element)

    def hidden(self, value: int) -> Scalar:
        """An index whose value the verifier cannot see: an argument."""
        name = f"%at{value}" if value >= 0 else f"%minus{-value}"
        self.types[name], self.values[name] = "index", value
        return Scalar(name, "index", value)

    def index(self, value: int) -> Scalar:
        """An index of a known value, visible to the verifier or not."""
        return self.hidden(value) if self.chance(0.4) else self.constant(value)

    # -- arguments ---------------------------------------------------------------------------

    def pointer(self, element: str, length: int, data: np.ndarray | None = None) -> str:
        """A fresh array argument of at least ``length`` elements."""
        name = self.fresh("p")
        self.types[name], self.elements[name] = "index", element
        self.values[name] = random_array(self.numpy, element, length) if data is None else data
        return name
