"""Blocks of models as lists of operations: what planners are compared on.

Every block takes activations ``x`` of M rows (or tokens) and a hidden size, f16, in default
layouts; its weights are inputs too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout import Access, Located, SpyreTensorLayout, contiguous_strides
from spyrelab.opspec import element_type, place
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.requests import Tensor, spec_of

__all__ = ["BLOCKS", "Block", "Draft", "Step", "View", "block"]


@dataclass(frozen=True)
class View:
    """A tensor of a draft: a view of a storage in its default layout."""

    name: str
    layout: SpyreTensorLayout
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0

    @property
    def numel(self) -> int:
        """Elements of the storage."""
        lanes = sorted(zip(self.stride, self.size, strict=True))
        return 1 + sum(stride * (extent - 1) for stride, extent in lanes) + self.offset

    @property
    def tensor(self) -> Tensor:
        """What `spec_of` takes."""
        placed = place(self.layout, self.size, self.stride, self.offset)
        if not isinstance(placed.access, Access):
            raise TilingError(f"{self.name}: a view of size {list(self.size)} has no plain access")
        return Tensor(
            self.name, self.layout, Located(placed.access, placed.start), self.layout.dtype
        )

    def heads(self, count: int) -> View:
        """The last dimension cut into heads, which come first: [M, H * D] as [H, M, D]."""
        rows, width = self.size
        depth = width // count
        step = self.stride[1]
        return self._as((count, rows, depth), (depth * step, self.stride[0], step))

    def turned(self) -> View:
        """The last two dimensions exchanged."""
        size, stride = list(self.size), list(self.stride)
        size[-2:], stride[-2:] = size[:-3:-1], stride[:-3:-1]
        return self._as(size, stride)

    def columns(self, first: int, last: int) -> View:
        """A range of the last dimension."""
        size = (*self.size[:-1], last - first)
        return self._as(size, self.stride, first * self.stride[-1])

    def _as(self, size: Sequence[int], stride: Sequence[int], ahead: int = 0) -> View:
        return View(self.name, self.layout, tuple(size), tuple(stride), self.offset + ahead)


class Step(NamedTuple):
    """An operation as it was written down."""

    op: str
    operands: tuple[View | float, ...]
    result: View
    attributes: Mapping[str, Any]


@dataclass
class Draft:
    """Operations written down one after the other."""

    ops: list[OpSpec] = field(default_factory=list)
    inputs: dict[str, View] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def input(self, name: str, *size: int, dtype: str = "f16") -> View:
        """A tensor that is given."""
        self.inputs[name] = made = _whole(name, size, dtype)
        return made

    def op(
        self,
        op: str,
        *operands: View | float,
        size: Sequence[int] | None = None,
        into: View | None = None,
        dtype: str = "f16",
        sparse: bool = False,
        **attributes: Any,
    ) -> View:
        """The result of an operation, by default of the first operand's size."""
        first = next(o for o in operands if isinstance(o, View))
        made = into or _whole(f"t{len(self.ops)}", size or first.size, dtype, sparse)
        given = [o.tensor if isinstance(o, View) else o for o in operands]
        spec = spec_of(op, given, [made.tensor], attributes)
        if spec is None:
            raise TilingError(f"{op} of {[getattr(o, 'size', o) for o in operands]} has no OpSpec")
        self.ops.append(spec)
        self.steps.append(Step(op, operands, made, attributes))
        return made


def _whole(name: str, size: Sequence[int], dtype: str, sparse: bool = False) -> View:
    make = SpyreTensorLayout.sparse if sparse else SpyreTensorLayout.default
    return View(name, make(tuple(size), dtype), tuple(size), contiguous_strides(size))


