"""Programs that are one matrix product: found, measured, and planned as the card runs them.

The tiles in such a program are the front end's choice; the back-end compiler of the card
streams each core's share through its own.  The steps of the program are therefore replaced
by equal steps of the whole share, priced by :mod:`spyrelab.timing.contraction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spyrelab.emulator.groups import Exchange
from spyrelab.ktir import Function, Operation, Value, walk
from spyrelab.ktir.affine import Dim
from spyrelab.ktir.types import element_of
from spyrelab.timing.contraction import Contraction, EngineSeconds, price
from spyrelab.timing.nodes import Access, Engine, Iterations, Loop, Node, Step
from spyrelab.timing.places import clipped
from spyrelab.timing.transfers import Card, distinct_boxes
from spyrelab.timing.walk import Walked
from spyrelab.timing.work import PRODUCTS

__all__ = [
    "Plan",
    "Product",
    "chains",
    "find_product",
    "flatten",
    "is_product",
    "loader_of",
    "plan_product",
    "product_nodes",
    "shared_bytes",
    "visited_first",
]

CHAINS_PER_SEGMENT = 8
"""Chains of partners that one segment of the partial-sum ring carries without waiting: pairs 8
apart are as fast as neighbours (KF-026, KF-030), pairs 16 apart are not."""

_SLACK = 2.0
"""Shares that are cut unevenly, or whose last tiles are padded, are a product all the same."""

_TRANSPARENT = (
    *("arith.extf", "arith.truncf", "tensor.expand_shape", "tensor.collapse_shape"),
    *("tensor.reshape", "tensor.cast", "linalg.transpose"),
)


@dataclass(frozen=True)
class Product:
    """A product found in a program: its operation, and the two loads that feed it.

    ``batch_axes`` are the axes of the loads' views that become the first axis of their tiles.
    """

    operation: Operation
    left: Operation
    right: Operation
    batch_axes: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Plan:
    """A product as the card's back end runs it."""

    nodes: tuple[Node, ...]
    contraction: Contraction
    busy: EngineSeconds
    names: tuple[str, str]


def flatten(nodes: Sequence[Node], times: int = 1) -> Iterator[tuple[Step, int]]:
    """Every step with how often it is taken."""
    for node in nodes:
        if isinstance(node, Loop):
            for run in node.runs:
                yield from flatten(run.body, times * run.count)
                if run.pattern:
                    yield from flatten([Loop(None, run.pattern)], times * run.count)
        else:
            yield node, times


def count_turns(nodes: Sequence[Node]) -> int:
    """Iterations of counted loops, those inside each other multiplied."""
    total = 0
    for node in nodes:
        if isinstance(node, Loop):
            for run in node.runs:
                once = count_turns([Loop(None, run.pattern)]) if run.pattern else int(node.counted)
                total += run.count * (once + count_turns(run.body))
    return total


def find_product(function: Function, walked: Walked) -> Product | None:
    """The only product of a program, if both operands come straight from device memory."""
    operations = list(walk(function.body.operations))
    makers = {value: o for o in operations for value in o.results}
    found = [o for o in operations if is_product(o)]
    if len(found) != 1 or any(o.name in ("scf.while",) for o in operations):
        return None
    collectives = [o for o in operations if o.name.startswith("ktdp.inter_tile_")]
    names = {o.name for o in collectives} - {"ktdp.inter_tile_produce", "ktdp.inter_tile_reduce"}
    left, right = (loader_of(value, makers) for value in found[0].operands[:2])
    if names or left is None or right is None or left is right:
        return None
    hulls = [walked.hulls.get(left), walked.hulls.get(right)]
    if any(hull is None or not hull.exact for hull in hulls):
        return None
    axes = visited_first(makers, left), visited_first(makers, right)
    return Product(found[0], left, right, axes)


def visited_first(makers: dict[Value, Operation], load: Operation) -> int:
    """The axis of its view that a load makes the first axis of its tile."""
    tile = makers.get(load.operands[0])
    order = tile.attributes.get("access_tile_order") if tile is not None else None
    if order is None:
        return 0
    first = order.results[0]
    return first.index if isinstance(first, Dim) else 0


def is_product(operation: Operation) -> bool:
    """Whether an operation multiplies matrices."""
    prefix, _, name = operation.name.partition(".")
    return prefix == "linalg" and name in PRODUCTS


def loader_of(value: Value, makers: dict[Value, Operation]) -> Operation | None:
    """The load that a value is, but for conversions and reshapes; None if it is computed."""
    maker = makers.get(value)
    while maker is not None and maker.name in _TRANSPARENT:
        maker = makers.get(maker.operands[0])
    return maker if maker is not None and maker.name == "ktdp.load" else None


