"""What `plan` is asked, checked before anything is searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from spyrelab.layout import SpyreTensorLayout
from spyrelab.machine import Machine
from spyrelab.opspec import operation_names
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.signature import signature_of

__all__ = ["check_numbers", "check_operations", "check_wanted"]


def check_numbers(machine: Machine, width: int, work_bytes: int, cores: int | None) -> None:
    """Raise TilingError for a number that makes no sense."""
    if cores is not None and not 1 <= cores <= machine.cores:
        raise TilingError(f"cores = {cores}: the machine has 1 to {machine.cores}")
    if width < 1:
        raise TilingError(f"width = {width}: a search keeps at least one plan")
    if not 0 < work_bytes <= machine.lx_front_end_bytes:
        raise TilingError(
            f"work_bytes = {work_bytes:,}: the front end may use {machine.lx_front_end_bytes:,} B"
        )


def check_operations(ops: Sequence[OpSpec]) -> None:
    """Raise TilingError for operations that cannot be planned, or contradict each other."""
    layouts: dict[tuple[str, str], SpyreTensorLayout] = {}
    for number, spec in enumerate(ops):
        if not isinstance(spec, OpSpec):
            raise TilingError(f"operation {number} is a {type(spec).__name__}, no OpSpec")
        _check_one(f"operation {number}, {spec.op},", spec)
        for arg in spec.args:
            known = layouts.setdefault((arg.name, arg.dtype), arg.layout)
            if known != arg.layout:
                raise TilingError(
                    f"operation {number}, {spec.op}: {arg.name} is {arg.layout!r} here and"
                    f" {known!r} before; one tensor has one layout"
                )


def _check_one(what: str, spec: OpSpec) -> None:
    if spec.op not in operation_names():
        raise TilingError(f"{what} is none that the card knows")
    if not spec.outputs:
        raise TilingError(f"{what} makes nothing: it has no output")
    empty = [symbol for symbol, (extent, _) in spec.iteration_space.items() if extent < 1]
    if empty:
        raise TilingError(f"{what} has nothing to do: {', '.join(empty)} has no indices")
    try:
        found = signature_of(spec)
    except ValueError:
        raise TilingError(
            f"{what} has {len(spec.inputs)} inputs, {len(spec.outputs)} outputs and the symbols"
            f" {', '.join(spec.iteration_space)}, which do not go together"
        ) from None
    if found is None:
        raise TilingError(f"{spec.op} is only done whole: it cannot be planned with others")
    if len(found.operands) != len(spec.args) or set(found.roles) != set(spec.iteration_space):
        raise TilingError(f"{what} has {len(spec.args)} operands, not {len(found.operands)}")
    for arg in spec.args:
        strange = arg.symbols - set(spec.iteration_space)
        if strange:
            raise TilingError(
                f"{what} reaches {arg.name} through {', '.join(sorted(strange))}, which is no"
                f" symbol of its iteration space ({', '.join(spec.iteration_space)})"
            )


def check_wanted(
    ops: Sequence[OpSpec],
    live_out: Collection[str] | None,
    hints: Sequence[Any] | Mapping[str, Any],
) -> None:
    """Raise TilingError for names that are one text, and for more hints than operations."""
    if isinstance(live_out, str):
        raise TilingError(f"live_out = {live_out!r} is one text: give a collection of names")
    if not isinstance(hints, Mapping) and len(hints) > len(ops):
        raise TilingError(
            f"{len(hints)} hints for {len(ops)} operations: give one for each at most"
        )
