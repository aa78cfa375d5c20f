"""Pooling: maximum and mean over windows, and their gradients.

============================================= ========================================
max_pool1d, max_pool2d, max_pool3d            x; one output
max_pool2d_with_indices (and 3d)              x; outputs values and i64 positions
avg_pool1d, avg_pool2d, avg_pool3d            x
adaptive_avg_pool1d, 2d, 3d                   x; extents that the result's divide
max_pool2d_with_indices_backward (and 3d)     gradient, positions
avg_pool2d_backward (and 1d, 3d)              gradient; the kernel is not cut anywhere
============================================= ========================================

Attributes, tuples with one entry per spatial dimension: ``kernel_size``, ``stride`` (default:
the kernel), ``padding``, ``dilation``; for means ``count_include_pad`` and
``divisor_override``. ``ceil_mode`` shows in the result's size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from spyrelab.layout.access import access
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides
from spyrelab.opspec.chain import Chain, Link
from spyrelab.opspec.compile import Compiled
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.matmul import require_float
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import composite

__all__ = ["compile_adaptive_mean", "compile_mean_gradient", "compile_pooling", "compile_unpooling"]

_MAXIMA = tuple(f"max_pool{r}d" for r in (1, 2, 3))
_POSITIONS = ("max_pool2d_with_indices", "max_pool3d_with_indices")
_MEANS = tuple(f"avg_pool{r}d" for r in (1, 2, 3))


@dataclass(frozen=True)
class _Window:
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @staticmethod
    def of(rank: int, attributes: dict[str, Any]) -> _Window:
        kernel = _entries(attributes.pop("kernel_size"), rank)
        stride = attributes.pop("stride", ())
        return _Window(
            kernel,
            _entries(stride, rank) if stride else kernel,
            _entries(attributes.pop("padding", (0,)), rank),
            _entries(attributes.pop("dilation", (1,)), rank),
        )

    def reach(self, places: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
        """Padded extents that hold every window."""
        rows = zip(places, size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(max(n + 2 * p, (o - 1) * s + (k - 1) * d + 1) for o, n, k, s, p, d in rows)


def _entries(given: tuple[int, ...], rank: int) -> tuple[int, ...]:
    entries = tuple(given) * rank if len(given) == 1 else tuple(given)
    if len(entries) != rank:
        raise OpSpecError(f"a window over {rank} dimensions cannot be {tuple(given)}")
    return entries


def _floats(op: str, inputs: tuple[Input, ...], rank: int) -> Operand:
    data = inputs[0]
    if not isinstance(data, Operand) or len(data.size) != rank + 2:
        raise Unsupported(f"{op} of anything but a tensor [batch, channels, ...]")
    require_float(op, data)
    return data


def _rank(op: str) -> int:
    return int(op[op.index("pool") + 4])


@composite(*_MAXIMA, *_POSITIONS, *_MEANS)
def compile_pooling(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Compiled:
    """Pad into a linear tensor, then fold over windows."""
    attributes.pop("ceil_mode", None)
    rank, mean = _rank(op), op in _MEANS
    data = _floats(op, inputs, rank)
    window = _Window.of(rank, attributes)
    includes = attributes.pop("count_include_pad", True)
    divisor = attributes.pop("divisor_override", None) or 0
    if attributes:
        raise Unsupported(f"{op} with {', '.join(attributes)}")
    chain = Chain(inputs, outputs)
    size = data.size[2:]
    reach = window.reach(outputs[0].size[2:], size)
    padded = chain.temporary((*data.size[:2], *reach), data.dtype, linear=True)
    value = 0.0 if mean else -math.inf
    chain.add("pad", chain.inputs, [padded], low=(0, 0, *window.padding), value=value)
    options = {"divisor": divisor, "includes_padding": includes} if mean else {}
    chain.add(
        "window_mean" if mean else "window_max",
        [padded],
        chain.outputs,
        kernel=window.kernel,
        stride=window.stride,
        dilation=window.dilation,
        padding=window.padding,
        size=size,
        **options,
    )
    return chain.finish()


@composite(*(f"adaptive_avg_pool{r}d" for r in (1, 2, 3)))
def compile_adaptive_mean(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...]
) -> Compiled:
    """Means over equal windows."""
    rank = _rank(op)
    data = _floats(op, inputs, rank)
    places, size = outputs[0].size[2:], data.size[2:]
    if any(n % o for n, o in zip(size, places, strict=True)):
        raise Unsupported(f"{op} from {size} to {places}: windows of different sizes")
    kernel = tuple(n // o for n, o in zip(size, places, strict=True))
    chain = Chain(inputs, outputs)
    chain.add(f"avg_pool{rank}d", chain.inputs, chain.outputs, kernel_size=kernel)
    return chain.finish()


@composite(*(f"{name}_backward" for name in _POSITIONS))
def compile_unpooling(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Compiled:
    """Each gradient added where the maximum was."""
    del attributes
    gradient = _floats(op, inputs, _rank(op))
    target = outputs[0]
    chain = Chain(inputs, outputs)
    planes = math.prod(target.size[:2])
    rows = [
        _flat(chain, chain.inputs[0], (planes, math.prod(gradient.size[2:])), "f32"),
        _flat(chain, chain.inputs[1], (planes, math.prod(gradient.size[2:])), "i64"),
    ]
    sums = chain.temporary(target.size, "f32", linear=True)
    flat = _reshaped(sums, (planes, math.prod(target.size[2:])), "f32")
    chain.add("zero", [], [flat])
    chain.add("scatter_add", [rows[1], rows[0]], [flat], dim=1)
    chain.add("copy", [sums], chain.outputs)
    return chain.finish()


def _flat(chain: Chain, link: Link, size: tuple[int, int], dtype: str) -> Link:
    """A row-major copy, seen as rows."""
    assert isinstance(link.operand, Operand)
    copy = chain.temporary(link.operand.size, dtype, linear=True)
    chain.add("copy", [link], [copy])
    return _reshaped(copy, size, dtype)


def _reshaped(link: Link, size: tuple[int, ...], dtype: str) -> Link:
    located = access(SpyreTensorLayout.linear(size, dtype), size, contiguous_strides(size))
    assert located is not None
    return Link(Operand(dtype, located.access), link.slot)


@composite(*(f"{name}_backward" for name in _MEANS))
def compile_mean_gradient(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Compiled:
    """Sums over the windows that hold an element: a mean over the spread gradient."""
    attributes.pop("ceil_mode", None)
    rank, target = _rank(op), outputs[0]
    gradient = _floats(op, inputs, rank)
    window = _Window.of(rank, attributes)
    includes = attributes.pop("count_include_pad", True)
    divisor = attributes.pop("divisor_override", None) or 0
    size, places = target.size[2:], gradient.size[2:]
    rows = zip(places, size, window.kernel, window.stride, window.padding, strict=True)
    cut = any((o - 1) * s + k > n + 2 * p for o, n, k, s, p in rows)
    if not divisor and (cut or (any(window.padding) and not includes)):
        raise Unsupported(f"{op} with windows of different sizes")
    low = tuple(k - 1 - p for k, p in zip(window.kernel, window.padding, strict=True))
    reach = tuple(n + k - 1 for n, k in zip(size, window.kernel, strict=True))
    chain = Chain(inputs, outputs)
    spread = chain.temporary((*gradient.size[:2], *reach), gradient.dtype, linear=True)
    chain.add("pad", [chain.inputs[0]], [spread], low=(0, 0, *low), every=(1, 1, *window.stride))
    chain.add(
        "window_mean",
        [spread],
        chain.outputs,
        kernel=window.kernel,
        stride=(1,) * rank,
        dilation=(1,) * rank,
        padding=(0,) * rank,
        size=reach,
        divisor=divisor or math.prod(window.kernel),
    )
    return chain.finish()
