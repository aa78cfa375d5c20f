"""Places for the boxes of a graph: layers from top to bottom, long lines led between boxes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from spyrelab.layout.graph import Node

__all__ = ["BOX_WIDTH", "Item", "arrange"]

BOX_WIDTH = 1.7
_GAP = 0.25
_BEND_WIDTH = 0.1


@dataclass(eq=False)
class Item:
    """A box with two lines of text, or (without text) a bend in a long line.

    Attributes
    ----------
    parents : list of (Item, bool)
        Where lines come from, and whether what comes fits.
    """

    node: Node | None = None
    lines: tuple[str, ...] = ()
    colour: str = ""
    parents: list[tuple[Item, bool]] = field(default_factory=list)
    depth: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        return BOX_WIDTH if self.lines else _BEND_WIDTH


def arrange(items: list[Item]) -> list[list[Item]]:
    """Give every item a depth and a place; lines over several layers get bends.

    Sugiyama's method (1981): layers, then sweeps that move each item towards those that it is
    joined to.
    """
    layers = _layers(items)
    joined = _neighbours(item for layer in layers for item in layer)
    for layer in layers:
        _spread(layer, {item: float(place) for place, item in enumerate(layer)})
    for sweep in range(24):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {}
            for item in layer:
                # Bends pull harder than boxes, so that long lines come out straight.
                pulls = [(other.x, 1 if other.lines else 3) for other in joined[item]]
                total = sum(weight for _, weight in pulls)
                wanted[item] = sum(x * w for x, w in pulls) / total if pulls else item.x
            _spread(layer, wanted)
    return layers


def _layers(items: list[Item]) -> list[list[Item]]:
    """Each item as low as its readers allow, and bends where a line passes a layer."""
    height = dict.fromkeys(items, 0)
    for item in reversed(items):
        for parent, _ in item.parents:
            height[parent] = max(height[parent], height[item] + 1)
    layers: list[list[Item]] = [[] for _ in range(1 + max(height.values()))]
    for item in items:
        item.depth = len(layers) - 1 - height[item]
        layers[item.depth].append(item)
    for item in items:
        item.parents = [(_lead(parent, fits, item, layers), fits) for parent, fits in item.parents]
    return layers


def _lead(parent: Item, fits: bool, item: Item, layers: list[list[Item]]) -> Item:
    for depth in range(parent.depth + 1, item.depth):
        bend = Item(parents=[(parent, fits)], depth=depth)
        layers[depth].append(bend)
        parent = bend
    return parent


def _neighbours(items: Iterable[Item]) -> dict[Item, list[Item]]:
    joined: dict[Item, list[Item]] = {}
    for item in items:
        joined.setdefault(item, [])
        for parent, _ in item.parents:
            joined[item].append(parent)
            joined.setdefault(parent, []).append(item)
    return joined


def _spread(layer: list[Item], wanted: dict[Item, float]) -> None:
    """The order of the wanted places, and no two boxes on top of each other.

    Neighbours that would overlap become one block at the mean of their wishes.
    """
    layer.sort(key=lambda item: wanted[item])
    blocks: list[tuple[list[Item], list[float], float]] = []
    for item in layer:
        members, offsets, wish = [item], [0.0], wanted[item]
        while blocks:
            before, shifts, place = blocks[-1]
            step = (before[-1].width + members[0].width) / 2 + _GAP
            reach = shifts[-1] + step
            if place + reach <= wish:
                break
            blocks.pop()
            offsets = [*shifts, *(reach + offset for offset in offsets)]
            members = [*before, *members]
            wishes = [wanted[m] - o for m, o in zip(members, offsets, strict=True)]
            wish = sum(wishes) / len(wishes)
        blocks.append((members, offsets, wish))
    for members, offsets, wish in blocks:
        for item, offset in zip(members, offsets, strict=True):
            item.x = wish + offset
