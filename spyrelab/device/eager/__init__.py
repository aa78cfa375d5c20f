"""Operations of ATen as programs on the card; everything else is left to the counted fallback."""

from __future__ import annotations

from importlib import import_module

__all__ = ["register"]

_MODULES = (
    "pointwise",
    "losses",
    "copies",
    "moves",
    "reductions",
    "rows",
    "products",
    "convolution",
    "pooling",
    "padding",
    "resampling",
    "patches",
    "normalisation",
    "likelihood",
    "algebra",
    "polynomials",
    "reducing",
    "indexing",
    "counting",
    "attention",
)


def register() -> None:
    """Enter every native kernel."""
    for name in _MODULES:
        import_module(f"spyrelab.device.eager.{name}").register()
