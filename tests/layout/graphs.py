"""Graphs of operations on which placement is tried."""

from __future__ import annotations

import random
from collections.abc import Callable

from spyrelab.layout import SpyreTensorLayout
from spyrelab.layout.graph import Graph, Node, Operation
from spyrelab.layout.sticks import stick_layout

GRAPHS: dict[str, Callable[[], Graph]] = {}


def named(build: Callable[[], Graph]) -> Callable[[], Graph]:
    GRAPHS[build.__name__] = build
    return build


def default_output(graph: Graph, node: Node) -> Node:
    return graph.output(node, SpyreTensorLayout.default(node.size, node.dtype))


def softmax(g: Graph, x: Node) -> Node:
    shifted = g.pointwise("exp", g.pointwise("sub", x, g.reduce(x, [-1], True, "max")))
    return g.pointwise("div", shifted, g.reduce(shifted, [-1], True))


def layer_norm(g: Graph, x: Node) -> Node:
    centred = g.pointwise("centre", x, g.reduce(x, [-1], True, "mean"))
    power = g.reduce(g.pointwise("square", centred), [-1], True, "variance")
    scale, shift = (g.constant(name, x.size[-1:]) for name in ("scale", "shift"))
    return g.pointwise("affine", centred, g.pointwise("rsqrt", power), scale, shift)


def linear(g: Graph, x: Node, name: str, out: int) -> Node:
    """A weight stored [out, in], as torch.nn.Linear has it."""
    weight = g.input(name, (out, x.size[-1]))
    return g.pointwise(f"{name}_bias", g.matmul(x, g.transpose(weight)), g.constant("b", (out,)))


@named
def attention_block() -> Graph:
    g = Graph()
    x = g.input("x", (256, 512))
    normed = layer_norm(g, x)
    heads = []
    for name in "qkv":
        projected = g.matmul(normed, g.input(f"w{name}", (512, 512)))
        heads.append(g.permute(g.reshape(projected, (256, 8, 64)), (1, 0, 2), f"{name}_heads"))
    scores = g.matmul(heads[0], g.transpose(heads[1]))
    mixed = g.matmul(softmax(g, scores), heads[2])
    merged = g.reshape(g.permute(mixed, (1, 0, 2), "merge"), (256, 512))
    default_output(g, g.pointwise("residual", x, g.matmul(merged, g.input("wo", (512, 512)))))
    return g


@named
def multilayer_perceptron() -> Graph:
    g = Graph()
    x = g.input("x", (256, 512))
    hidden = g.pointwise("gelu", g.matmul(x, g.input("up", (512, 2048))))
    default_output(g, g.pointwise("add", x, g.matmul(hidden, g.input("down", (2048, 512)))))
    return g


@named
def transposed_weights() -> Graph:
    g = Graph()
    x = g.input("x", (256, 512))
    hidden = g.pointwise("relu", linear(g, x, "first", 1024))
    default_output(g, linear(g, hidden, "second", 512))
    return g


@named
def tied_embedding() -> Graph:
    """The embedding is read as it is, and transposed for the logits."""
    g = Graph()
    table = g.input("table", (1024, 256))
    picked = g.pointwise("scale", g.slice(table, 0, 0, 128))
    default_output(g, g.matmul(picked, g.transpose(table)))
    return g


@named
def residual_with_transposes() -> Graph:
    g = Graph()
    x = g.input("x", (512, 512))
    mixed = g.pointwise("gelu", g.matmul(g.transpose(x), g.input("w", (512, 512))))
    default_output(g, g.pointwise("add", x, g.transpose(mixed)))
    return g


