"""What must hold of a list of operations before it is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.loops import replaced

__all__ = ["OF_PLANS", "bare", "check_updates"]

OF_PLANS = ("replicas", "first", "lx_bytes")
"""What plans add to an operation's attributes."""


def bare(spec: OpSpec) -> OpSpec:
    """The operation as it was before anybody planned it."""
    info = {name: value for name, value in spec.op_info.items() if name not in OF_PLANS}
    return replaced(
        spec,
        iteration_space={symbol: (n, 0) for symbol, (n, _) in spec.iteration_space.items()},
        args=lambda arg: replace(arg, lx_address=None),
        op_info=info,
    )


def check_updates(ops: Sequence[OpSpec]) -> None:
    """Raise TilingError for an operation that overwrites what it has still to read.

    A core may read an element before or after another wrote it, unless each element is read
    just where it is written.
    """
    for number, spec in enumerate(ops):
        for out in spec.outputs:
            for arg in spec.inputs:
                if arg.name == out.name and _clash(spec, arg, out):
                    raise TilingError(
                        f"operation {number}, {spec.op}, reads {arg.name} where it writes other"
                        " elements of it: copy what it reads first"
                    )


def _clash(spec: OpSpec, arg: TensorArg, out: TensorArg) -> bool:
    if arg.coordinates == out.coordinates:
        return False
    whole = Slicing.of(with_split(spec, Split((1,) * len(spec.iteration_space))))
    mine, theirs = (holding(whole, a).boxes[0] for a in (arg, out))
    apart = (mine[:, 1] <= theirs[:, 0]) | (theirs[:, 1] <= mine[:, 0])
    return not apart.any()