def plan_product(card: Card, product: Product, walked: Walked) -> Plan | None:
    """Price the product from the boxes that the cores touch; None if they have no products."""
    left, right = walked.hulls[product.left], walked.hulls[product.right]
    steps = list(flatten(walked.nodes))
    macs = _total(steps, "ops_pt", card.cores)
    if not macs.any() or not _is_one(product, walked, steps, macs):
        return None
    work = _contraction(card, product, walked, steps, macs)
    busy = price(work, card.machine, card.constants)
    nodes = product_nodes(card, product, work, busy, steps, macs, _partners(walked))
    return Plan(nodes, work, busy, (left.base, right.base))


def _is_one(
    product: Product, walked: Walked, steps: Sequence[tuple[Step, int]], macs: np.ndarray
) -> bool:
    """Whether a core's share is a product of its own, and not several here and there.

    Of such a product of ``batch * m * n * k`` the three operands have ``batch * work**2`` elements,
    multiplied by each other; what spans several has more.
    """
    core = int(macs.argmax())
    sizes = []
    for load in (product.left, product.right):
        hull = walked.hulls[load]
        sizes.append(float(clipped(hull.lows, hull.highs)[core]))
    stored = [s.operation for s, _ in steps if s.engine is Engine.STORE]
    for hull in (walked.hulls[o] for o in stored if o is not None and o in walked.hulls):
        elements = clipped(hull.lows, hull.highs)
        batch, _ = _batch(product, walked.hulls[product.left], walked.hulls[product.right], core)
        most = _SLACK * batch * float(macs[core]) ** 2
        return sizes[0] * sizes[1] * float(elements[core] or elements.max()) <= most
    return True


def _total(steps: Sequence[tuple[Step, int]], name: str, cores: int) -> np.ndarray:
    total = np.zeros(cores, np.int64)
    for step, times in steps:
        if name in step.counts:
            total = total + step.counts[name] * times
    return total