@named
def mixer_block() -> Graph:
    """Token mixing: a product along the rows, on the transposed tensor."""
    g = Graph()
    x = g.input("x", (256, 512))
    turned = g.transpose(layer_norm(g, x))
    hidden = g.pointwise("gelu", g.matmul(turned, g.input("w1", (256, 256))))
    tokens = g.transpose(g.matmul(hidden, g.input("w2", (256, 256))))
    x = g.pointwise("add", x, tokens)
    hidden = g.pointwise("gelu", g.matmul(layer_norm(g, x), g.input("w3", (512, 1024))))
    default_output(g, g.pointwise("add", x, g.matmul(hidden, g.input("w4", (1024, 512)))))
    return g


@named
def branches_with_channels_first() -> Graph:
    """Six 1x1 convolutions give [channels, time]; the residual stream is [time, channels]."""
    g = Graph()
    stream = g.input("stream", (512, 512))
    for number in range(6):
        weight, signal = g.input(f"w{number}", (512, 512)), g.input(f"h{number}", (512, 512))
        stream = g.pointwise("add", stream, g.transpose(g.matmul(weight, signal)))
    default_output(g, stream)
    return g


@named
def gradients_of_transposed_weights() -> Graph:
    """Weight gradients come transposed; the optimiser's state is stored like the weight."""
    g = Graph()
    weight, momentum, second = (g.input(n, (1024, 512)) for n in ("w", "m", "v"))
    gradient = g.transpose(
        g.matmul(g.transpose(g.input("x", (256, 512))), g.input("dy", (256, 1024)))
    )
    momentum = g.pointwise("lerp", momentum, gradient)
    second = g.pointwise("addcmul", second, g.pointwise("square", gradient))
    step = g.pointwise("div", momentum, g.pointwise("sqrt", second))
    for node in (g.pointwise("sub", weight, step), momentum, second):
        default_output(g, node)
    return g


@named
def batched() -> Graph:
    g = Graph()
    a, b = g.input("a", (8, 128, 64)), g.input("b", (8, 128, 64))
    scores = softmax(g, g.matmul(a, g.transpose(b)))
    default_output(g, g.matmul(scores, b))
    return g


@named
def batched_broadcast() -> Graph:
    g = Graph()
    x = g.input("x", (4, 130, 100))
    y = g.matmul(x, g.input("w", (100, 70)))
    default_output(g, g.pointwise("add", y, g.constant("bias", (70,))))
    return g


@named
def diamond() -> Graph:
    g = Graph()
    x = g.input("x", (512, 256))
    left = g.pointwise("exp", x)
    right = g.transpose(g.pointwise("tanh", g.transpose(x)))
    default_output(g, g.pointwise("mul", left, right))
    return g


@named
def diamond_with_stranger() -> Graph:
    g = Graph()
    x, y = g.input("x", (512, 512)), g.transpose(g.input("y", (512, 512)))
    left, right = g.pointwise("exp", x), g.pointwise("neg", x)
    total = g.pointwise("mul", g.pointwise("add", left, y), g.pointwise("sub", right, y))
    g.output(total)
    return g


@named
def ladder_of_diamonds() -> Graph:
    g = Graph()
    x = g.input("x", (256, 256))
    for number in range(4):
        other = g.transpose(g.input(f"y{number}", (256, 256)))
        x = g.pointwise("mul", g.pointwise("add", x, other), g.pointwise("sub", x, other))
    default_output(g, x)
    return g


@named
def chain() -> Graph:
    g = Graph()
    x = g.transpose(g.input("x", (512, 1024)))
    for name in ("exp", "neg", "tanh", "abs"):
        x = g.pointwise(name, x)
    default_output(g, x)
    return g


@named
def chain_of_transposed_sums() -> Graph:
    g = Graph()
    x = g.input("x", (512, 512))
    for number in range(6):
        x = g.pointwise("add", x, g.transpose(g.input(f"y{number}", (512, 512))))
    g.output(x)
    return g


@named
def chain_of_products() -> Graph:
    g = Graph()
    x = g.input("x", (256, 256))
    for number in range(4):
        x = g.transpose(g.matmul(x, g.input(f"w{number}", (256, 256))))
    g.output(x)
    return g


