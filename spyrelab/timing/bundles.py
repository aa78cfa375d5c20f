"""Programs of several operations: every matrix product in them is priced as one on its own.

In a bundle an operation works on the slice that its core has, and views cover just that slice; so
the size of a product's blocks is read off the views, wherever these lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spyrelab.emulator.groups import Exchange
from spyrelab.ktir import Function, Operation, Value, walk
from spyrelab.ktir.types import element_of
from spyrelab.timing.contraction import Contraction, price
from spyrelab.timing.nodes import BUNDLE_ATTRIBUTE, Engine, Iterations, Loop, Node, Step
from spyrelab.timing.places import clipped
from spyrelab.timing.products import (
    Product,
    chains,
    flatten,
    is_product,
    loader_of,
    product_nodes,
    shared_bytes,
    visited_first,
)
from spyrelab.timing.transfers import Card
from spyrelab.timing.walk import Walked

__all__ = ["BUNDLE_ATTRIBUTE", "price_products"]


def price_products(card: Card, function: Function, walked: Walked) -> tuple[Node, ...]:
    """The nodes of a bundle with the steps of its products replaced."""
    return _Pricing(card, function, walked).priced(walked.nodes)


@dataclass(frozen=True)
class _Block:
    """An operand of a product: elements of a core's slice, and what of them lies outside."""

    elements: int
    itemsize: int
    distinct: int
    sharers: float

    @property
    def core_bytes(self) -> int:
        return self.elements * self.itemsize if self.distinct else 0


