"""How much scratchpad an operation at work needs at least."""

from __future__ import annotations

from spyrelab.machine import SPYRE, Machine
from spyrelab.opspec import Unsupported
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.candidates import Split, splits, with_split
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.lower import lower_bundle

__all__ = ["least_room", "too_little_room"]

_MOST_ASKED = 3
"""Splits, from the one with most cores: the more share an operation, the less each needs."""


def least_room(spec: OpSpec, machine: Machine = SPYRE) -> int | None:
    """Bytes for the tiles of an operation on one core, all tensors in device memory.

    None if the whole scratchpad is not enough, or is not what the operation lacks.
    """
    found = [_least(spec, split, machine) for split in splits(spec, machine)[:_MOST_ASKED]]
    return min((least for least in found if least is not None), default=None)


def _least(spec: OpSpec, split: Split, machine: Machine) -> int | None:
    stick = machine.stick_bytes
    low, high = 0, machine.lx_bytes // stick
    if not _works(spec, split, high * stick):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        works = _works(spec, split, middle * stick)
        low, high = (low, middle) if works else (middle, high)
    return high * stick


def _works(spec: OpSpec, split: Split, work_bytes: int) -> bool:
    try:
        lower_bundle([with_split(spec, split)], work_bytes=work_bytes)
    except Unsupported:
        return False
    return True


def too_little_room(
    number: int, spec: OpSpec, work_bytes: int, machine: Machine, refused: Unsupported
) -> Exception:
    """What to raise for an operation that no split makes small enough."""
    least = least_room(spec, machine)
    if least is None:
        return TilingError(
            f"operation {number}, {spec.op}, does not fit the scratchpad of {machine.lx_bytes:,} B,"
            f" however it is cut: {refused}"
        )
    if least <= work_bytes:
        return refused
    return TilingError(
        f"operation {number}, {spec.op}, does not fit the scratchpad: its tiles need at least"
        f" {least:,} B of LX and may use {work_bytes:,} B; give work_bytes = {least} or more"
    )
