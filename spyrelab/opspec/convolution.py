"""Convolutions as matrix products over patches.

The input is copied into a linear tensor with its padding around it. A patch is then a box of
that tensor with overlapping strides, so that the product reads patches where they lie:
weights times patches, ``[out channels, (in channels, kernel)] @ [(in channels, kernel), places]``.

========================== ==========================================================
convolution                x, weight, perhaps bias; attributes as in torch
convolution_input          gradient, weight, perhaps bias: the transposed convolution
convolution_weight         gradient, x: the gradient of the weight
========================== ==========================================================

Attributes, tuples with one entry per spatial dimension: ``stride``, ``padding``, ``dilation``;
``groups``; for ``convolution`` also ``transposed`` (``output_padding`` shows in the result's
size). The result's own size decides for the transposed convolution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.builder import Scalar
from spyrelab.ktir.ir import Module
from spyrelab.layout.access import Axis, Digit
from spyrelab.opspec.chain import Chain, Link
from spyrelab.opspec.compile import Compiled
from spyrelab.opspec.contraction import Contraction, Index
from spyrelab.opspec.contraction_program import Finish
from spyrelab.opspec.errors import OpSpecError, Unsuitable, Unsupported
from spyrelab.opspec.matmul import require_float
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import composite, family
from spyrelab.opspec.spans import plain

__all__ = ["build_patch_product", "compile_convolution", "compile_weight_gradient"]


@composite("convolution", "convolution_input")
def compile_convolution(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    stride: tuple[int, ...] = (),
    padding: tuple[int, ...] = (),
    dilation: tuple[int, ...] = (),
    transposed: bool = False,
    output_padding: tuple[int, ...] = (),
    groups: int = 1,
) -> Compiled:
    """Pad the input, turn the weight into rows, multiply."""
    del output_padding
    out = outputs[0]
    data, weight, *_ = _operands(op, inputs, out)
    window = _Window.of(out.rank - 2, stride, padding, dilation)
    kernel = weight.size[2:]
    chain = Chain(inputs, outputs)
    if transposed or op == "convolution_input":
        low = tuple(
            d * (k - 1) - p for d, k, p in zip(window.dilation, kernel, window.padding, strict=True)
        )
        spatial = tuple(
            n + d * (k - 1) for n, d, k in zip(out.size[2:], window.dilation, kernel, strict=True)
        )
        patches, every, step = "transposed_patches", window.stride, (1,) * len(kernel)
    else:
        low, every, step = window.padding, (1,) * len(kernel), window.stride
        spatial = tuple(
            max(n + 2 * p, (o - 1) * s + (k - 1) * d + 1)
            for n, p, o, s, k, d in zip(
                data.size[2:], low, out.size[2:], step, kernel, window.dilation, strict=True
            )
        )
        patches = "patches"
    padded = chain.temporary((*data.size[:2], *spatial), data.dtype, linear=True)
    chain.add("pad", [chain.inputs[0]], [padded], low=(0, 0, *low), every=(1, 1, *every))
    rest = [_linear(chain, link) for link in chain.inputs[1:]]
    chain.add(
        patches,
        [padded, *rest],
        chain.outputs,
        stride=step,
        dilation=window.dilation,
        groups=groups,
    )
    return chain.finish()


@composite("convolution_weight")
def compile_weight_gradient(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    stride: tuple[int, ...] = (),
    padding: tuple[int, ...] = (),
    dilation: tuple[int, ...] = (),
    groups: int = 1,
) -> Compiled:
    """Gradient times patches of the input, summed over places and batch."""
    gradient, data = _operands(op, inputs, outputs[0])
    kernel = outputs[0].size[2:]
    window = _Window.of(len(kernel), stride, padding, dilation)
    chain = Chain(inputs, outputs)
    spatial = tuple(
        max(n + 2 * p, (o - 1) * s + (k - 1) * d + 1)
        for n, p, o, s, k, d in zip(
            data.size[2:],
            window.padding,
            gradient.size[2:],
            window.stride,
            kernel,
            window.dilation,
            strict=True,
        )
    )
    padded = chain.temporary((*data.size[:2], *spatial), data.dtype, linear=True)
    chain.add("pad", [chain.inputs[1]], [padded], low=(0, 0, *window.padding))
    rows = _linear(chain, chain.inputs[0])
    chain.add(
        "weight_patches",
        [padded, rows],
        chain.outputs,
        stride=window.stride,
        dilation=window.dilation,
        groups=groups,
    )
    return chain.finish()


@dataclass(frozen=True)
class _Window:
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @staticmethod
    def of(rank: int, *given: tuple[int, ...]) -> _Window:
        entries = []
        for entry, default in zip(given, (1, 0, 1), strict=True):
            values = tuple(entry) or (default,)
            entries.append(values * rank if len(values) == 1 else values)
        if any(len(entry) != rank for entry in entries):
            raise OpSpecError(f"a window over {rank} dimensions cannot be {given}")
        return _Window(*entries)


def _operands(op: str, inputs: tuple[Input, ...], out: Operand) -> list[Operand]:
    found = [operand for operand in inputs if isinstance(operand, Operand)]
    if len(found) != len(inputs) or not 2 <= len(found) <= 3:
        raise OpSpecError(f"{op} takes tensors: data, weight and perhaps bias")
    require_float(op, *found, out)
    if len({found[0].dtype, found[1].dtype}) > 1 or any(o.rank != out.rank for o in found[:2]):
        raise Unsupported(f"{op} of operands that differ in type or rank")
    if not 3 <= out.rank <= 5:
        raise Unsupported(f"{op} over {out.rank - 2} dimensions")
    return found


def _linear(chain: Chain, link: Link) -> Link:
    """A row-major copy."""
    assert isinstance(link.operand, Operand)
    copy = chain.temporary(link.operand.size, link.operand.dtype, linear=True)
    chain.add("copy", [link], [copy])
    return copy


@family("patches", "transposed_patches", "weight_patches")
def build_patch_product(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int = 1,
) -> Module:
    """The product; the first input is padded and linear.

    ``patches`` and ``transposed_patches``: padded input, weight, perhaps bias.
    ``weight_patches``: padded input, gradient of the result.
    """
    padded, other, *extra = (operand for operand in inputs if isinstance(operand, Operand))
    out = outputs[0]
    if op == "weight_patches":
        weight, places = out, other
    else:
        weight, places = other, out
    axes = _Axes(groups, padded.axes, len(inputs))
    backward = op == "transposed_patches"
    indices = axes.indices(weight, places, stride, dilation, backward, op == "weight_patches")
    if extra:
        indices = [_with_bias(index, groups, extra[0]) for index in indices]
    start = 0
    if backward:
        start = sum(
            d * (k - 1) * axis[0].stride
            for d, k, axis in zip(dilation, weight.size[2:], padded.axes[2:], strict=True)
        )
    product = Contraction(
        op,
        Index.by_role([index.index for index in indices]),
        tuple(operand.element for operand in (other, padded, out, *extra)),
        ("in1", "in0", "out0", *("in2" for _ in extra)),
        (1, 0, len(inputs), *(2 for _ in extra)),
        sticks=False,
        start=start,
        turned=op == "weight_patches",
    )
    arguments = [*((f"in{i}", None) for i in range(len(inputs))), ("out0", None)]
    return product.build(arguments, _adds(out) if extra else None)


def _adds(out: Operand) -> Any:
    def finish(scalars: dict[str, Scalar]) -> Finish:
        del scalars
        return lambda b, total, bias: (total + bias).to(out.element)

    return finish


@dataclass(frozen=True)
class _Named:
    """An index and whether it counts groups, output channels or something else."""

    name: str
    index: Index


@dataclass(frozen=True)
class _Axes:
    groups: int
    padded: tuple[Axis, ...]
    inputs: int

    def indices(
        self,
        weight: Operand,
        places: Operand,
        stride: tuple[int, ...],
        dilation: tuple[int, ...],
        backward: bool,
        gradient: bool,
    ) -> list[_Named]:
        """Every index of the sum, with its axes in A, padded input and result."""
        if any(len(axis) != 1 for axis in self.padded):
            raise Unsuitable(0, "patches need a linear input")
        first, second = weight.size[0] // self.groups, weight.size[1]
        steps = [axis[0].stride for axis in self.padded]
        channels = (second, first) if backward else (first, second)
        w, p = weight.axes, places.axes
        group_w, first_w = _cut(w[0], first, self.groups)
        to_w, from_w = (w[1], first_w) if backward else (first_w, w[1])
        group_p, to_p = _cut(p[1], channels[0], self.groups)

        def named(name: str, extent: int, weights: Axis, input_: Axis, place: Axis) -> _Named:
            own = (place, input_, weights) if gradient else (weights, input_, place)
            return _Named(name, Index(extent, own))

        none = plain
        found = [
            named("n", places.size[0], none(places.size[0]), self.padded[0], p[0]),
            named(
                "group",
                self.groups,
                group_w,
                plain(self.groups, steps[1] * channels[1]),
                group_p,
            ),
            named("to", channels[0], to_w, none(channels[0]), to_p),
            named("from", channels[1], from_w, plain(channels[1], steps[1]), none(channels[1])),
        ]
        for d, count in enumerate(weight.size[2:]):
            move = steps[2 + d] * dilation[d]
            along = plain(count, -move if backward else move)
            found.append(named("kernel", count, w[2 + d], along, none(count)))
        for d, count in enumerate(places.size[2:]):
            along = plain(count, steps[2 + d] * stride[d])
            found.append(named("place", count, none(count), along, p[2 + d]))
        return found


def _with_bias(named: _Named, groups: int, bias: Operand) -> _Named:
    """The index with the axis of the bias as well."""
    extent = named.index.extent
    axis = plain(extent)
    group, to = _cut(bias.axes[0], bias.size[0] // groups, groups)
    if named.name in ("group", "to"):
        axis = group if named.name == "group" else to
    return _Named(named.name, Index(extent, (*named.index.axes, axis)))


def _cut(axis: Axis, inner: int, groups: int) -> tuple[Axis, Axis]:
    """An axis of channels as groups and channels within one."""
    if groups == 1:
        return plain(1), axis
    if len(axis) != 1:
        raise Unsupported("groups of channels that are cut into sticks")
    return plain(groups, axis[0].stride * inner), (Digit(inner, axis[0].stride),)