class _Pricing:
    def __init__(self, card: Card, function: Function, walked: Walked) -> None:
        self.card, self.walked = card, walked
        operations = list(walk(function.body.operations))
        self.makers = {value: o for o in operations for value in o.results}
        inner = self._inner(operations)
        self.products = {
            product.operation: product
            for o in operations
            if o not in inner and (product := self._product(o))
        }

    def _inner(self, operations: Sequence[Operation]) -> set[Operation]:
        """Products that another one takes up at once, as attention does: parts of what it does."""
        found: set[Operation] = set()
        open_ = [value for o in operations if is_product(o) for value in o.operands[:2]]
        seen = set(open_)
        while open_:
            maker = self.makers.get(open_.pop())
            if maker is None:
                continue
            if is_product(maker):
                found.add(maker)
            fresh = [value for value in maker.operands if value not in seen]
            seen.update(fresh)
            open_ += fresh
        return found

    def _product(self, operation: Operation) -> Product | None:
        if not is_product(operation):
            return None
        left, right = (loader_of(value, self.makers) for value in operation.operands[:2])
        if left is None or right is None:
            return None
        axes = visited_first(self.makers, left), visited_first(self.makers, right)
        return Product(operation, left, right, axes)

    def priced(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Siblings, with segments that are one product replaced."""
        made: list[Node] = []
        at = 0
        while at < len(nodes):
            node = nodes[at]
            inside = _operations(node)
            found = [self.products[o] for o in inside if o in self.products]
            multiplies = [o for o in inside if is_product(o)]
            stores = [o for o in inside if o.name == "ktdp.store"]
            several = len(multiplies) > 1 or len(stores) > 1
            if isinstance(node, Loop) and (several or self._repeats(node, found, stores)):
                made.append(self._container(node))
                at += 1
                continue
            if len(found) != 1 or len(multiplies) != 1:
                made.append(node)
                at += 1
                continue
            product = found[0]
            segment = [node]
            while made and _leads_to(made[-1], product):
                segment.insert(0, made.pop())
            at += 1
            written = _written(node)
            while at < len(nodes) and isinstance(nodes[at], Step) and _reads(nodes[at], written):
                segment.append(nodes[at])
                written |= _written(nodes[at])
                at += 1
            made += self._replaced(product, segment)
        return tuple(made)

    def _repeats(self, loop: Loop, found: list[Product], stores: list[Operation]) -> bool:
        """Whether a loop does a whole product in every turn: it multiplies more than one takes."""
        if len(found) != 1 or not stores:
            return False
        blocks = [self._block(found[0].left), self._block(found[0].right)]
        out = self._view(stores[0], operand=1)
        if None in blocks or out is None or any(n is None for n in out.attributes["sizes"]):
            return False
        sizes = [block.elements for block in blocks if block is not None]
        most = math.prod(sizes) * math.prod(out.attributes["sizes"])
        work = int(_macs([loop], self.card.cores).max())
        return work**2 * self._batch(found[0]) > 1.5 * most

    def _container(self, loop: Loop) -> Loop:
        return Loop(loop.operation, tuple(map(self._run, loop.runs)), loop.carried, loop.counted)

    def _run(self, run: Iterations) -> Iterations:
        return Iterations(run.count, self.priced(run.body), tuple(map(self._run, run.pattern)))

    def _replaced(self, product: Product, segment: list[Node]) -> Sequence[Node]:
        steps = list(flatten(segment))
        macs = _macs(segment, self.card.cores)
        blocks = [self._block(load) for load in (product.left, product.right)]
        if not macs.any() or None in blocks:
            return segment
        left, right = blocks
        assert left is not None
        assert right is not None
        exchanges = self._exchanges(segment)
        partners, distant = chains(self.card, exchanges)
        batch = self._batch(product)
        work = int(macs.max())
        rates = self.card.machine.macs_per_cycle
        element = element_of(product.operation.operands[0].type)
        hulls = self.walked.hulls
        stores = [s.operation for s, _ in steps if s.engine is Engine.STORE]
        stored = {store for store in stores if store is not None and store in hulls}
        contraction = Contraction(
            batch=batch,
            rows=max(1, round(work / right.elements)),
            columns=max(1, round(work / left.elements)),
            depth=max(1, round(left.elements * right.elements / work / batch)),
            left_bytes=left.distinct,
            right_bytes=right.distinct,
            out_bytes=sum(shared_bytes(hulls[o])[0] for o in stored),
            core_left_bytes=left.core_bytes,
            core_right_bytes=right.core_bytes,
            left_sharers=left.sharers,
            right_sharers=right.sharers,
            partners=partners,
            distant=distant,
            batched=batch > 1,
            cores=int((macs > 0).sum()),
            fraction=self.card.fraction,
            itemsize=min(left.itemsize, 2),
            macs_per_cycle=rates.get(element.name, rates["f16"] // 4),
            right_kept=not right.distinct,
            sum_bytes=self._sums(work, left, right, batch, int((macs > 0).sum()), partners),
        )
        busy = price(contraction, self.card.machine, self.card.constants)
        groups = [t for e in exchanges[:1] for t in e.producers.values() if len(t) > 1]
        meets = tuple(np.array(tiles) for tiles in groups)
        return product_nodes(self.card, product, contraction, busy, steps, macs, meets)

    def _sums(
        self, work: int, left: _Block, right: _Block, batch: int, cores: int, partners: int
    ) -> float:
        """Bytes of the f32 sums of all cores: they take room wherever the result goes."""
        depth = left.elements * right.elements / work / batch
        return work / depth * 4 * cores / partners

    def _exchanges(self, segment: Sequence[Node]) -> list[Exchange]:
        found = []
        for operation in (o for node in segment for o in _operations(node)):
            maker = self.makers.get(operation.operands[0]) if operation.operands else None
            for key in (operation, maker):
                if key is not None and key in self.walked.exchanges:
                    found.append(self.walked.exchanges[key])
        return found

    def _block(self, load: Operation) -> _Block | None:
        view = self._view(load)
        if view is None:
            return None
        sizes = view.attributes["sizes"]
        if any(size is None for size in sizes):
            return None
        elements = math.prod(sizes)
        itemsize = element_of(view.result.type).itemsize
        space = view.attributes.get("memory_space")
        hull = self.walked.hulls.get(load)
        if space is not None and space.core_local:
            return _Block(elements, itemsize, 0, 1.0)
        if hull is None or not hull.exact:
            return None
        distinct, sharers = shared_bytes(hull)
        touched = max(1, int(clipped(hull.lows, hull.highs).max()))
        # The hull is that of all turns of loops round the product, the view that of one.
        return _Block(elements, itemsize, max(1, distinct * elements // touched), sharers)

    def _view(self, transfer: Operation, operand: int = 0) -> Operation | None:
        tile = self.makers.get(transfer.operands[operand])
        view = self.makers.get(tile.operands[0]) if tile is not None else None
        return view if view is not None and "sizes" in view.attributes else None

    def _batch(self, product: Product) -> int:
        if "batch" not in product.operation.name:
            return 1
        view = self._view(product.left)
        return int(view.attributes["sizes"][product.batch_axes[0]]) if view is not None else 1


def _macs(nodes: Sequence[Node], cores: int) -> np.ndarray:
    """Multiply-accumulates of every core."""
    total = np.zeros(cores, np.int64)
    for step, times in flatten(nodes):
        if "ops_pt" in step.counts:
            total = total + step.counts["ops_pt"] * times
    return total


def _operations(node: Node) -> list[Operation]:
    return list(dict.fromkeys(s.operation for s, _ in flatten([node]) if s.operation is not None))


def _leads_to(node: Node, product: Product) -> bool:
    """Whether a step loads an operand, or only gives one another shape."""
    loads = (product.left, product.right)
    return isinstance(node, Step) and (node.operation in loads or node.operation is None)


def _steps(node: Node) -> Iterator[Step]:
    for step, _ in flatten([node]):
        yield step


def _written(node: Node) -> set[Value]:
    made = {value for step in _steps(node) for value in step.writes}
    if isinstance(node, Loop):
        made |= {entry[3] for entry in node.carried}
    return made


def _reads(node: Node, written: set[Value]) -> bool:
    return any(value in written for step in _steps(node) for value in step.reads)
