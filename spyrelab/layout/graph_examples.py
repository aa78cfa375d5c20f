"""Graphs of operations as models have them, on which placement can be tried."""

from __future__ import annotations

from collections.abc import Callable

from spyrelab.layout.graph import Graph, Node
from spyrelab.layout.sticks import stick_layout
from spyrelab.layout.tensor_layout import SpyreTensorLayout

__all__ = ["GRAPHS"]

GRAPHS: dict[str, Callable[[], Graph]] = {}
"""Builders by name."""


def _named(build: Callable[[], Graph]) -> Callable[[], Graph]:
    GRAPHS[build.__name__.removeprefix("_")] = build
    return build


def _default_output(graph: Graph, node: Node) -> Node:
    return graph.output(node, SpyreTensorLayout.default(node.size, node.dtype))


def _softmax(g: Graph, x: Node) -> Node:
    shifted = g.pointwise("exp", g.pointwise("sub", x, g.reduce(x, [-1], True, "max")))
    return g.pointwise("div", shifted, g.reduce(shifted, [-1], True))


def _layer_norm(g: Graph, x: Node) -> Node:
    centred = g.pointwise("centre", x, g.reduce(x, [-1], True, "mean"))
    power = g.reduce(g.pointwise("square", centred), [-1], True, "variance")
    scale, shift = (g.constant(name, x.size[-1:]) for name in ("scale", "shift"))
    return g.pointwise("affine", centred, g.pointwise("rsqrt", power), scale, shift)


def _linear(g: Graph, x: Node, name: str, out: int) -> Node:
    """A weight stored [out, in], as torch.nn.Linear has it."""
    weight = g.input(name, (out, x.size[-1]))
    return g.pointwise(f"{name}_bias", g.matmul(x, g.transpose(weight)), g.constant("b", (out,)))


@_named
def _attention_block() -> Graph:
    g = Graph()
    x = g.input("x", (256, 512))
    normed = _layer_norm(g, x)
    heads = []
    for name in "qkv":
        projected = g.matmul(normed, g.input(f"w{name}", (512, 512)))
        heads.append(g.permute(g.reshape(projected, (256, 8, 64)), (1, 0, 2), f"{name}_heads"))
    scores = g.matmul(heads[0], g.transpose(heads[1]))
    mixed = g.matmul(_softmax(g, scores), heads[2])
    merged = g.reshape(g.permute(mixed, (1, 0, 2), "merge"), (256, 512))
    _default_output(g, g.pointwise("residual", x, g.matmul(merged, g.input("wo", (512, 512)))))
    return g


@_named
def _multilayer_perceptron() -> Graph:
    g = Graph()
    x = g.input("x", (256, 512))
    hidden = g.pointwise("gelu", g.matmul(x, g.input("up", (512, 2048))))
    _default_output(g, g.pointwise("add", x, g.matmul(hidden, g.input("down", (2048, 512)))))
    return g


@_named
def _transposed_weights() -> Graph:
    g = Graph()
    x = g.input("x", (256, 512))
    hidden = g.pointwise("relu", _linear(g, x, "first", 1024))
    _default_output(g, _linear(g, hidden, "second", 512))
    return g


@_named
def _tied_embedding() -> Graph:
    """The embedding is read as it is, and transposed for the logits."""
    g = Graph()
    table = g.input("table", (1024, 256))
    picked = g.pointwise("scale", g.slice(table, 0, 0, 128))
    _default_output(g, g.matmul(picked, g.transpose(table)))
    return g


@_named
def _residual_with_transposes() -> Graph:
    g = Graph()
    x = g.input("x", (512, 512))
    mixed = g.pointwise("gelu", g.matmul(g.transpose(x), g.input("w", (512, 512))))
    _default_output(g, g.pointwise("add", x, g.transpose(mixed)))
    return g


@_named
def _mixer_block() -> Graph:
    """Token mixing: a product along the rows, on the transposed tensor."""
    g = Graph()
    x = g.input("x", (256, 512))
    turned = g.transpose(_layer_norm(g, x))
    hidden = g.pointwise("gelu", g.matmul(turned, g.input("w1", (256, 256))))
    tokens = g.transpose(g.matmul(hidden, g.input("w2", (256, 256))))
    x = g.pointwise("add", x, tokens)
    hidden = g.pointwise("gelu", g.matmul(_layer_norm(g, x), g.input("w3", (512, 1024))))
    _default_output(g, g.pointwise("add", x, g.matmul(hidden, g.input("w4", (1024, 512)))))
    return g


@_named
def _branches_with_channels_first() -> Graph:
    """Six 1x1 convolutions give [channels, time]; the residual stream is [time, channels]."""
    g = Graph()
    stream = g.input("stream", (512, 512))
    for number in range(6):
        weight, signal = g.input(f"w{number}", (512, 512)), g.input(f"h{number}", (512, 512))
        stream = g.pointwise("add", stream, g.transpose(g.matmul(weight, signal)))
    _default_output(g, stream)
    return g


@_named
def _gradients_of_transposed_weights() -> Graph:
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
        _default_output(g, node)
    return g


