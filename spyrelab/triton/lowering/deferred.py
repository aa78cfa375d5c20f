"""Values that become operations when somebody needs the numbers."""

from __future__ import annotations

from collections.abc import Callable

from spyrelab.ktir.builder import Tensor
from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.builder import KernelBuilder

__all__ = ["Deferred"]

Make = Callable[[], Tensor]


class Deferred:
    """A tensor that is made once, in the block where the kernel has it.

    Parameters
    ----------
    make
        Emits the operations; called with the builder inside the block that was the innermost
        one when this was made.
    """

    def __init__(
        self, b: KernelBuilder, shape: tuple[int, ...], dtype: ScalarType, make: Make
    ) -> None:
        self.b = b
        self.shape = shape
        self.dtype = dtype
        self.home = b.block
        self.location = b.location
        self._make = make
        self._made: Tensor | None = None
        self.name = ""

    def tensor(self) -> Tensor:
        """The numbers."""
        if self._made is None or not self.b.sees(self._made):
            with self.b.inside(self.home), self.b.at(self.location):
                self._made = self._make()
            if self.name:
                self.b.name_after(self._made, self.name)
        return self._made

    @property
    def made(self) -> Tensor | None:
        """The numbers if they are there already."""
        return self._made if self._made is not None and self.b.sees(self._made) else None
