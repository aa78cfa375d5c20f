"""Which axes the operands of a normalisation have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.opspec.errors import OpSpecError
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.row_space import Bound, Space, bind

__all__ = ["NormOperands", "channel_operands", "group_operands", "layer_operands"]

Axes = Sequence[int | tuple[int, ...]]


@dataclass(frozen=True)
class NormOperands:
    """A space with everything bound to it; names of weight and bias, empty without."""

    space: Space
    bounds: tuple[Bound, ...]
    weight: str
    bias: str


def bound_operands(
    space: Space,
    inputs: Sequence[Input],
    outputs: Sequence[Operand],
    axes: Sequence[Axes],
    weight: str = "",
    bias: str = "",
) -> NormOperands:
    """Bind inputs, then outputs, each to its axes."""
    names = [f"in{n}" for n in range(len(inputs))] + [f"out{n}" for n in range(len(outputs))]
    if len(axes) != len(names):
        raise OpSpecError(f"{len(axes)} operands are described, {len(names)} given")
    bounds = [
        bind(space, name, position, operand, own)
        for position, (name, operand, own) in enumerate(
            zip(names, (*inputs, *outputs), axes, strict=True)
        )
    ]
    return NormOperands(space, tuple(bounds), weight, bias)


def full_size(inputs: Sequence[Input]) -> tuple[int, ...]:
    """The size of the first input."""
    if not isinstance(inputs[0], Operand):
        raise OpSpecError("a norm takes a tensor, not a number")
    return inputs[0].size


def names_of(weight: bool, bias: bool, first: int = 1) -> tuple[str, str]:
    """Names of weight and bias where they follow ``first`` other inputs."""
    return (f"in{first}" if weight else "", f"in{first + weight}" if bias else "")


def layer_operands(
    inputs: Sequence[Input],
    outputs: Sequence[Operand],
    normalized_dims: int,
    weight: bool,
    bias: bool,
) -> NormOperands:
    """Rows over the last dimensions; statistics keep reduced axes as size 1 or drop them."""
    size = full_size(inputs)
    kept = len(size) - normalized_dims
    space = Space(size, tuple(axis >= kept for axis in range(len(size))))
    everything: Axes = range(len(size))
    row: Axes = range(kept, len(size))
    axes: list[Axes] = [everything] + [row] * (len(inputs) - 1) + [everything]
    axes += [everything if out.rank == len(size) else range(kept) for out in outputs[1:]]
    return bound_operands(space, inputs, outputs, axes, *names_of(weight, bias))


def group_operands(
    inputs: Sequence[Input], outputs: Sequence[Operand], groups: int, weight: bool, bias: bool
) -> NormOperands:
    """Axes sample, group, channel within the group, position."""
    size = full_size(inputs)
    if len(size) < 2 or groups < 1 or size[1] % groups:
        raise OpSpecError(f"{groups} groups do not divide the channels of size {size}")
    extents = (size[0], groups, size[1] // groups, *size[2:])
    space = Space(extents, (False, False) + (True,) * (len(extents) - 2))
    everything: Axes = (0, (1, 2), *range(3, len(extents)))
    channels: Axes = ((1, 2),)
    axes: list[Axes] = [everything] + [channels] * (len(inputs) - 1) + [everything]
    axes += [(0, 1)] * (len(outputs) - 1)
    return bound_operands(space, inputs, outputs, axes, *names_of(weight, bias))


def channel_operands(
    inputs: Sequence[Input], outputs: Sequence[Operand], weight: bool, bias: bool, tensors: int = 1
) -> NormOperands:
    """Rows over everything but the channel; the first ``tensors`` inputs have all axes."""
    size = full_size(inputs)
    if len(size) < 2:
        raise OpSpecError(f"size {size} has no channels")
    space = Space(size, tuple(axis != 1 for axis in range(len(size))))
    everything: Axes = range(len(size))
    axes: list[Axes] = [everything] * tensors + [(1,)] * (len(inputs) - tensors)
    axes += [everything] + [(1,)] * (len(outputs) - 1)
    return bound_operands(space, inputs, outputs, axes, *names_of(weight, bias, tensors))
