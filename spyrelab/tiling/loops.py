"""LoopSpec: a counted loop round a run of operations, each taken in equal steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.opspec.spec import OpSpec, TensorArg

__all__ = ["Item", "LoopSpec", "each", "replaced"]


@dataclass(frozen=True)
class LoopSpec:
    """A run of operations done ``count`` times, on one step of a symbol each time.

    Attributes
    ----------
    count : int
        Turns.
    body : tuple of OpSpec
        Operations, in order.
    tiled : tuple of str
        For every operation the symbol that is taken in steps.
    """

    count: int
    body: tuple[OpSpec, ...]
    tiled: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", tuple(self.body))
        object.__setattr__(self, "tiled", tuple(self.tiled))

    def __repr__(self) -> str:
        lines = [f"LoopSpec({self.count}, ("]
        for spec in self.body:
            lines += [f"    {line}" for line in repr(spec).splitlines()]
            lines[-1] += ","
        return "\n".join([*lines, f"), {self.tiled!r})"])


Item = OpSpec | LoopSpec


def each(items: Sequence[Item]) -> Iterator[tuple[OpSpec, Mapping[str, int]]]:
    """Every operation with the turns of its tiled symbol."""
    for item in items:
        if isinstance(item, LoopSpec):
            for spec, symbol in zip(item.body, item.tiled, strict=True):
                yield spec, {symbol: item.count}
        else:
            yield item, {}


def replaced(spec: OpSpec, **changes: Any) -> OpSpec:
    """A spec with other fields; ``args`` may be a function of a `TensorArg`."""
    args = changes.get("args", spec.args)
    if callable(args):
        args = tuple(args(arg) for arg in spec.args)
    return OpSpec(
        changes.get("op", spec.op),
        changes.get("iteration_space", spec.iteration_space),
        args,
        changes.get("op_info", spec.op_info),
    )


def names_of(args: Sequence[TensorArg]) -> list[str]:
    """The tensors of operands, each once, in order."""
    return list(dict.fromkeys(arg.name for arg in args))