@named
def column_statistics() -> Graph:
    """Normalise over rows: the reduction runs across sticks, its result along them."""
    g = Graph()
    x = g.input("x", (300, 500))
    centred = g.pointwise("sub", x, g.reduce(x, [0], True, "mean"))
    default_output(g, g.pointwise("mul", centred, g.reduce(g.pointwise("sq", centred), [0], True)))
    return g


@named
def row_and_column_sums() -> Graph:
    """A sum along the sticks is sparse, one across them is not."""
    g = Graph()
    x = g.input("x", (512, 512))
    rows, columns = g.reduce(x, [1]), g.reduce(x, [0])
    default_output(g, g.pointwise("add", rows, columns))
    return g


@named
def sinkhorn() -> Graph:
    """Rows and columns divided by their sums, in turn."""
    g = Graph()
    x = g.input("x", (512, 512))
    for dimension in (0, 1, 0, 1):
        x = g.pointwise("div", x, g.reduce(x, [dimension], True))
    default_output(g, x)
    return g


@named
def slices_of_a_projection() -> Graph:
    g = Graph()
    both = g.matmul(g.input("x", (256, 256)), g.input("w", (256, 1024)))
    gate, value = g.slice(both, 1, 0, 512, "gate"), g.slice(both, 1, 512, 1024, "value")
    default_output(g, g.pointwise("mul", g.pointwise("silu", gate), value))
    return g


@named
def slices_inside_sticks() -> Graph:
    g = Graph()
    x = g.pointwise("scale", g.input("x", (256, 96)))
    halves = [g.slice(x, 1, 0, 48, "low"), g.slice(x, 1, 48, 96, "high")]
    default_output(g, g.pointwise("rotate", *halves))
    return g


@named
def linear_cache() -> Graph:
    """Keys in a linear layout, as a serving engine keeps them."""
    g = Graph()
    keys = g.input("keys", (512, 100), layout=SpyreTensorLayout.linear((512, 100)))
    default_output(g, softmax(g, g.matmul(g.input("q", (64, 100)), g.transpose(keys))))
    return g


@named
def outer_product() -> Graph:
    g = Graph()
    column = g.reshape(g.input("a", (512,)), (512, 1))
    default_output(g, g.pointwise("mul", column, g.input("b", (256,))))
    return g


@named
def column_results_wanted() -> Graph:
    g = Graph()
    y = g.matmul(g.input("x", (256, 512)), g.input("w", (512, 512)))
    g.output(g.pointwise("add", y, g.input("r", (256, 512))), stick_layout((256, 512), "f16", 0))
    return g


def random_graph(seed: int, length: int = 9, sizes: tuple[int, ...] = (128, 192)) -> Graph:
    """Square and oblong matrices, added, multiplied, turned and reduced."""
    rng = random.Random(seed)
    g = Graph()
    pool = [g.input(f"x{n}", (rng.choice(sizes), rng.choice(sizes))) for n in range(3)]
    for _ in range(length):
        a, b = rng.choice(pool), rng.choice(pool)
        kind = rng.random()
        if kind < 0.2:
            pool.append(g.transpose(a))
        elif kind < 0.3 and a.size[0] % 64 == 0 and a.size[0] > 64:
            pool.append(g.pointwise("shift", g.reduce(a, [rng.randrange(2)], True), a))
        elif a.size[1] == b.size[0] and kind < 0.5:
            pool.append(g.matmul(a, b))
        elif a.size == b.size:
            pool.append(g.pointwise("add", a, b))
        else:
            pool.append(g.pointwise("exp", a))
    used = {operand for node in g.nodes for operand in node.operands}
    for node in list(g.nodes):
        if node not in used and node.operation is not Operation.INPUT:
            wanted = rng.choice([None, SpyreTensorLayout.default(node.size)])
            g.output(node, wanted)
    return g


for _seed in range(6):
    GRAPHS[f"random_{_seed}"] = lambda seed=_seed: random_graph(seed)
