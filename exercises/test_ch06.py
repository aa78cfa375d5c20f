"""Graded tests of chapter 6: a pass over a graph, bundles, bytes of plans, layouts of operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from spyrelab.grade import WrongError, expect_at_most, expect_close, expect_equal, task
from spyrelab.tiling import plan
from spyrelab.tiling.blocks import Draft

aten = torch.ops.aten
FX = ("torch",)

remove_copies = partial(task, "ch06.1", "remove_copies", may_use=FX)
share = partial(task, "ch06.2", "share")
traffic = partial(task, "ch06.3", "traffic")
orders = partial(task, "ch06.4", "orders", may_use=FX)


def floats(rng: Any, *size: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(size).astype(np.float32))


# ---- 1: a pass ----------------------------------------------------------------------------------


def expect_without_copies(
    impl: Any, rng: Any, function: Callable[..., Any], left: int, *size: int
) -> None:
    """The pass leaves so many copies, and what the graph computes, and changes, as it was."""
    made = make_fx(function)(floats(rng, *size))
    before = str(made.graph)
    impl.remove_copies(made.graph)
    made.graph.lint()
    made.recompile()
    x = floats(rng, *size)
    seen, expected = [x.clone(), x.clone()], [x.clone(), x.clone()]
    found = made(*seen[:1])
    wanted = function(*expected[:1])
    text = f"the graph was\n{before}\n"
    if found.untyped_storage().data_ptr() == seen[0].untyped_storage().data_ptr():
        raise WrongError(f"{text}the result is the input itself, and was a copy of it")
    expect_equal(found.stride(), wanted.stride(), f"{text}strides of the result")
    expect_close(found.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-6, what=f"{text}the result")
    expect_close(seen[0].numpy(), expected[0].numpy(), what=f"{text}the input afterwards")
    copies = [node for node in made.graph.nodes if node.target is aten.clone.default]
    expect_equal(len(copies), left, f"{text}copies that are left")


@remove_copies(
    hints=[
        "Which nodes read a copy, and what could they read instead? Print the graph before and "
        "after.",
        "node.replace_all_uses_with(node.args[0]), then graph.erase_node(node); go through "
        "list(graph.nodes), since the graph changes meanwhile.",
    ]
)
def test_copies_nobody_needs(impl: Any, rng: Any) -> None:
    """One copy, several, and copies of copies."""
    expect_without_copies(impl, rng, lambda x: x.clone() * 2, 0, 5, 7)
    expect_without_copies(impl, rng, lambda x: x.clone() + x.exp().clone().clone(), 0, 5, 7)


@remove_copies(
    hints=[
        "A graph that returned a copy of its input must not return the input, and a transposed "
        "tensor that was made contiguous is another tensor.",
        'Keep a copy if one of its users has op == "output", or if node.meta["val"].stride() is '
        "not that of its source.",
    ]
)
def test_copies_that_are_wanted(impl: Any, rng: Any) -> None:
    """Copies that are returned, and copies into other strides."""
    expect_without_copies(impl, rng, lambda x: x.clone().clone(), 1, 5, 7)

    def turned(x: torch.Tensor) -> torch.Tensor:
        columns = torch.empty_strided((5, 7), (1, 5))
        return aten.clone.default(aten.add.Tensor(columns * 0, x), memory_format=CONTIGUOUS) * 2

    expect_without_copies(impl, rng, turned, 1, 5, 7)


CONTIGUOUS = torch.contiguous_format


@remove_copies(
    hints=[
        "Why would somebody copy a tensor before adding something to it in place? Before or after, "
        "to the copy or to what it was made from?",
        "Look at the users of the copy and of its source: is there one with "
        "target._schema.is_mutable whose args[0] is one of the two?",
    ]
)
def test_copies_and_writers(impl: Any, rng: Any) -> None:
    """Operations in place, on the copy and on its source; and their readers."""

    def on_copy(x: torch.Tensor) -> torch.Tensor:
        kept = x.clone()
        kept.add_(1)
        return kept * x

    def on_source(x: torch.Tensor) -> torch.Tensor:
        kept = x.clone()
        x.mul_(2)
        return kept + x

    def elsewhere(x: torch.Tensor) -> torch.Tensor:
        kept = x.clone()
        total = kept.exp()
        total.add_(kept)
        return total * x

    expect_without_copies(impl, rng, on_copy, 1, 5, 7)
    expect_without_copies(impl, rng, on_source, 1, 5, 7)
    expect_without_copies(impl, rng, elsewhere, 0, 5, 7)


# ---- 2: who shares a bundle ---------------------------------------------------------------------

Node = tuple[str, bool, tuple[str, ...]]


def expect_groups(impl: Any, nodes: list[Node], bundles: int) -> None:
    found = impl.share(list(nodes))
    kinds = {name: native for name, native, _ in nodes}
    text = f"share({nodes})"
    names = [name for group in found for name in group]
    expect_equal(sorted(names), sorted(kinds), f"{text}: nodes that run")
    if not all(found):
        raise WrongError(f"{text}: a group is empty")
    for group in found:
        if len({kinds[name] for name in group}) > 1:
            raise WrongError(f"{text}: {group} has native nodes and others")
    place = {name: at for at, name in enumerate(names)}
    for name, _, needs in nodes:
        for need in needs:
            if place[need] > place[name]:
                raise WrongError(f"{text}: {name} runs before {need}, which it needs")
    others = [name for name in names if not kinds[name]]
    wanted = [name for name, native, _ in nodes if not native]
    expect_equal(others, wanted, f"{text}: order of those that are not native")
    count = sum(kinds[group[0]] for group in found)
    expect_at_most(count, bundles, f"{text}: bundles")


def schedule(rng: Any, count: int) -> list[Node]:
    """A random one in a legal order."""
    made: list[Node] = []
    for number in range(count):
        some = rng.choice(number, min(number, int(rng.integers(0, 3))), replace=False)
        needs = tuple(f"n{i}" for i in sorted(map(int, some)))
        made.append((f"n{number}", bool(rng.random() < 0.7), needs))
    return made


def fewest(nodes: list[Node]) -> int:
    """Bundles that are needed: turns of native nodes, where turns of the two kinds alternate."""
    turns: dict[str, int] = {}
    before = 0
    for name, native, needs in nodes:
        turn = max([int(native), *(turns[need] for need in needs), *([] if native else [before])])
        turns[name] = turn + (turn % 2 != native)
        before = before if native else turns[name]
    return len({turns[name] for name, native, _ in nodes if native})


@share(
    hints=[
        "A bundle ends where a node needs something that is not native and has not run yet. Nodes "
        "that come later in the list, but need nothing of the kind, can still get on.",
        "Again and again: take all waiting nodes of one kind that need only what has run, in the "
        "order of the list, then all of the other kind.",
    ]
)
def test_few_bundles(impl: Any, rng: Any) -> None:
    """Schedules that begin with native nodes."""
    some: list[Node] = [("a", True, ()), ("f", False, ("a",)), ("b", True, ()), ("c", True, ("f",))]
    expect_groups(impl, some, 2)
    for _ in range(20):
        head: Node = ("h", False, ("n0",))
        rest = [(n, k, (*needs, "h") if n == "n1" else needs) for n, k, needs in schedule(rng, 12)]
        nodes = [("n0", True, ()), head, *rest[1:]]
        expect_groups(impl, nodes, fewest(nodes))


@share(
    hints=[
        "What a host does first may be worth waiting for: with whom does the schedule begin?",
        "Let those go first that are not native and need nothing: nobody has to wait longer for a "
        "bundle then, and some nodes get on an earlier one.",
    ]
)
def test_waiting_may_pay(impl: Any, rng: Any) -> None:
    """Schedules that had better begin with what is not native."""
    some: list[Node] = [("a", True, ()), ("f", False, ()), ("c", True, ("f", "a"))]
    expect_groups(impl, some, 1)
    for _ in range(20):
        nodes = schedule(rng, 14)
        expect_groups(impl, nodes, fewest(nodes))


# ---- 3: read a plan -----------------------------------------------------------------------------


def expect_traffic(impl: Any, draft: Draft, planner: str) -> None:
    made = plan(draft.ops, planner)
    bundles = [SimpleNamespace(specs=bundle.specs) for bundle in made.bundles]
    found = impl.traffic(SimpleNamespace(bundles=bundles))
    expect_equal(type(found).__name__, "int", "type of the answer")
    expect_equal(found, made.port_bytes, f"bytes of\n{made}\n")


def chain(rng: Any, rows: int, cols: int, dtype: str = "f16") -> Draft:
    draft = Draft()
    x = draft.input("x", rows, cols, dtype=dtype)
    for op in rng.choice(["exp", "relu", "tanh", "sigmoid"], 3):
        x = draft.op(str(op), x, dtype=dtype)
    draft.op("add", x, draft.input("y", rows, cols, dtype=dtype), dtype=dtype)
    return draft


@traffic(
    hints=[
        "Print a plan. Which operands say lx_address=..., and what does device_size of the others "
        "count?",
        "Add up, over all bundles, their specs and the args of these, prod(arg.device_size) * 2 "
        "where arg.lx_address is None; an address may be 0.",
    ]
)
def test_traffic_of_chains(impl: Any, rng: Any) -> None:
    """Elementwise operations on f16, most of which stay where they are."""
    for rows in (64, 512):
        expect_traffic(impl, chain(rng, rows, 64 * int(rng.integers(2, 9))), "joint")
    expect_traffic(impl, chain(rng, 100, 200), "joint")


@traffic(
    hints=[
        "How many bytes has an element? And what is outside of the first bundle?",
        'arg.dtype says "f16" or "f32"; go through all of plan.bundles.',
    ]
)
def test_traffic_of_others(impl: Any, rng: Any) -> None:
    """Elements of four bytes, and plans of several bundles."""
    expect_traffic(impl, chain(rng, 128, 64 * int(rng.integers(2, 9)), "f32"), "joint")
    for planner in ("joint", "per-op"):
        draft = Draft()
        x = draft.input("x", 512, 1024)
        total = draft.op("add", draft.op("softmax", x, dim=0), x)
        draft.op("mul", draft.op("softmax", total, dim=-1), x)
        expect_traffic(impl, draft, planner)


# ---- 4: lay out what is multiplied --------------------------------------------------------------


def expect_orders(
    impl: Any, function: Callable[..., Any], *sizes: tuple[int, ...], wanted: dict[int, Any]
) -> None:
    tensors = [torch.zeros(size) for size in sizes]
    made = make_fx(function)(*tensors)
    names = [node.name for node in made.graph.find_nodes(op="placeholder")]
    found = {name: tuple(order) for name, order in impl.orders(made.graph).items()}
    expected = {names[number]: order for number, order in wanted.items()}
    expect_equal(found, expected, f"dim_orders for\n{made.graph}\n")


@orders(
    hints=[
        "Where does the product find its last dimension, and which dimension of the placeholder is "
        "that?",
        "Left or right, a product wants sticks along the last dimension of the operand it reads. "
        "Follow each user that is a view, with a list of which dimension is which.",
    ]
)
def test_orders_of_operands(impl: Any, rng: Any) -> None:
    """Weights and keys, as they are and as views."""
    expect_orders(impl, lambda x, w: x @ w.t(), (4, 8), (6, 8), wanted={0: (0, 1), 1: (1, 0)})
    expect_orders(impl, lambda x, w: x.t() @ w, (4, 8), (4, 5), wanted={0: (1, 0), 1: (0, 1)})
    heads = (3, 4, 8)
    expect_orders(
        impl,
        lambda q, k: torch.bmm(q, k.transpose(-1, -2)),
        heads,
        heads,
        wanted={0: (0, 1, 2), 1: (0, 2, 1)},
    )
    expect_orders(
        impl,
        lambda q, k: torch.bmm(q.permute(1, 0, 2), k.permute(1, -1, 0).permute(0, 1, 2)),
        (4, 3, 8),
        (5, 3, 8),
        wanted={0: (0, 1, 2), 1: (1, 2, 0)},
    )


@orders(
    hints=[
        "A tensor has one layout, for all who read it: who else reads it?",
        "Leave a placeholder out if a reader of it, or of a view of it, is neither product nor "
        "view (what the graph returns is read too), if products disagree, and if nobody reads it.",
    ]
)
def test_orders_for_all_readers(impl: Any, rng: Any) -> None:
    """Other readers, products that disagree, and two that agree."""
    square = (8, 8)
    expect_orders(impl, lambda x, w: x @ w.t() + w, square, square, wanted={0: (0, 1)})
    expect_orders(impl, lambda x, w: (x @ w.t(), w.t()), square, square, wanted={0: (0, 1)})
    expect_orders(impl, lambda x, w: x @ w.t() @ w, square, square, wanted={0: (0, 1)})
    expect_orders(impl, lambda x, w: x.relu() @ w.t(), square, square, wanted={1: (1, 0)})
    expect_orders(
        impl,
        lambda x, y, w: (x @ w.t(), y @ w.transpose(0, 1)),
        square,
        square,
        square,
        wanted={0: (0, 1), 1: (0, 1), 2: (1, 0)},
    )
