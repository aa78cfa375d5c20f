"""What can go wrong with a device layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spyrelab.errors import SpyreLabError

if TYPE_CHECKING:
    from spyrelab.layout.tensor_layout import SpyreTensorLayout

__all__ = ["LayoutConflictError", "LayoutError"]


class LayoutError(SpyreLabError, ValueError):
    """A layout that no tensor can have, or that does not describe the tensor at hand."""


class LayoutConflictError(LayoutError):
    """An operation whose operands lie as it cannot use them.

    Attributes
    ----------
    operation : str
        The name of the operation.
    layout, wanted : SpyreTensorLayout
        The layout that an operand has, and the one that would do.
    """

    def __init__(
        self, operation: str, layout: SpyreTensorLayout, wanted: SpyreTensorLayout, reason: str
    ) -> None:
        super().__init__(f"{operation}: {layout} does not fit {wanted}: {reason}")
        self.operation = operation
        self.layout = layout
        self.wanted = wanted