@dataclass(frozen=True)
class Block:
    """A block of a model.

    Attributes
    ----------
    ops : tuple of OpSpec
    inputs : mapping of str to View
    outputs : tuple of View
    steps : tuple of Step
        What the operations are, for whoever computes them otherwise.
    """

    name: str
    ops: tuple[OpSpec, ...]
    inputs: Mapping[str, View]
    outputs: tuple[View, ...]
    steps: tuple[Step, ...]

    @property
    def least_bytes(self) -> int:
        """Bytes of all inputs and outputs, each once."""
        views = (*self.inputs.values(), *self.outputs)
        return sum(math.prod(v.size) * element_type(v.layout.dtype).itemsize for v in views)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the matrix unit."""
        total = 0
        for spec in self.ops:
            if "K" in spec.iteration_space:
                total += math.prod(extent for extent, _ in spec.iteration_space.values())
        return total

    def arrays(self, seed: int = 0) -> dict[str, NDArray[Any]]:
        """Random inputs, small enough for f16 sums."""
        rng = np.random.default_rng(seed)
        made = {}
        for name, view in self.inputs.items():
            scale = 1 / math.sqrt(view.size[0]) if len(view.size) > 1 and name != "x" else 1.0
            made[name] = (rng.standard_normal(view.size) * scale).astype(np.float16)
        return made


def _mlp(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    wide = d.op("addmm", d.input("b1", 4 * h), x, d.input("w1", h, 4 * h), size=(m, 4 * h))
    active = d.op("gelu", wide)
    return [d.op("addmm", d.input("b2", h), active, d.input("w2", 4 * h, h), size=(m, h))]


def _gated_mlp(d: Draft, m: int, h: int) -> list[View]:
    wide = h * 11 // 4
    x = d.input("x", m, h)
    gate = d.op("silu", d.op("mm", x, d.input("gate", h, wide), size=(m, wide)))
    up = d.op("mm", x, d.input("up", h, wide), size=(m, wide))
    both = d.op("mul", gate, up)
    return [d.op("mm", both, d.input("down", wide, h), size=(m, h))]


def _norm_linear(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    normal = d.op("rms_norm", x, d.input("scale", h), normalized_dims=1, eps=1e-6, weight=True)
    return [d.op("mm", normal, d.input("w", h, h), size=(m, h))]


def _linear_residual_norm(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    out = d.op("addmm", d.input("b", h), x, d.input("w", h, h), size=(m, h))
    total = d.op("add", out, x)
    scale, shift = d.input("scale", h), d.input("shift", h)
    return [
        d.op("layer_norm", total, scale, shift, normalized_dims=1, eps=1e-5, weight=True, bias=True)
    ]


def _scores(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    scores = d.op("mm", x, d.input("w", h, h), size=(m, h))
    return [d.op("softmax", d.op("mul", scores, 0.125), dim=-1)]


def _attention_core(d: Draft, m: int, h: int) -> list[View]:
    count, depth = h // 64, 64
    q = d.input("q", m, h).heads(count)
    k = d.input("k", count, depth, m)
    v = d.input("v", m, h).heads(count)
    scores = d.op("bmm", q, k, size=(count, m, m))
    weights = d.op("softmax", d.op("mul", scores, depth**-0.5), dim=-1)
    whole = _whole("out", (m, h), "f16")
    d.op("bmm", weights, v, into=whole.heads(count))
    return [whole]


def _adapter(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    base = d.op("mm", x, d.input("w", h, h), size=(m, h))
    low = d.op("mm", x, d.input("a", h, 64), size=(m, 64))
    return [d.op("addmm", base, low, d.input("b", 64, h), size=(m, h))]


def _highway(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    gate = d.op("sigmoid", d.op("mm", x, d.input("wg", h, h), size=(m, h)))
    new = d.op("tanh", d.op("mm", x, d.input("wn", h, h), size=(m, h)))
    return [d.op("add", x, d.op("mul", gate, d.op("sub", new, x)))]


def _convolution(d: Draft, m: int, h: int) -> list[View]:
    """Rows are positions, columns the 3 x 3 patches of 64 channels; with norm and residual."""
    patches, x = d.input("patches", m, 576), d.input("x", m, h)
    out = d.op("mm", patches, d.input("w", 576, h), size=(m, h))
    scaled = d.op("add", d.op("mul", out, d.input("scale", h)), d.input("shift", h))
    return [d.op("relu", d.op("add", scaled, x))]


def _projection_gelu_norm(d: Draft, m: int, h: int) -> list[View]:
    x = d.input("x", m, h)
    out = d.op("addmm", d.input("b", h), x, d.input("w", h, h), size=(m, h))
    scale, shift = d.input("scale", h), d.input("shift", h)
    normal = d.op(
        "layer_norm",
        d.op("gelu", out),
        scale,
        shift,
        normalized_dims=1,
        eps=1e-12,
        weight=True,
        bias=True,
    )
    return [d.op("mm", normal, d.input("head", h, 2 * h), size=(m, 2 * h))]


BLOCKS: Mapping[str, Callable[[Draft, int, int], list[View]]] = {
    "mlp": _mlp,
    "gated_mlp": _gated_mlp,
    "norm_linear": _norm_linear,
    "linear_residual_norm": _linear_residual_norm,
    "scores": _scores,
    "attention_core": _attention_core,
    "adapter": _adapter,
    "highway": _highway,
    "convolution": _convolution,
    "masked_language_head": _projection_gelu_norm,
}
"""Ten blocks by name; each writes itself for M rows and a hidden size."""


def block(name: str, m: int, hidden: int) -> Block:
    """A block of `BLOCKS`.  Raises TilingError for an unknown name."""
    if name not in BLOCKS:
        raise TilingError(f"no block '{name}': there are {', '.join(BLOCKS)}")
    draft = Draft()
    outputs = BLOCKS[name](draft, m, hidden)
    return Block(name, tuple(draft.ops), draft.inputs, tuple(outputs), tuple(draft.steps))
