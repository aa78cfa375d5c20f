"""Pictures of the device: an operation's way to it, its memory, and what ran on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from spyrelab.errors import UsageError
from spyrelab.layout import element_offsets
from spyrelab.machine import SPYRE
from spyrelab.viz.picture import describe, new_axes
from spyrelab.viz.style import BASELINE, COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_dispatch", "draw_memory", "draw_shares"]

NATIVE, FALLBACK = COLOURS["spyre"], COLOURS["triton"]
_STICK = SPYRE.stick_bytes
_MOST_STICKS = 64
_PADDING = "#eeeeee"

_KEYS = (
    ("Autocast", "casts operands", "ours"),
    ("Autograd", "notes grad_fn", "torch's"),
    ("ADInplaceOrView", "notes views", "torch's"),
    ("PrivateUse1", "does the work", "ours"),
)
_ENDS = (
    ("a kernel of ours", "a program on the card: native", NATIVE),
    ("torch's composite kernel", "other operations, from the left", BASELINE),
    ("the boxed fallback", "copies, and the CPU: counted", FALLBACK),
)


def draw_dispatch(operation: str = "x + y") -> Axes:
    """The keys that an operation passes on its way to the device, and the three ends."""
    axes = new_axes(10, 2.9, frame=False)
    _box(axes, 0, 1.5, operation, "Python", "#ffffff")
    for place, (key, does, whose) in enumerate(_KEYS, 1):
        face = "#cce8dd" if whose == "ours" else "#f2f2f2"
        _box(axes, 2.35 * place, 1.5, key, f"{whose}: {does}", face)
        _arrow(axes, 2.35 * (place - 1) + 1.0, 1.5, 2.35 * place - 1.0, 1.5)
    last = 2.35 * len(_KEYS)
    for row, (name, does, colour) in enumerate(_ENDS):
        y = 2.9 - 1.4 * row
        _box(axes, last + 3.1, y, name, does, "#ffffff", colour, 1.55)
        _arrow(axes, last + 1.0, 1.5, last + 1.5, y)
    axes.set_xlim(-1.1, last + 4.7)
    axes.set_ylim(-0.5, 3.5)
    keys = ", ".join(f"{key} ({whose}: {does})" for key, does, whose in _KEYS)
    ends = "; ".join(f"{name}: {does}" for name, does, _ in _ENDS)
    return describe(
        axes, f"Way of {operation} through the dispatcher: {keys}. It ends in one of three. {ends}."
    )


def draw_memory(tensors: Mapping[str, torch.Tensor]) -> Axes:
    """The allocations of some tensors, a line each, stick by stick; padding is grey.

    Tensors of one allocation are drawn on top of each other, the later ones as darker views.

    Raises
    ------
    UsageError
        No tensors, or one in too many sticks to draw.
    """
    from spyrelab.device.allocations import entry_of

    groups: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        groups.setdefault(entry_of(tensor).address, []).append(name)
    if not groups:
        raise UsageError("there is no tensor to draw")
    most = max(-(-entry_of(t).form.device_bytes // _STICK) for t in tensors.values())
    if most > _MOST_STICKS:
        raise UsageError(f"{most} sticks are too many for a picture: at most {_MOST_STICKS}")
    axes = new_axes(9.5, 1.0 + 0.62 * len(groups))
    labels, words = [], []
    for line, (address, names) in enumerate(groups.items()):
        entry = entry_of(tensors[names[0]])
        count = -(-entry.form.device_bytes // _STICK)
        for number, name in enumerate(names):
            used = _bytes_of(tensors[name], count)
            _draw_line(axes, line, used, number)
            words.append(f"{name} uses {int(used.sum())} bytes of {count} sticks at {address:#x}")
        labels.append(f"{', '.join(names)}\n{address:#x}")
    axes.set_yticks(range(len(groups)), labels, fontsize=8)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(-0.1, most + 0.1)
    axes.set_xlabel(f"stick of the allocation ({_STICK} bytes each)")
    axes.grid(False)
    axes.tick_params(axis="y", length=0)
    return describe(axes, f"Device memory by allocation: {'; '.join(words)}. The rest is padding.")


def draw_shares(counts: Mapping[str, Mapping[str, int]], title: str = "", most: int = 40) -> Axes:
    """How often each operation ran, on the card and by fallback, from ``op_counts()``.

    Only the ``most`` frequent ones have a bar of their own.
    """
    from matplotlib.ticker import MaxNLocator

    if not counts:
        raise UsageError("nothing has run: there is nothing to draw")
    shown = dict(list(counts.items())[:most])
    rest = list(counts.values())[most:]
    if rest:
        sums = {key: sum(count[key] for count in rest) for key in ("native", "fallback")}
        shown[f"{len(rest)} others"] = sums
    axes = new_axes(8, 0.9 + 0.2 * len(shown))
    native = [count["native"] for count in shown.values()]
    left = [count["fallback"] for count in shown.values()]
    axes.barh(range(len(shown)), native, 0.7, color=NATIVE, label="native")
    axes.barh(
        range(len(shown)), left, 0.7, left=native, color=FALLBACK, hatch="//", edgecolor="white",
        lw=0, label="fallback",
    )  # fmt: skip
    names = [name.removeprefix("aten::") for name in shown]
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("runs (count)")
    axes.set_title(title, fontsize=10)
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower right", fontsize=9)
    total = sum(c["native"] for c in counts.values()), sum(c["fallback"] for c in counts.values())
    falls = ", ".join(n for n, c in counts.items() if c["fallback"]) or "none"
    return describe(
        axes,
        f"{title or 'Operations'}: {total[0]} runs on the card and {total[1]} on the CPU, of"
        f" {len(counts)} operations. Those that fell back: {falls}.",
    )


def _bytes_of(tensor: torch.Tensor, sticks: int) -> NDArray[np.bool_]:
    """Which bytes of its allocation a tensor uses: [sticks, bytes of a stick]."""
    from spyrelab.device.allocations import entry_of

    entry, width = entry_of(tensor), tensor.element_size()
    used = np.zeros((sticks * _STICK // width, width), np.bool_)
    offset = int(tensor.storage_offset())
    if entry.layout is None:
        numbers = torch.arange(len(used), device="cpu")
        used[numbers.as_strided(tensor.shape, tensor.stride(), offset).flatten().numpy()] = True
    else:
        places = element_offsets(entry.layout, tuple(tensor.shape), tensor.stride(), offset)
        used[places.ravel()] = True
    return used.reshape(sticks, _STICK)


def _draw_line(axes: Axes, line: int, used: NDArray[np.bool_], number: int) -> None:
    from matplotlib.patches import Rectangle

    for stick, filled in enumerate(used):
        if number == 0:
            axes.add_patch(Rectangle((stick, line - 0.32), 0.94, 0.64, fc=_PADDING, ec="none"))
        edges = np.flatnonzero(np.diff(np.concatenate(([0], filled.astype(np.int8), [0]))))
        for begin, end in edges.reshape(-1, 2).tolist():
            corner, width = (stick + 0.94 * begin / _STICK), 0.94 * (end - begin) / _STICK
            if number == 0:
                axes.add_patch(
                    Rectangle((corner, line - 0.32), width, 0.64, fc=COLOURS["null"], ec="none")
                )
            else:
                axes.add_patch(
                    Rectangle(
                        (corner, line - 0.32), width, 0.64, fc=COLOURS["vm"], ec="none", zorder=3
                    )
                )


def _box(
    axes: Axes, x: float, y: float, name: str, about: str, face: str, edge: str = "#444444",
    half: float = 1.0,
) -> None:  # fmt: skip
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0.02,rounding_size=0.12"
    corner = (x - half, y - 0.45)
    axes.add_patch(FancyBboxPatch(corner, 2 * half, 0.9, boxstyle=style, fc=face, ec=edge, lw=1.5))
    axes.text(x, y + 0.16, name, ha="center", va="center", fontsize=8, weight="bold")
    axes.text(x, y - 0.19, about, ha="center", va="center", fontsize=6.5)


def _arrow(axes: Axes, x: float, y: float, to_x: float, to_y: float) -> None:
    axes.annotate(
        "", (to_x, to_y), (x, y), arrowprops={"arrowstyle": "->", "color": "#444444", "lw": 1.2}
    )