def _contraction(
    card: Card,
    product: Product,
    walked: Walked,
    steps: Sequence[tuple[Step, int]],
    macs: np.ndarray,
) -> Contraction:
    left, right = walked.hulls[product.left], walked.hulls[product.right]
    first, second = clipped(left.lows, left.highs), clipped(right.lows, right.highs)
    busiest = int(macs.argmax())
    batch, batched = _batch(product, left, right, busiest)
    a, b, work = int(first[busiest]), int(second[busiest]), int(macs[busiest])
    left_bytes, left_sharers = shared_bytes(left)
    right_bytes, right_sharers = shared_bytes(right)
    partners, distant = chains(card, list(walked.exchanges.values()))
    element = element_of(product.operation.operands[0].type)
    rates = card.machine.macs_per_cycle
    stored = {s.operation: s for s, _ in steps if s.engine is Engine.STORE}
    out = sum(shared_bytes(walked.hulls[o])[0] for o in stored if o in walked.hulls)
    return Contraction(
        batch=batch,
        rows=max(1, round(work / b)),
        columns=max(1, round(work / a)),
        depth=max(1, round(a * b / work / batch)),
        left_bytes=left_bytes,
        right_bytes=right_bytes,
        out_bytes=out,
        core_left_bytes=a * left.itemsize,
        core_right_bytes=b * right.itemsize,
        left_sharers=left_sharers,
        right_sharers=right_sharers,
        partners=partners,
        distant=distant,
        batched=batched,
        cores=int((macs > 0).sum()),
        fraction=card.fraction,
        itemsize=min(left.itemsize, 2),
        macs_per_cycle=rates.get(element.name, rates["f16"] // 4),
        right_kept=_kept(product, right, steps),
    )


def _kept(product: Product, right: Access, steps: Sequence[tuple[Step, int]]) -> bool:
    """Whether one load of a right block serves several products, and none is loaded twice."""
    loads = [(step, times) for step, times in steps if step.operation is product.right]
    products = sum(times for step, times in steps if step.operation is product.operation)
    read = sum(step.counts["ddr_read"] * times for step, times in loads)
    once = clipped(right.lows, right.highs) * right.itemsize
    return sum(times for _, times in loads) < products and bool(np.all(read <= once))


def _batch(product: Product, left: Access, right: Access, core: int) -> tuple[int, bool]:
    """Batch entries of a core's share, and whether the whole product has several."""
    if "batch" not in product.operation.name:
        return 1, False
    first, second = product.batch_axes
    share = int(left.highs[core][first] - left.lows[core][first])
    if share != right.highs[core][second] - right.lows[core][second]:
        return 1, False
    whole = int(left.highs[:, first].max() - left.lows[:, first].min())
    return share, whole > 1


def shared_bytes(access: Access) -> tuple[int, float]:
    """Distinct bytes, and how many cores share each on average."""
    count = clipped(access.lows, access.highs)
    busy = count > 0
    if not busy.any():
        return 0, 1.0
    first, sharers = distinct_boxes(access.boxes[busy])
    return int(count[busy][first].sum()) * access.itemsize, float(sharers.mean())


def chains(card: Card, exchanges: Sequence[Exchange]) -> tuple[int, bool]:
    """Partners of a sum, and whether too many chains cross one segment of the ring."""
    if not exchanges:
        return 1, False
    groups = [tiles for tiles in exchanges[0].producers.values() if len(tiles) > 1]
    crossing = np.zeros(card.cores + 1, int)
    for tiles in groups:
        crossing[min(tiles) : max(tiles)] += 1
    return max(map(len, groups), default=1), bool(crossing.max() > CHAINS_PER_SEGMENT)


def _partners(walked: Walked) -> tuple[np.ndarray, ...]:
    """Groups of cores that share a sum."""
    found = list(walked.exchanges.values())[:1]
    groups = [tiles for exchange in found for tiles in exchange.producers.values()]
    return tuple(np.array(tiles) for tiles in groups if len(tiles) > 1)


def product_nodes(
    card: Card,
    product: Product,
    work: Contraction,
    busy: EngineSeconds,
    steps: Sequence[tuple[Step, int]],
    macs: np.ndarray,
    partners: tuple[np.ndarray, ...],
) -> tuple[Node, ...]:
    """The steps of a whole share that stand for a product's own."""
    count = int(busy.steps)
    share = macs / macs.max()
    totals = {key: _total(steps, key, card.cores) for key in _KEYS}
    reads = [Value(name, product.operation.operands[i].type) for i, name in enumerate("ab")]
    made = Value("sum", product.operation.results[0].type)
    first: list[Node] = []
    body: list[Node] = []
    port = float(busy.port_read + busy.port_spill)
    crossing = [float(nbytes) for nbytes in busy.read_bytes]
    for value, nbytes, label in zip(reads, crossing, ("left", "right"), strict=True):
        if not nbytes:
            continue
        weight = nbytes / sum(crossing)
        # What the program keeps is there before the first product.
        whole = label == "right" and bool(work.right_kept)
        parts = 1 if whole else count
        seconds = float(busy.load) * weight * share / parts
        (first if whole else body).append(
            Step(
                Engine.LOAD,
                f"load {label} operand",
                product.left if label == "left" else product.right,
                np.where(macs > 0, seconds, -1.0),
                port * weight / parts,
                writes=(value,),
                port_bytes=nbytes / parts,
            )
        )
    pt = np.where(macs > 0, float(busy.pt) * share / count, -1.0)
    operation = product.operation
    body.append(Step(Engine.PT, operation.name, operation, pt, 0.0, tuple(reads), (made,)))
    body.extend(_others(card, product, steps, made, count))
    folded = float(busy.ring) > 0
    store = _store(card, work, busy, totals["ddr_write"], made, 1 if folded else count)
    stores = [store] if totals["ddr_write"].any() else []
    if not folded:
        body += stores
    nodes = [*first, Loop(None, (Iterations(count, tuple(body)),), (), False)]
    if folded:
        ring = np.where(macs > 0, float(busy.ring) * share, -1.0)
        fold = "fold partial sums"
        nodes.append(Step(Engine.SUMS, fold, None, ring, 0.0, (made,), (made,), partners))
        nodes += stores
    return tuple(nodes)


def _store(
    card: Card,
    work: Contraction,
    busy: EngineSeconds,
    written: np.ndarray,
    made: Value,
    count: int,
) -> Step:
    own = np.where(written > 0, written / card.core_rate / count, -1.0)
    return Step(
        Engine.STORE,
        "store result",
        None,
        own,
        float(busy.port_write) / count,
        (made,),
        port_bytes=float(work.out_bytes) / count,
    )


_KEYS = ("ddr_read", "ddr_write", "ring")


def _others(
    card: Card, product: Product, steps: Sequence[tuple[Step, int]], made: Value, count: int
) -> list[Node]:
    """Everything else that the program does, spread evenly over the steps."""
    mine = {product.operation, product.left, product.right}
    found: list[Node] = []
    for step, times in steps:
        plain = step.operation is not None and step.operation.name.startswith(_PART_OF_PRODUCT)
        if step.operation in mine or step.engine in (Engine.STORE, Engine.NONE) or plain:
            continue
        scale = times / count
        found.append(
            Step(
                step.engine,
                step.label,
                step.operation,
                np.where(step.seconds >= 0, step.seconds * scale, -1.0),
                step.port_seconds * scale,
                (made,) if step.engine is not Engine.LOAD else (),
                (made,) if step.engine is not Engine.LOAD else (),
                port_bytes=step.port_bytes * scale,
            )
        )
    return found


_PART_OF_PRODUCT = ("ktdp.inter_tile_", "arith.truncf", "arith.extf", "linalg.transpose")
"""What the matrix unit does on the way: sums between partners, and its own conversions."""
