"""Watching what an operation would launch, without launching it or having its operands.

Between `record` and its end, this thread's tensors of the device are phantoms: they have sizes,
strides and layouts, but no memory. What would launch a program is noted, and whatever needs an
element's value is refused.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from spyrelab.device.errors import DeviceError

if TYPE_CHECKING:
    from spyrelab.device.forms import Form
    from spyrelab.device.memory import CardMemory

__all__ = [
    "CHECK",
    "NeedsValues",
    "Recorder",
    "Request",
    "active",
    "phantom",
    "promise",
    "record",
    "refuse",
]

CHECK = "check_range"
"""A request that is no program: the host looks at indices."""

_PHANTOM_BYTES = 1 << 40
"""Address space for phantoms, none of which is ever touched."""


class NeedsValues(DeviceError):  # noqa: N818 - an answer more than an error
    """What was to be recorded depends on elements of a tensor, or is done by the host."""


@dataclass(frozen=True)
class Request:
    """An operation as `spyrelab.opspec.compile` takes it, on phantoms and numbers."""

    op: str
    inputs: tuple[torch.Tensor | float, ...]
    outputs: tuple[torch.Tensor, ...]
    attributes: Mapping[str, Any]


@dataclass
class Recorder:
    """What was noted.

    Attributes
    ----------
    requests : list of Request
        In the order of their launches. They keep every phantom alive, so that no two share an
        address.
    natives : list of str
        ``aten::...`` operations that kernels of the device did.
    """

    requests: list[Request] = field(default_factory=list)
    natives: list[str] = field(default_factory=list)

    def note(
        self,
        op: str,
        inputs: Sequence[torch.Tensor | float],
        outputs: Sequence[torch.Tensor],
        attributes: Mapping[str, Any],
    ) -> None:
        """Add a launch."""
        # Operands as they are now: an operation of torch's own may resize or turn one later.
        read = tuple(
            given.detach() if isinstance(given, torch.Tensor) else given for given in inputs
        )
        written = tuple(output.detach() for output in outputs)
        self.requests.append(Request(op, read, written, dict(attributes)))


_state = threading.local()


def active() -> Recorder | None:
    """The recorder of this thread, if there is one."""
    return getattr(_state, "recorder", None)


def refuse(what: str) -> None:
    """Raise NeedsValues if this thread records: ``what`` cannot be done to phantoms."""
    if active() is not None:
        raise NeedsValues(what)


def promise(index: torch.Tensor, low: int, high: int, ignored: int | None = None) -> bool:
    """Leave a check of indices to every launch; False if this thread does not record.

    What is recorded holds for ``low <= i < high`` and ``ignored``; others raise IndexError then.
    """
    recorder = active()
    if recorder is None:
        return False
    limits = {"low": low, "high": high, "ignored": ignored}
    recorder.note(CHECK, [index], [], limits)
    return True


@contextlib.contextmanager
def record() -> Iterator[Recorder]:
    """Note launches of this thread instead of doing them."""
    before = active()
    _state.recorder = recorder = Recorder()
    try:
        yield recorder
    finally:
        _state.recorder = before


@cache
def _phantoms() -> CardMemory:
    from spyrelab.device.memory import PhantomMemory

    return PhantomMemory(_PHANTOM_BYTES)


def phantom(form: Form) -> torch.Tensor:
    """A tensor of the device without memory."""
    return _phantoms().tensor(form)
