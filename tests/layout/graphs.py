"""Graphs of operations on which placement is tried."""

from __future__ import annotations

import random

from spyrelab.layout import SpyreTensorLayout
from spyrelab.layout.graph import Graph, Operation
from spyrelab.layout.graph_examples import GRAPHS as EXAMPLES

GRAPHS = dict(EXAMPLES)


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
