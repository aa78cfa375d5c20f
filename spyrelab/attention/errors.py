"""What can be wrong with a batch of paged attention."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = ["AttentionError"]


class AttentionError(SpyreLabError, ValueError):
    """A batch, a scenario or a meta-parameter that attention is not defined for."""