@_named
def _batched() -> Graph:
    g = Graph()
    a, b = g.input("a", (8, 128, 64)), g.input("b", (8, 128, 64))
    scores = _softmax(g, g.matmul(a, g.transpose(b)))
    _default_output(g, g.matmul(scores, b))
    return g


@_named
def _batched_broadcast() -> Graph:
    g = Graph()
    x = g.input("x", (4, 130, 100))
    y = g.matmul(x, g.input("w", (100, 70)))
    _default_output(g, g.pointwise("add", y, g.constant("bias", (70,))))
    return g


@_named
def _diamond() -> Graph:
    g = Graph()
    x = g.input("x", (512, 256))
    left = g.pointwise("exp", x)
    right = g.transpose(g.pointwise("tanh", g.transpose(x)))
    _default_output(g, g.pointwise("mul", left, right))
    return g


@_named
def _diamond_with_stranger() -> Graph:
    g = Graph()
    x, y = g.input("x", (512, 512)), g.transpose(g.input("y", (512, 512)))
    left, right = g.pointwise("exp", x), g.pointwise("neg", x)
    total = g.pointwise("mul", g.pointwise("add", left, y), g.pointwise("sub", right, y))
    g.output(total)
    return g


@_named
def _ladder_of_diamonds() -> Graph:
    g = Graph()
    x = g.input("x", (256, 256))
    for number in range(4):
        other = g.transpose(g.input(f"y{number}", (256, 256)))
        x = g.pointwise("mul", g.pointwise("add", x, other), g.pointwise("sub", x, other))
    _default_output(g, x)
    return g


@_named
def _chain() -> Graph:
    g = Graph()
    x = g.transpose(g.input("x", (512, 1024)))
    for name in ("exp", "neg", "tanh", "abs"):
        x = g.pointwise(name, x)
    _default_output(g, x)
    return g


@_named
def _chain_of_transposed_sums() -> Graph:
    g = Graph()
    x = g.input("x", (512, 512))
    for number in range(6):
        x = g.pointwise("add", x, g.transpose(g.input(f"y{number}", (512, 512))))
    g.output(x)
    return g


@_named
def _chain_of_products() -> Graph:
    g = Graph()
    x = g.input("x", (256, 256))
    for number in range(4):
        x = g.transpose(g.matmul(x, g.input(f"w{number}", (256, 256))))
    g.output(x)
    return g


@_named
def _column_statistics() -> Graph:
    """Normalise over rows: the reduction runs across sticks, its result along them."""
    g = Graph()
    x = g.input("x", (300, 500))
    centred = g.pointwise("sub", x, g.reduce(x, [0], True, "mean"))
    _default_output(g, g.pointwise("mul", centred, g.reduce(g.pointwise("sq", centred), [0], True)))
    return g


@_named
def _row_and_column_sums() -> Graph:
    """A sum along the sticks is sparse, one across them is not."""
    g = Graph()
    x = g.input("x", (512, 512))
    rows, columns = g.reduce(x, [1]), g.reduce(x, [0])
    _default_output(g, g.pointwise("add", rows, columns))
    return g


@_named
def _sinkhorn() -> Graph:
    """Rows and columns divided by their sums, in turn."""
    g = Graph()
    x = g.input("x", (512, 512))
    for dimension in (0, 1, 0, 1):
        x = g.pointwise("div", x, g.reduce(x, [dimension], True))
    _default_output(g, x)
    return g


@_named
def _slices_of_a_projection() -> Graph:
    g = Graph()
    both = g.matmul(g.input("x", (256, 256)), g.input("w", (256, 1024)))
    gate, value = g.slice(both, 1, 0, 512, "gate"), g.slice(both, 1, 512, 1024, "value")
    _default_output(g, g.pointwise("mul", g.pointwise("silu", gate), value))
    return g


@_named
def _slices_inside_sticks() -> Graph:
    g = Graph()
    x = g.pointwise("scale", g.input("x", (256, 96)))
    halves = [g.slice(x, 1, 0, 48, "low"), g.slice(x, 1, 48, 96, "high")]
    _default_output(g, g.pointwise("rotate", *halves))
    return g


@_named
def _linear_cache() -> Graph:
    """Keys in a linear layout, as a serving engine keeps them."""
    g = Graph()
    keys = g.input("keys", (512, 100), layout=SpyreTensorLayout.linear((512, 100)))
    _default_output(g, _softmax(g, g.matmul(g.input("q", (64, 100)), g.transpose(keys))))
    return g


@_named
def _outer_product() -> Graph:
    g = Graph()
    column = g.reshape(g.input("a", (512,)), (512, 1))
    _default_output(g, g.pointwise("mul", column, g.input("b", (256,))))
    return g


@_named
def _column_results_wanted() -> Graph:
    g = Graph()
    y = g.matmul(g.input("x", (256, 512)), g.input("w", (512, 512)))
    g.output(g.pointwise("add", y, g.input("r", (256, 512))), stick_layout((256, 512), "f16", 0))
    return g
