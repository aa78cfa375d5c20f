"""What can go wrong with models, beyond what torch and transformers raise."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError, UsageError

__all__ = ["MissingTransformersError", "ModelTooLargeError", "UnknownModelError"]


class MissingTransformersError(SpyreLabError, ImportError):
    """Models come from the package transformers, which is not installed, or in another version."""


class UnknownModelError(UsageError):
    """No family, preset or configuration file goes by this name."""


class ModelTooLargeError(UsageError):
    """The weights and the cache of a model do not fit into device memory."""
