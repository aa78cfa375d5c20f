"""Catching what would be launched: kernels with their arguments, for printing them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spyrelab.timing import Estimate
    from spyrelab.triton.kernel import Kernel, LaunchArguments

__all__ = ["Caught", "capture", "catcher"]


@dataclass(frozen=True)
class Caught:
    """A launch that was not run.

    Attributes
    ----------
    kernel : Kernel
    grid : tuple of int
        Programs along x, y and z.
    values : mapping of str to number
        KTIR arguments as the launch gives them; of a pointer, its address on the card.
    cores : int
    steering : LaunchArguments
        What its time depends on.
    """

    kernel: Kernel
    grid: tuple[int, ...]
    values: Mapping[str, int | float]
    cores: int
    steering: LaunchArguments

    def estimate(self) -> Estimate:
        """The predicted time of the launch.

        Raises
        ------
        TimingError
            A trip count depends on what the kernel itself computes.
        """
        return self.kernel.estimate(self.steering, self.cores)


class _State(threading.local):
    catcher: list[Caught] | None = None


_state = _State()


@contextmanager
def capture() -> Iterator[list[Caught]]:
    """Collect the launches of this thread in a ``with`` block; none of them runs or is timed."""
    before = _state.catcher
    made = _state.catcher = []
    try:
        yield made
    finally:
        _state.catcher = before


def catcher() -> list[Caught] | None:
    """Where launches of this thread are collected, if they are."""
    return _state.catcher
