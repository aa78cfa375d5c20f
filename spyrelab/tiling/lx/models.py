"""Twenty planning problems from blocks of real models, with sizes per core by formula.

A block's rows are divided over 4 groups of 8 cores and, within a group, the columns of every
product over its 8 cores; a core runs its rows in tiles.  So a tensor of N columns takes
``rows x N / 8`` elements of a core, the left operand of a product is gathered whole
(``rows x K``), a statistic takes a stick per row, and a weight of K x N takes ``K x N / 8``.
All tensors are f16.  The hidden sizes are those that the models publish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from spyrelab.tiling.lx.lifetimes import Step, lifetimes
from spyrelab.tiling.lx.problem import STICK, Kind, Problem, default_capacity

__all__ = ["MODELS", "model_problems"]

F16 = 2
COLUMN_CORES = 8
ROW_CORES = 4


@dataclass
class Block:
    """A block being written, one tile of rows after another."""

    rows: int
    steps: list[Step] = field(default_factory=list)
    nbytes: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    tile: str = ""

    def input(self, name: str, columns: int) -> str:
        return self.tensor(name + self.tile, self.rows * columns * F16, Kind.INPUT)

    def weight(self, name: str, inner: int, columns: int) -> str:
        """A weight that every tile reads."""
        return self.tensor(name, -(-inner * columns // COLUMN_CORES) * F16, Kind.WEIGHT)

    def step(
        self, name: str, reads: list[str], columns: float, kind: Kind = Kind.ACTIVATION,
        in_place: bool = True,
    ) -> str:  # fmt: skip
        made = self.tensor(name + self.tile, int(self.rows * columns * F16), kind)
        self.steps.append(Step(name + self.tile, tuple(reads), (made,), in_place))
        return made

    def product(self, name: str, left: str, right: str, columns: int) -> str:
        return self.step(name, [left, right], columns / COLUMN_CORES, in_place=False)

    def gather(self, name: str, part: str, columns: int) -> str:
        """All columns of a tensor whose columns are divided: from the ring."""
        return self.step(name, [part], columns, in_place=False)

    def statistic(self, name: str, reads: list[str]) -> str:
        return self.step(name, reads, STICK / F16, Kind.STATISTIC, False)

    def tensor(self, name: str, nbytes: int, kind: Kind) -> str:
        """A tensor of so many bytes on one core, the same for every tile unless named for one."""
        self.nbytes[name], self.kinds[name] = max(nbytes, 1), kind
        return name


def norm(b: Block, x: str, hidden: int) -> str:
    scale = b.tensor("norm.weight", hidden * F16, Kind.WEIGHT)
    squares = b.step("square", [x], hidden)
    root = b.statistic("rms", [squares])
    return b.step("scale", [b.step("normal", [x, root], hidden), scale], hidden)


def gated_mlp(b: Block, hidden: int, inner: int) -> None:
    x = b.input("x", hidden)
    flat = norm(b, x, hidden)
    gate = b.product("gate", flat, b.weight("gate.weight", hidden, inner), inner)
    up = b.product("up", flat, b.weight("up.weight", hidden, inner), inner)
    silu = b.step("silu", [gate], inner / COLUMN_CORES)
    both = b.step("times", [silu, up], inner / COLUMN_CORES)
    whole = b.gather("share", both, inner)
    down = b.product("down", whole, b.weight("down.weight", inner, hidden), hidden)
    b.step("add", [b.gather("collect", down, hidden), x], hidden, Kind.OUTPUT)


def mlp(b: Block, hidden: int, inner: int) -> None:
    x = b.input("x", hidden)
    mean = b.statistic("mean", [x])
    centred = b.step("centre", [x, mean], hidden)
    root = b.statistic("deviation", [centred])
    flat = b.step("normal", [centred, root], hidden)
    first = b.product("first", flat, b.weight("first.weight", hidden, inner), inner)
    gelu = b.gather("share", b.step("gelu", [first], inner / COLUMN_CORES), inner)
    second = b.product("second", gelu, b.weight("second.weight", inner, hidden), hidden)
    b.step("add", [b.gather("collect", second, hidden), x], hidden, Kind.OUTPUT)


def attention(b: Block, width: int, keys: int) -> None:
    """Heads of a core one after another: two query heads share a key and value head."""
    key = b.tensor("keys", keys * width * F16, Kind.INPUT)
    value = b.tensor("values", keys * width * F16, Kind.INPUT)
    mask = b.input("mask", keys)
    for head in range(2):
        b.tile = f"{b.tile.split('/')[0]}/{head}"
        query = b.input("query", width)
        scores = b.step("scores", [query, key], keys, in_place=False)
        masked = b.step("masked", [b.step("scaled", [scores], keys), mask], keys)
        top = b.statistic("max", [masked])
        powers = b.step("exp", [b.step("minus", [masked, top], keys)], keys)
        total = b.statistic("sum", [powers])
        shares = b.step("divide", [powers, total], keys)
        b.step("values of", [shares, value], width, Kind.OUTPUT, False)


def projections(b: Block, hidden: int, keys: int) -> None:
    x = b.input("x", hidden)
    flat = norm(b, x, hidden)
    cosine, sine = b.input("cos", 64), b.input("sin", 64)
    for name, columns in (("query", hidden), ("key", keys), ("value", keys)):
        made = b.product(name, flat, b.weight(f"{name}.weight", hidden, columns), columns)
        if name != "value":
            part = columns / COLUMN_CORES
            one = b.step(f"{name} cos", [made, cosine], part, in_place=False)
            two = b.step(f"{name} sin", [made, sine], part)
            b.step(f"{name} turned", [one, two], part, Kind.OUTPUT)


def convolution(b: Block, channels: int, window: int) -> None:
    """A bottleneck: 1x1, window x window as a product with gathered patches, 1x1."""
    inner = channels // 4
    x = b.input("x", channels)
    small = b.product("reduce", x, b.weight("reduce.weight", channels, inner), inner)
    active = b.gather("share", b.step("relu", [small], inner / COLUMN_CORES), inner)
    patches = b.step("patches", [active], inner * window * window, in_place=False)
    spread = b.weight("spread.weight", inner * window * window, inner)
    wide = b.product("spread", patches, spread, inner)
    again = b.gather("share again", b.step("relu again", [wide], inner / COLUMN_CORES), inner)
    out = b.product("expand", again, b.weight("expand.weight", inner, channels), channels)
    b.step("add", [b.gather("collect", out, channels), x], channels, Kind.OUTPUT)


Writer = Callable[[Block], None]

MODELS: dict[str, tuple[int, int, Writer]] = {
    "Llama-3.1-8B gated MLP, 128 rows": (128, 1, lambda b: gated_mlp(b, 4096, 14336)),
    "Llama-3.1-8B gated MLP, 512 rows": (512, 4, lambda b: gated_mlp(b, 4096, 14336)),
    "Llama-3.2-1B gated MLP, 128 rows": (128, 1, lambda b: gated_mlp(b, 2048, 8192)),
    "Llama-3.2-1B gated MLP, 512 rows": (512, 2, lambda b: gated_mlp(b, 2048, 8192)),
    "Granite-3.3-8B gated MLP, 256 rows": (256, 2, lambda b: gated_mlp(b, 4096, 12800)),
    "Granite-3.3-2B gated MLP, 256 rows": (256, 1, lambda b: gated_mlp(b, 2048, 8192)),
    "Llama-3.1-8B projections, 256 rows": (256, 2, lambda b: projections(b, 4096, 1024)),
    "Llama-3.2-1B projections, 512 rows": (512, 2, lambda b: projections(b, 2048, 512)),
    "Granite-3.3-2B projections, 512 rows": (512, 2, lambda b: projections(b, 2048, 512)),
    "Llama-3.1-8B attention, 1024 keys": (512, 1, lambda b: attention(b, 128, 1024)),
    "Llama-3.1-8B attention, 4096 keys": (512, 2, lambda b: attention(b, 128, 4096)),
    "Granite-3.3-2B attention, 2048 keys": (512, 1, lambda b: attention(b, 64, 2048)),
    "BERT-base MLP, 512 rows": (512, 2, lambda b: mlp(b, 768, 3072)),
    "BERT-large MLP, 512 rows": (512, 2, lambda b: mlp(b, 1024, 4096)),
    "BERT-base attention, 512 keys": (2048, 1, lambda b: attention(b, 64, 512)),
    "ViT-B/16 MLP, 197 x 8 rows": (1576, 4, lambda b: mlp(b, 768, 3072)),
    "ViT-L/16 MLP, 197 x 4 rows": (788, 4, lambda b: mlp(b, 1024, 4096)),
    "ViT-B/16 attention, 197 keys": (6304, 1, lambda b: attention(b, 64, 197)),
    "ResNet-50 stage 3, 14 x 14": (784, 1, lambda b: convolution(b, 1024, 3)),
    "ResNet-50 stage 4, 7 x 7": (392, 2, lambda b: convolution(b, 2048, 3)),
}
"""Rows of the block, tiles that a core runs them in, and how a tile is written."""


def model_problems(capacity: int | None = None) -> list[tuple[str, Problem]]:
    """The problems of `MODELS`, for the front end's share of the scratchpad by default."""
    room = default_capacity() if capacity is None else capacity
    found = []
    for name, (rows, tiles, write) in MODELS.items():
        block = Block(-(-rows // (ROW_CORES * tiles)))
        for tile in range(tiles):
            block.tile = f".{tile}"
            write(block)
        buffers = lifetimes(block.steps, block.nbytes, kinds=block.kinds)
        names = tuple(step.name for step in block.steps)
        found.append(("models", Problem(buffers, room, names, name)))
    return found
