"""A graph of operations before and after placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spyrelab.layout.graph import Node, Operation
from spyrelab.layout.layered import BOX_WIDTH, Item, arrange
from spyrelab.layout.placement import Placement, Restickify
from spyrelab.layout.sticks import Holding, Sticks, sticks_of
from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.viz.picture import describe, new_axes
from spyrelab.viz.style import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_before_and_after", "draw_placement"]

# Okabe and Ito's palette; words in each box say the same as its colour.
_ALONG = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#f0e442")
_OTHER = {Holding.SCALAR: "#ffffff", Holding.SPARSE: "#d9d9d9", Holding.MIXED: "#999999"}
_CONFLICT = "#d55e00"
_WIDTH, _HEIGHT = BOX_WIDTH, 0.62


def draw_placement(
    placement: Placement, converted: bool = True, title: str = "", axes: Axes | None = None
) -> Axes:
    """Operations from top to bottom, each in the colour of its stick dimension.

    Parameters
    ----------
    converted : bool
        Whether to insert the conversions; otherwise the operands that need one are drawn as
        broken lines.
    """
    items = _items(placement, converted)
    layers = arrange(items)
    axes = axes or new_axes(_width(layers), _height(layers), frame=False)
    axes.set_axis_off()
    with style():
        for item in (item for layer in layers for item in layer):
            _draw_lines(axes, item)
        for item in items:
            _draw_box(axes, item)
    left, right = _sides(layers)
    axes.set_xlim(left, right)
    axes.set_ylim(-len(layers) + 0.4, 0.6)
    axes.set_aspect("auto")
    axes.set_title(title, fontsize=10)
    return describe(axes, _in_words(placement, converted, title))


def draw_before_and_after(placement: Placement) -> Axes:
    """The graph with its conflicts, and with its conversions, side by side; the first axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = [arrange(_items(placement, converted)) for converted in (False, True)]
    size = sum(map(_width, drawn)), max(map(_height, drawn))
    with style():
        figure: Any = Figure(figsize=size)
        FigureCanvasAgg(figure)
        before, after = figure.subplots(1, 2, width_ratios=[_width(layers) for layers in drawn])
    count = len(placement.restickifies)
    total = f"{count} restickify, {placement.seconds * 1e6:,.1f} µs predicted"
    draw_placement(placement, False, "before: broken lines do not fit", before)
    draw_placement(placement, True, f"after: {total}", after)
    first: Axes = before
    return first


def _sides(layers: list[list[Item]]) -> tuple[float, float]:
    places = [item.x for layer in layers for item in layer]
    return min(places) - _WIDTH / 2 - 0.1, max(places) + _WIDTH / 2 + 0.1


def _width(layers: list[list[Item]]) -> float:
    """Inches: one per unit, and room for a title."""
    left, right = _sides(layers)
    return max(3.6, 0.85 * (right - left))


def _height(layers: list[list[Item]]) -> float:
    return 0.5 + 0.72 * len(layers)


# -- boxes and lines ---------------------------------------------------------------------------


def _items(placement: Placement, converted: bool) -> list[Item]:
    made: dict[Node, Item] = {}
    turned: dict[tuple[Node, SpyreTensorLayout], Item] = {}
    items: list[Item] = []
    for node in placement.graph.nodes:
        item = Item(node, _lines(placement, node), _colour(placement, node))
        for position, operand in enumerate(node.operands):
            read = placement.read_layout(node, position)
            own = placement.layout(operand)
            free = read == own or operand.operation is Operation.CONSTANT
            parent = made[operand]
            if converted and not free:
                parent = turned[operand, read]
            if all(parent is not other for other, _ in item.parents):
                item.parents.append((parent, free or converted))
        made[node] = item
        items.append(item)
        for each in placement.restickifies if converted else ():
            if each.tensor is node:
                turned[node, each.target] = _conversion(each, item)
                items.append(turned[node, each.target])
    return items


def _conversion(each: Restickify, parent: Item) -> Item:
    lines = "restickify", f"{each.seconds * 1e6:,.1f} µs"
    return Item(None, lines, _CONFLICT, [(parent, True)])


def _lines(placement: Placement, node: Node) -> tuple[str, str]:
    size = "×".join(map(str, node.size)) or "scalar"
    return f"{node.name} {size}", _short(_sticks(placement, node))


def _sticks(placement: Placement, node: Node) -> Sticks:
    layout = placement.layout(node)
    if node.operation is Operation.OUTPUT:
        layout = placement.read_layout(node, 0)
    return sticks_of(layout, node.size)


def _short(sticks: Sticks) -> str:
    words = {Holding.SCALAR: "scalar", Holding.SPARSE: "sparse", Holding.MIXED: "mixed sticks"}
    return words.get(sticks.holding, f"sticks along {sticks.dimension}")


def _colour(placement: Placement, node: Node) -> str:
    sticks = _sticks(placement, node)
    if sticks.holding is Holding.DENSE:
        # Counted from the end: most tensors have sticks along their last dimension.
        return _ALONG[(len(node.size) - sticks.dimension) % len(_ALONG)]
    return _OTHER[sticks.holding]


def _draw_lines(axes: Axes, item: Item) -> None:
    """Lines to the parents; a bend goes straight down past the boxes of its layer."""
    top, bottom = -item.depth + _HEIGHT / 2, -item.depth - _HEIGHT / 2
    for parent, fits in item.parents:
        look: dict[str, Any] = {
            "color": "#555555" if fits else _CONFLICT,
            "linestyle": "-" if fits else (0, (4, 2)),
            "lw": 1.1 if fits else 2.2,
        }
        ends = {"shrinkA": 0, "shrinkB": 1 if item.lines else 0}
        arrow = {"arrowstyle": "-|>" if item.lines else "-", **ends, **look}
        start = parent.x, -parent.depth - _HEIGHT / 2
        axes.annotate("", xy=(item.x, top), xytext=start, arrowprops=arrow)
        if not item.lines:
            axes.plot([item.x, item.x], [top, bottom], **look)


def _draw_box(axes: Axes, item: Item) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = item.x - _WIDTH / 2, -item.depth - _HEIGHT / 2
    shape = "round,pad=0,rounding_size=0.12" if item.node else "sawtooth,pad=0,tooth_size=0.05"
    axes.add_patch(
        FancyBboxPatch(corner, _WIDTH, _HEIGHT, shape, fc=item.colour, ec="#333333", lw=0.8)
    )
    ink = "black" if item.node else "white"
    axes.text(
        item.x, -item.depth + 0.13, item.lines[0], ha="center", va="center", fontsize=8, color=ink
    )
    axes.text(
        item.x, -item.depth - 0.14, item.lines[1], ha="center", va="center", fontsize=7, color=ink
    )


def _in_words(placement: Placement, converted: bool, title: str) -> str:
    nodes, made = len(placement.graph.nodes), placement.restickifies
    text = f"{title or 'Placement'}: a graph of {nodes} operations"
    if not made:
        return f"{text}; every operand fits as it lies."
    each = "; ".join(f"{r.tensor.name} for {', '.join(c.name for c in r.consumers)}" for r in made)
    verb = "to restickify" if not converted else "restickified"
    return f"{text}; {len(made)} {'operand' if len(made) == 1 else 'operands'} {verb}: {each}."
